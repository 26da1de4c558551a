"""Which calls are recorded, under every name of both hosts, and how long each may take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ledger.engine.tools import READ_ONLY, changes_state, grace_seconds, only_looks, runs_on

CHANGING = [
    "terminal", "process", "process_manage", "execute_code", "write_file", "patch", "close_terminal", "cronjob",
    "cronjob_manage", "delegate_task", "memory", "skill_manage", "kanban_create", "kanban_complete", "kanban_block",
    "kanban_unblock", "kanban_comment", "kanban_heartbeat", "kanban_link", "kanban_attach", "kanban_attach_url",
    "kanban_request_changes", "kanban_request_review", "kanban_schedule", "browser_navigate", "browser_back",
    "browser_click", "browser_type", "browser_press", "browser_scroll", "browser_dialog", "browser_cdp",
    "browser_exec", "browser_vault", "computer_use", "image_generate", "video_generate", "xai_video_edit",
    "xai_video_extend", "text_to_speech", "discord", "discord_admin", "feishu_drive_add_comment",
    "feishu_drive_reply_comment", "yb_send_dm", "yb_send_sticker", "ha_call_service", "spotify_playback",
    "spotify_queue", "spotify_library", "spotify_playlists", "spotify_devices", "project_create", "project_switch",
    "desktop_project", "a2a_call", "a2a_orchestrate", "manage_catalog", "manage_connections", "mqtt_publish",
    "mqtt_device_command", "desktop_preview", "drive_preview", "annotate_preview", "focus_pane", "set_theme",
    "gui_tour", "show_tip", "react_to_message", "setup_beat", "clarify", "tool_call", "never_heard_of",
    "connectors__mail__send", "mcp__github__create_issue", "mcp__github__list_resources", "mcp__files__read_resource",
    "mcp__files__list_prompts", "mcp__files__get_prompt",
]  # fmt: skip

READING = [
    "read_file", "search_files", "read_terminal", "session_search", "skills_list", "skill_view", "web_search",
    "web_extract", "x_search", "vision_analyze", "video_analyze", "browser_snapshot", "browser_get_images",
    "browser_vision", "kanban_list", "kanban_show", "kanban_attachments", "feishu_doc_read",
    "feishu_drive_list_comments", "feishu_drive_list_comment_replies", "yb_query_group_info",
    "yb_query_group_members", "yb_search_sticker", "ha_get_state", "ha_list_entities", "ha_list_services",
    "project_list", "spotify_search", "spotify_albums", "a2a_list", "a2a_discover", "a2a_history",
    "read_window_below", "mqtt_subscribe_recent", "tool_search", "tool_describe",
]  # fmt: skip


@pytest.mark.parametrize("tool", CHANGING)
def test_recorded(tool: str) -> None:
    assert changes_state(tool, {"some": "argument"})
    assert changes_state(tool, {"action": "unheard_of"}) or tool.startswith("discord")
    assert changes_state(tool, None)
    assert changes_state(tool, {})


def test_all_reading_tools_are_known_and_no_more() -> None:
    assert frozenset(READING) == READ_ONLY


@pytest.mark.parametrize("tool", READING)
def test_not_recorded(tool: str) -> None:
    assert not changes_state(tool, {"action": "delete"})
    assert not changes_state(tool, None)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        *[(name, {"action": a}) for name in ("process", "process_manage") for a in ("list", "poll", "log", "wait")],
        ("cronjob", {"action": "list"}),
        ("cronjob_manage", {"action": " List "}),
        ("delegate_task", {"action": "list"}),
        ("browser_vault", {"action": "list"}),
        *[("computer_use", {"action": a}) for a in ("capture", "wait", "list_apps", "list_windows")],
        ("manage_catalog", {"action": "search"}),
        ("manage_connections", {"action": "display"}),
        ("manage_connections", {"action": "status"}),
        ("desktop_project", {"action": "list"}),
        ("todo", {}),
        ("todo_list", None),
        ("todo", {"merge": True}),
        ("browser_console", {}),
        ("browser_console", {"clear": False}),
        ("discord", {"action": "fetch_messages"}),
        ("discord_admin", {"action": "list_roles"}),
        ("spotify_playback", {"action": "get_state"}),
    ],
)
def test_an_action_that_only_reads_is_not_recorded(tool: str, args: Any) -> None:
    assert not changes_state(tool, args)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        *[
            (name, {"action": a})
            for name in ("process", "process_manage")
            for a in ("kill", "write", "submit", "close")
        ],
        ("process_manage", {"action": "handoff"}),
        *[("cronjob", {"action": a}) for a in ("create", "remove", "pause", "run")],
        *[("delegate_task", {"action": a}) for a in ("spawn", "steer", "stop")],
        ("manage_connections", {"action": "authorize"}),
        ("manage_catalog", {"action": "install"}),
        ("todo", {"todos": []}),
        ("browser_console", {"expression": "document.title"}),
        ("browser_console", {"clear": True}),
        *[("discord_admin", {"action": a}) for a in ("pin_message", "delete_message", "add_role", "remove_role")],
        ("discord", {"action": "create_thread"}),
        ("cronjob", {"action": ["list"]}),
        ("cronjob", {"action": None}),
    ],
)
def test_an_action_that_changes_something_is_recorded(tool: str, args: Any) -> None:
    assert changes_state(tool, args)


@pytest.mark.parametrize(
    ("tool", "args", "overrides", "seconds"),
    [
        ("write_file", {}, {}, 120),
        ("terminal", {}, {}, 900),
        ("delegate_task", {}, {}, 1800),
        ("write_file", {}, {"default": 30}, 30),
        ("terminal", {}, {"default": 30}, 900),
        ("terminal", {}, {"terminal": 60}, 60),
        ("terminal", {"timeout": 3600}, {}, 3600),
        ("terminal", {"timeout": "3600"}, {}, 3600),
        ("terminal", {"timeout": 5}, {}, 900),
        ("mcp__x__y", {"timeout_ms": 600_000}, {}, 600),
        ("mcp__x__y", {"timeout_seconds": 300.5}, {}, 300.5),
        *[
            ("write_file", {"timeout": odd}, {}, 120)
            for odd in (True, None, -5, "soon", float("nan"), float("inf"), [9])
        ],
    ],
)
def test_grace(tool: str, args: dict[str, Any], overrides: dict[str, float], seconds: float) -> None:
    assert grace_seconds(tool, args, overrides) == seconds


def test_what_runs_on_after_its_confirmation() -> None:
    assert runs_on("delegate_task", None)
    assert runs_on("terminal", {"background": True})
    assert not runs_on("terminal", {"background": False})
    assert not runs_on("terminal", None)
    assert not runs_on("write_file", {"background": True})


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls -la", True), ("git status", True), ("git log --oneline", True), ("cat a > b", False),
        ("ls; rm x", False), ("git push", False), ("cat $(rm x)", False), ("", False), ("sudo ls", False),
    ],
)  # fmt: skip
def test_plainly_looking_commands(command: str, looks: bool) -> None:
    assert only_looks("terminal", json.dumps({"command": command})) is looks
    assert not only_looks("write_file", json.dumps({"command": command}))
