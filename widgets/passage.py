"""Text of a few lines, which says so where there is no room for all of it."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from .look import fit
from .paragraphs import wrap


class Passage(Static):
    """Inert text, wrapped. Where it does not fit it ends in an ellipsis: nobody shall take a part for the whole."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def _lines(self, width: int) -> list[str]:
        return [line for part in str(self.content).split("\n") for line in wrap(part, width, width)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(max(1, width)))

    def render(self) -> Content:
        width, height = self.content_size
        lines = self._lines(max(1, width))
        if len(lines) > height > 0:
            lines = [*lines[: height - 1], fit(f"{lines[height - 1]} …", width)]
        return Content("\n".join(lines))


class Notice(Passage):
    """What is wrong, and what narrows the view: below a screen's top, as tall as its text up to a share of the screen,
    and not there while there is nothing to say."""

    DEFAULT_CSS = """
    Notice {
        display: none;
        max-height: 30%;
        padding: 0 1;
        color: $text-muted;
        &.-open { display: block; }
        &.-wrong { color: $text-warning; }
    }
    """

    def tell(self, text: str, *, wrong: bool = False) -> None:
        """Show this instead; `wrong` where it is about a trouble."""
        self.set_class(bool(text), "-open")
        self.set_class(wrong, "-wrong")
        if text != self.content:
            self.update(text)
