"""The incident of hermes-agent #82616 as a story: 12 messages that come back, 798 that cannot be found.

A boat is painted; three days later a summer fete has been planned in hundreds of messages. Every person is invented.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

from ledger_tui.demo.making import mcp, read, shell, write
from ledger_tui.demo.story import Call, Chat, Outage, Scenario, Turn

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0

ZOMBIE_MESSAGES, ORPHAN_MESSAGES = 12, 798

_RESETS = -3 * DAY + 60.0
"""Three days ago, a minute after the last word about the boat."""

_BOAT = (
    (-24 * MIN, "Which paint did we use on the hull last year?", (read("boat/log.md"),), "Reed green, two coats."),
    (-17 * MIN, "How many tins do we need?", (), "Five, for both sides and the keel."),
    (-9 * MIN, "Are there any in the shed?", (read("boat/shed.md"),), "Two tins; three are missing."),
    (-20.0, "Then I will buy three on Saturday.", (), "Good: three tins of reed green."),
)

_TOPICS = (
    "the band", "the benches", "the lamps", "the cake table", "the raffle", "the ferry for the guests", "the rain tent",
    "the programme", "the cloakroom", "the children's corner", "the soup", "the fireworks permit",
)  # fmt: skip

_TALK = (
    ("What is still open about {topic}?", "Of {topic}: who brings it, and when."),
    ("Who looks after {topic}?", "For {topic}: Maren, with two from the rowing club."),
    ("Can {topic} wait until next week?", "Yes; nothing depends on {topic} before Tuesday."),
)

_WEEK = 8
"""Turns in one round of talk, lookups and work; 24 messages."""

_AWAKE = ((-72 * HOUR, -57 * HOUR, 82), (-48 * HOUR, -33 * HOUR, 82), (-24 * HOUR, -9 * HOUR, 80))
"""(from, to, turns) of the three days before."""

_LAST = (-4 * HOUR, -2 * MIN, 18)
_LIVE = (6.0, 15.0, 24.0, 33.0)

OUTAGE = Outage(
    chat="fete",
    resets=_RESETS,
    crashes=45.0,
    restarts=52.0,
    asks=58.0,
    stops=66.0,
    after=Turn(0.0, "Where were we with the fete?", (), "With the last open point of the programme; the rest is done."),
)


def _moments() -> list[float]:
    moments = []
    for begin, end, turns in (*_AWAKE, _LAST):
        moments += [begin + (end - begin) * place / turns for place in range(turns)]
    # The first word after the reset, so soon after the last one before it that the two belong together.
    return [_RESETS + 40.0, *moments[1:], *_LIVE]


def _turn(number: int, at: float, topic: str, talk: tuple[str, str]) -> Turn:
    text, reply = (part.format(topic=topic) for part in talk)
    place = number % _WEEK
    if place == 3:
        return Turn(at, f"Put {topic} on the plan, point {number}.", (_work(number, topic),), "It is on the plan.")
    if place % 2:
        return Turn(at, f"Look up what we said about {topic}.", (read("fete/plan.md"),), reply)
    return Turn(at, text, (), reply)


def _work(number: int, topic: str) -> Call:
    if number % 3 == 0:
        return mcp("calendar__create_event", {"title": f"Fete: {topic}", "point": number}, {"id": f"ev-{number}"})
    if number % 3 == 1:
        return shell(f"git -C fete commit -am 'Point {number}: {topic}'", takes=0.6)
    return write(f"fete/points/{number}.md", f"# {number}\n\n{topic}\n")


def _fete() -> tuple[Turn, ...]:
    topics, talks = cycle(_TOPICS), cycle(_TALK)
    return tuple(_turn(number, at, next(topics), next(talks)) for number, at in enumerate(_moments()))


FETE = Chat(
    name="fete",
    source="telegram",
    title="Boat and fete",
    user_id="70010202",
    chat_id="70010202",
    chat_type="dm",
    turns=(*(Turn(-3 * DAY + at, text, calls, reply) for at, text, calls, reply in _BOAT), *_fete()),
    small_talk=(
        Turn(
            0,
            "Tick off point {n}.",
            (write("fete/done/{n}.md", "done\n"),),
            "Point {n} is done.",
        ),
        Turn(0, "What comes after point {n}?", (read("fete/plan.md"),), "The tables, then the lamps."),
    ),
)

_SPEAKS = Turn(0.0, "No, the fete! What did we say about the band?", (), "I know of no fete. Shall I buy the paint?")


def incidents(past: tuple[Chat, ...]) -> tuple[Scenario, Scenario]:
    """The incident, and the one in which the person speaks on in the wrong session. `past` goes on beside them."""
    quiet = tuple(replace(chat, small_talk=()) for chat in past)
    plain = Scenario(
        "incident",
        "A chat falls back by three days, and 798 messages cannot be found (hermes-agent #82616).",
        (*quiet, FETE),
        frozenset(),
        outage=OUTAGE,
    )
    spoken = replace(
        plain,
        name="incident-spoken",
        about="The same; then somebody speaks on in the wrong session, and only a person can tell what belongs where.",
        outage=replace(OUTAGE, speaks=_SPEAKS, stops=OUTAGE.stops + 8.0),
    )
    return plain, spoken


def hurried(scenario: Scenario, speed: float) -> Scenario:
    """What somebody watches of an outage, `speed` times faster; the past stays where it is."""
    outage = scenario.outage
    if outage is None:
        return scenario
    chats = tuple(
        replace(chat, turns=tuple(replace(turn, at=_hurry(turn.at, speed)) for turn in chat.turns))
        if chat.name == outage.chat
        else chat
        for chat in scenario.chats
    )
    later = {name: getattr(outage, name) / speed for name in ("crashes", "restarts", "asks", "stops")}
    return replace(scenario, chats=chats, outage=replace(outage, **later))


def _hurry(at: float, speed: float) -> float:
    return at / speed if at > 0 else at
