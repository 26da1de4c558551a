"""Screens that are loaded when somebody goes there: the app starts without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import Screen

    from .feeds import Desk


def posture(desk: Desk) -> Screen[None]:
    from .posture import PostureScreen

    return PostureScreen(desk)


def lineage(desk: Desk) -> Screen[None]:
    from .lineage import LineageScreen

    return LineageScreen(desk)


def policy(desk: Desk) -> Screen[None]:
    from .policy import PolicyScreen

    return PolicyScreen(desk)


def repair(desk: Desk) -> Screen[None]:
    from .repair import RepairScreen

    return RepairScreen(desk)
