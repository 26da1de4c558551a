"""Why there is no demonstration, each in one plain sentence for a person."""

from __future__ import annotations


class DemoError(Exception):
    """No demonstration."""


class AskedError(DemoError):
    """It cannot be had the way it was asked for."""


class RefusedError(DemoError):
    """It would write where something else may be."""


class HostError(DemoError):
    """The simulated host did not come up, or broke down."""
