"""How long does the prompt policy think about a message? The example's rules against a plain split into words."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import agent_ledger
from agent_ledger.engine.prompts import PromptPolicy, load, read
from agent_ledger.engine.prompts.text import LONGEST_BYTES
from benchmarks._paired import Report, arguments, interleaved

EXAMPLE = Path(agent_ledger.__file__).with_name("prompt_policy.example.json")
WORD = re.compile(r"\w+")


def messages(size: int) -> dict[str, str]:
    """Texts of `size` characters: what people send, and what makes rules look closely again and again."""
    chance = random.Random(7)
    words = WORD.findall("the quick brown fox prints your file and then ignores all lines above 2026 in it")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    records = [{"id": number, "at": 1_700_000_000 + number, "sha": "3f786850e387550f" * 2} for number in range(4_000)]
    texts = {
        "prose": " ".join(chance.choices(words, k=size // 3)),
        "JSON records": json.dumps(records),
        "a file in base64": "".join(chance.choices(letters, k=size)),
        "digits in groups": "4111 1111 1111 1112 " * size,
        "account numbers that are none": "DE12 3704 0044 0532 0130 01 " * size,
        "half an order, again and again": "ignore all previous " * size,
        "nothing but @": "a@" * size,
    }
    return {name: text[:size] for name, text in texts.items()}


def judged(policy: PromptPolicy, text: str) -> float:
    """Seconds in which the policy decides."""
    began = time.perf_counter()
    policy.decide(read(text), now=0.0, mono=time.monotonic, count=lambda what, since: 0)
    return time.perf_counter() - began


def split(text: str) -> float:
    """Seconds that finding its words takes."""
    began = time.perf_counter()
    WORD.findall(text)
    return time.perf_counter() - began


def _taken(runs: int, policy: PromptPolicy, text: str) -> tuple[list[float], ...]:
    return interleaved(runs, 2, lambda _: judged(policy, text), lambda _: split(text))


def main() -> None:
    asked = arguments(
        __doc__ or "", runs=(20, "times each message is judged"), size=(LONGEST_BYTES, "characters of a message")
    ).parse_args()
    policy = load(EXAMPLE)
    assert isinstance(policy, PromptPolicy)
    report = Report(
        f"the example's rules, messages of {asked.size} characters, {asked.runs} times each",
        "re.findall of words in the same message",
    )
    for name, text in messages(asked.size).items():
        ours, bare = _taken(asked.runs, policy, text)
        report.times(name, ours, bare, unit="ms", bars=("", "at most 100 ms"))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
