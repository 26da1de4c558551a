"""Links between pages lead somewhere, and the first thing a person reads is how to start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import PAGES, ROOT, anchors, prose

SET_UP = """\
```sh
python3 run.py demo    # the app, open on a simulated agent: nothing else to install or start
python3 run.py test    # every check and every test, real Hermes hosts included
```
"""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_resolves(path: Path) -> None:
    text = prose(path.read_text(encoding="utf-8"))
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {(ROOT / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)\)", text)}
    assert {path for path in PAGES[1:] if path.name != "figures.md"} <= named


def test_the_readme_opens_with_five_lines_a_picture_and_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, what_for, picture, how, rest = text.split("\n\n", 4)
    assert len(what_for.splitlines()) == 5
    assert picture.startswith("![")
    assert len(how.splitlines()) == 1
    assert rest.startswith(SET_UP)


def test_no_page_names_the_machine_it_was_written_on() -> None:
    for path in PAGES:
        assert not re.search(r"/(?:work|root)/|/tmp/(?!demo\b)", path.read_text(encoding="utf-8")), path
