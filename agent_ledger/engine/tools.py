"""Which calls change something, and how long each may take before silence means loss.

Names and actions: the tool registries of Hermes 0.19 and 0.22, old and new names side by side. An unknown
name counts as changing something, as the host itself assumes; so does every `mcp__*` tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

READ_ONLY = frozenset(
    {
        "read_file",
        "search_files",
        "read_terminal",
        "session_search",
        "skills_list",
        "skill_view",
        "web_search",
        "web_extract",
        "x_search",
        "vision_analyze",
        "video_analyze",
        "browser_snapshot",
        "browser_get_images",
        "browser_vision",
        "kanban_list",
        "kanban_show",
        "kanban_attachments",
        "feishu_doc_read",
        "feishu_drive_list_comments",
        "feishu_drive_list_comment_replies",
        "yb_query_group_info",
        "yb_query_group_members",
        "yb_search_sticker",
        "ha_get_state",
        "ha_list_entities",
        "ha_list_services",
        "project_list",
        "spotify_search",
        "spotify_albums",
        "a2a_list",
        "a2a_discover",
        "a2a_history",
        "read_window_below",
        "mqtt_subscribe_recent",
        "tool_search",
        "tool_describe",
    }
)

_READING_ACTIONS: dict[str, frozenset[str]] = {
    "process": frozenset({"list", "poll", "log", "wait"}),
    "process_manage": frozenset({"list", "poll", "log", "wait"}),
    "cronjob": frozenset({"list"}),
    "cronjob_manage": frozenset({"list"}),
    "delegate_task": frozenset({"list"}),
    "browser_vault": frozenset({"list"}),
    "computer_use": frozenset({"capture", "wait", "list_apps", "list_windows"}),
    "manage_catalog": frozenset({"search"}),
    "manage_connections": frozenset({"display", "status"}),
    "desktop_project": frozenset({"list"}),
}

_CHANGING_ACTIONS: dict[str, frozenset[str]] = {
    "discord": frozenset({"create_thread"}),
    "discord_admin": frozenset({"pin_message", "unpin_message", "delete_message", "add_role", "remove_role"}),
}
_CHANGING_WORDS = ("create", "delete", "remove", "add", "pin", "send", "edit", "update", "set", "kick", "ban", "move")

_SPOTIFY_READS = ("get", "list", "search", "status", "state", "current", "recent", "inspect", "check")

DEFAULT_GRACE_S = 120.0
GRACE_S: Mapping[str, float] = {"terminal": 900.0, "delegate_task": 1800.0}
"""Seconds before an unconfirmed call counts as lost, where it is not the default."""


def changes_state(tool_name: str, args: Mapping[str, Any] | None) -> bool:
    """Must this call be recorded? False only for what is known to read."""
    if tool_name in READ_ONLY:
        return False
    if tool_name.startswith("mcp__") or not args:
        return not (tool_name in {"todo", "todo_list", "browser_console"} and not args)
    if tool_name in {"todo", "todo_list"}:
        return args.get("todos") is not None
    if tool_name == "browser_console":
        return bool(args.get("expression") or args.get("clear"))
    reading = _READING_ACTIONS.get(tool_name)
    if reading is not None:
        return _action(args) not in reading
    if tool_name in _CHANGING_ACTIONS:
        action = _action(args)
        return not action or action in _CHANGING_ACTIONS[tool_name] or any(w in action for w in _CHANGING_WORDS)
    if tool_name.startswith("spotify_"):
        return not _action(args).startswith(_SPOTIFY_READS)
    return True


def _action(args: Mapping[str, Any]) -> str:
    action = args.get("action")
    return action.strip().lower() if isinstance(action, str) else ""


def grace_seconds(tool_name: str, args: Mapping[str, Any] | None, overrides: Mapping[str, float]) -> float:
    """Seconds this call may stay unconfirmed: the setting for its tool, and never less than its own time-out."""
    grace = overrides.get(tool_name)
    if grace is None:
        grace = GRACE_S.get(tool_name)
    if grace is None:
        grace = overrides.get("default", DEFAULT_GRACE_S)
    return max(grace, _own_timeout(args)) if args else grace


def _own_timeout(args: Mapping[str, Any]) -> float:
    for name, unit in (("timeout", 1.0), ("timeout_seconds", 1.0), ("timeout_s", 1.0), ("timeout_ms", 0.001)):
        value = args.get(name)
        if value is None:
            continue
        if isinstance(value, str):
            value = _number(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
            return float(value) * unit
    return 0.0


def _number(text: str) -> float | None:
    """A model may write a number as text; the host takes it as one."""
    try:
        return float(text)
    except ValueError:
        return None


def runs_on(tool_name: str, args: Mapping[str, Any] | None) -> bool:
    """Does a confirmation only mean "started"? True for delegates and background commands."""
    if tool_name == "delegate_task":
        return True
    return tool_name == "terminal" and bool(args and args.get("background"))


_LOOKING = frozenset(
    {
        "ls", "cat", "pwd", "head", "tail", "wc", "grep", "rg", "ps", "df", "du", "which", "whoami", "date", "uptime",
        "stat", "file", "id", "uname", "free", "tree", "git status", "git diff", "git log", "git show", "git branch",
    }
)  # fmt: skip
_SHELL_MARKS = frozenset(">|;&$`\n(){}<")


def only_looks(tool_name: str, args_json: str) -> bool:
    """Is this a terminal command that plainly only looks? Said only of single, simple commands."""
    if tool_name != "terminal":
        return False
    try:
        command = json.loads(args_json).get("command")
    except (ValueError, AttributeError, RecursionError):
        return False
    if not isinstance(command, str) or _SHELL_MARKS & set(command):
        return False
    words = command.split()
    return bool(words) and (words[0] in _LOOKING or " ".join(words[:2]) in _LOOKING)
