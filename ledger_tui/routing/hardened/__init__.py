"""The hardened session store: what a gateway needs so that no chat loses its way, and the old faults as switches."""

from .faults import INCIDENT, SOUND, Fault, Faults
from .routes import Routed, Routes
from .shapes import PLAIN, CompressionError, Identity, Message, Origin, TranscriptReadError
from .store import RESET, HardenedStore

__all__ = [
    "INCIDENT",
    "PLAIN",
    "RESET",
    "SOUND",
    "CompressionError",
    "Fault",
    "Faults",
    "HardenedStore",
    "Identity",
    "Message",
    "Origin",
    "Routed",
    "Routes",
    "TranscriptReadError",
]
