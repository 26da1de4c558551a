"""The newcomer's path: one page a question; each begins with what to type and says what it cannot tell."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from .pages import PAGES, ROOT, page, prose, sections

README = (ROOT / "README.md").read_text(encoding="utf-8")
PATH = re.findall(r"^\| .+ \| \[\w+\]\(docs/(\w+\.md)\) \|$", README, re.M)

FURTHER = [
    "rows.md",
    "notice.md",
    "sessions.md",
    "lineage.md",
    "prevention.md",
    "security.md",
    "chain.md",
    "chat.md",
    "terminal.md",
    "browser.md",
    "ship.md",
]


def test_the_path_has_these_steps() -> None:
    steps = "start install calls lost repair posture policy prompts daily keep trouble"
    assert [f"{step}.md" for step in steps.split()] == PATH


@pytest.mark.parametrize("name", [*PATH, *FURTHER])
def test_a_page_begins_with_what_to_type(name: str) -> None:
    head = page(name).splitlines()[:14]
    assert any(re.match(r"```(sh|console)$", line) for line in head)


@pytest.mark.parametrize("name", [*PATH, *FURTHER])
def test_a_page_says_what_it_cannot_tell(name: str) -> None:
    (heading,) = [one for one in sections(page(name)) if re.match(r"What .*\b(cannot|not|no)\b", one)][-1:]
    assert re.search(r"^(- |\| )", sections(page(name))[heading], re.M)


@pytest.mark.parametrize("path", [one for one in PAGES[1:] if one.parent.name == "docs"], ids=lambda path: path.name)
def test_a_page_asks_one_question(path: Path) -> None:
    titles = re.findall("^# (.+)$", prose(path.read_text(encoding="utf-8")), re.M)
    assert [title[-1] for title in titles] == ["?"]


def test_no_page_says_what_another_says() -> None:
    """A paragraph of more than a line stands on one page only."""
    seen: dict[str, str] = {}
    twice = []
    for path in PAGES:
        for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
            text = " ".join(paragraph.split())
            if len(text) > 120 and seen.setdefault(text, path.name) != path.name:
                twice.append((seen[text], path.name, text[:60]))
    assert twice == []


def test_the_changelog_begins_with_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert next(iter(sections((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))) == version
