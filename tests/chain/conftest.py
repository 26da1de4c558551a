"""Homes whose hooks are called as the host calls them."""

from __future__ import annotations

from tests.engine.conftest import home, new_home

__all__ = ["home", "new_home"]
