"""What a turn's `conversation_history` tells: was it compacted, did an earlier notice reach the model, which results
stand in it. Shapes as Hermes 0.19 and 0.22 pass them to `pre_llm_call`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from .fingerprint import bounded
from .notice import is_ours
from .records import storable

WITHHELD = "[Message withheld: a pre_llm_call policy hook blocked it.]"

_SUMMARY_STARTS = ("[CONTEXT COMPACTION", "[PRIOR CONTEXT")
_LOOK_AT = 400
"""Characters of a message in which a summary's heading is looked for: it may follow other text."""

Message = Mapping[str, Any]


def messages_of(history: object) -> Sequence[Message]:
    """The history as a list of messages; anything else counts as none."""
    if not isinstance(history, (list, tuple)):
        return ()
    return [message for message in history if isinstance(message, Mapping)]


def text_of(message: Message, field: str = "content") -> str:
    """The text of a message; of a message in parts, its text parts one under the other."""
    content = message.get(field)
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def compaction_marker(messages: Sequence[Message]) -> str | None:
    """A name for the newest compaction whose summary stands in the history; None when there is none."""
    for message in reversed(messages):
        text = text_of(message)
        if message.get("_compressed_summary") or any(start in text[:_LOOK_AT] for start in _SUMMARY_STARTS):
            return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return None


def delivered(messages: Sequence[Message], notice_id: int) -> bool | None:
    """Did the turn that carried a notice reach the model? None where the history does not tell.

    The host keeps what it sent in `api_content`. A turn reached the model when an assistant's reply follows its
    user message and that message was not withheld.
    """
    earlier = messages[:-1] if messages and messages[-1].get("role") == "user" else messages
    wire_known = False
    for place, message in enumerate(earlier):
        if message.get("role") != "user":
            continue
        sent = text_of(message, "api_content")
        wire_known = wire_known or bool(sent)
        if is_ours(sent, notice_id) or is_ours(text_of(message), notice_id):
            return _answered(earlier, place)
    last = next((i for i in range(len(earlier) - 1, -1, -1) if earlier[i].get("role") == "user"), None)
    if last is not None and not _answered(earlier, last):
        return False
    if wire_known and compaction_marker(messages) is None:
        return False
    return None


def will_be_merged(messages: Sequence[Message]) -> bool:
    """Does the message before the new one stand unanswered? A host then sends both as one, and Hermes 0.19 without
    what hooks had added."""
    return len(messages) > 1 and messages[-1].get("role") == "user" and messages[-2].get("role") == "user"


def _answered(messages: Sequence[Message], place: int) -> bool:
    if WITHHELD in text_of(messages[place]):
        return False
    for message in messages[place + 1 :]:
        if message.get("role") == "assistant":
            return True
        if message.get("role") == "user":
            return False
    return False


def results_in(messages: Sequence[Message]) -> frozenset[str]:
    """Call ids, as the ledger keeps them, whose results stand in the history."""
    return frozenset(
        bounded(storable(str(message["tool_call_id"])))
        for message in messages
        if message.get("role") == "tool" and message.get("tool_call_id")
    )
