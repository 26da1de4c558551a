"""The pages, and what tests take out of them: tables, headings, what stands in backticks or quotation marks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)


def page(name: str) -> str:
    """The text of a page below `docs/`."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return _FENCE.sub("", text)


def sections(text: str) -> dict[str, str]:
    """Heading of the second level to what stands below it."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def table(text: str) -> list[list[str]]:
    """The rows of the first table in `text`, without its head."""
    lines = [line for line in re.split(r"\n(?!\|)", text[text.index("\n|") + 1 :])[0].splitlines() if line]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def code(text: str) -> list[str]:
    """What stands in backticks on one line."""
    return re.findall(r"`([^`\n]+)`", prose(text))


def quotes(text: str) -> list[str]:
    """What stands in curly quotation marks."""
    return re.findall(r"“([^”]+)”", text)


def anchors(text: str) -> set[str]:
    """The names by which headings can be linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.M)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}
