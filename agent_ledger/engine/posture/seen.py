"""Which ids were met before: one bit an id, less for the unbroken series in which ids usually come."""

from __future__ import annotations

_PAGE = 256


class Seen:
    """A set of row ids that grows by one bit a row."""

    __slots__ = ("_begin", "_pages", "end")

    def __init__(self) -> None:
        self._begin = 0
        self.end = 0
        """The series `_begin … end - 1` was met; whoever meets `end` itself may simply raise it by one."""
        self._pages: dict[int, int] = {}

    def add(self, row_id: int) -> bool:
        """True when this id had not been met before."""
        if row_id >= self.end:
            if row_id > self.end:
                self._keep_series()
                self._begin = row_id
            self.end = row_id + 1
            return True
        if row_id >= self._begin:
            return False
        page, bit = divmod(row_id, _PAGE)
        bits = self._pages.get(page, 0)
        if bits >> bit & 1:
            return False
        self._pages[page] = bits | 1 << bit
        return True

    def _keep_series(self) -> None:
        row_id = self._begin
        while row_id < self.end:
            page, first = divmod(row_id, _PAGE)
            until = min(self.end, (page + 1) * _PAGE)
            self._pages[page] = self._pages.get(page, 0) | ((1 << (until - row_id)) - 1) << first
            row_id = until
