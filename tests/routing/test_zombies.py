"""Zombies and their grades, on stores that the host made and on stores made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger_tui.routing.further import CHAIN, EMPTY_DONOR, EMPTY_KEY, EMPTY_PARENT, MARKED, SPOKEN_AGAIN, candidates
from ledger_tui.routing.orphans import MAX_GAP_S
from ledger_tui.routing.read import read_store
from ledger_tui.routing.survey import Survey, survey
from tests.routing.corpus import Case, case, cases
from tests.routing.handmade import DAY, NOW, Sessions


@pytest.fixture
def store(tmp_path: Path) -> Sessions:
    (tmp_path / "home").mkdir()
    return Sessions(tmp_path / "home" / "state.db")


def of_case(name: str, tmp_path: Path) -> Survey:
    one = case(name)
    home, path = one.lay_out(tmp_path)
    return survey(read_store(path, home), now=one.expected["input"]["now"])


def grades(found: Survey) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {one.session_id: (one.grade, one.orphan_ids) for one in found.zombies}


def further(found: Survey) -> dict[str, tuple[str, tuple[str, ...], bool]]:
    return {one.orphan_id: (one.kind, one.donor_ids, one.adoptable) for one in found.further}


def test_the_incident_is_proven(tmp_path: Path) -> None:
    found = of_case("incident-82616", tmp_path)
    assert grades(found) == {"20260803_120103_37976afb": ("proven", ("20260806_161836_04c1d6c6",))}
    assert found.further == ()


@pytest.mark.parametrize(
    ("name", "zombies", "ours"),
    [
        (
            "016",
            {
                "20260804_164800_9330d801": ("spoken-again", ("20260804_181205_29a03f02",)),
                "20260805_213600_9b9fc803": ("proven", ("20260805_230005_99e4be04",)),
                "20260807_022400_7a3f2d05": ("proven", ("20260807_034805_ce728506",)),
            },
            {
                "20260804_181205_29a03f02": (SPOKEN_AGAIN, ("20260804_164800_9330d801",), False),
                "20260807_133050_430fcf07": (CHAIN, ("20260807_034805_ce728506",), True),
            },
        ),
        (
            "036",
            {
                "20260804_164800_e7617501": ("spoken-again", ("20260804_181205_aa093d02",)),
                "20260807_022400_67ea8306": ("proven", ("20260807_034805_82475f07",)),
                "20260808_071200_ba911609": ("proven", ("20260808_083605_886ab60a",)),
            },
            {
                "20260804_181205_aa093d02": (SPOKEN_AGAIN, ("20260804_164800_e7617501",), False),
                "20260807_133050_cb067f08": (CHAIN, ("20260807_034805_82475f07",), True),
            },
        ),
        (  # Donors that had ended on purpose are no zombies: nothing falls back into them.
            "006",
            {
                "20260804_000000_6e791a01": ("proven", ("20260804_001650_d0807602",)),
                "20260806_000000_1b4a9309": ("proven", ("20260806_001650_d64e4e0a",)),
                "20260806_120000_be7d0a0b": ("proven", ("20260806_120230_8cd3d40c",)),
            },
            {},
        ),
        (  # One orphan, two keyed rows in its window; only one of them would be opened.
            "015",
            {"20260807_121820_40e1140b": ("contested", ("20260807_122000_f5778a0c",))},
            {},
        ),
        (  # Two orphans lay claim to one row.
            "023",
            {
                "20260804_103640_0375e501": (
                    "contested",
                    ("20260804_120000_73ed6302", "20260804_120005_a5b36903"),
                ),
                "20260806_114820_5f1ad804": ("proven", ("20260806_120000_60828205",)),
            },
            {},
        ),
    ],
)
def test_families_of_the_corpus(
    name: str,
    zombies: dict[str, tuple[str, tuple[str, ...]]],
    ours: dict[str, tuple[str, tuple[str, ...], bool]],
    tmp_path: Path,
) -> None:
    found = of_case(name, tmp_path)
    assert {key: one for key, one in grades(found).items() if one[0] != "dormant"} == zombies
    assert further(found) == ours


def test_empty_keys_of_the_corpus(tmp_path: Path) -> None:
    found = of_case("013", tmp_path)
    assert further(found) == {
        "20260804_000000_fb62d601": (EMPTY_KEY, (), False),
        "20260804_000110_7eba9002": (EMPTY_DONOR, (), False),
        "20260804_120000_650c0303": (EMPTY_KEY, (), False),
        "20260804_120110_eb25e504": (EMPTY_DONOR, (), False),
        "20260805_000110_5fa5de06": (EMPTY_KEY, ("20260805_000000_997d9305",), True),
        "20260805_120001_f6230f08": (EMPTY_KEY, (), False),
        "20260805_120110_3ab45009": (EMPTY_DONOR, ("20260805_120000_5e7b7d07",), True),
    }
    assert grades(found)["20260805_120000_5e7b7d07"] == ("proven", ("20260805_120110_3ab45009",))


def test_no_zombie_crosses_profiles(tmp_path: Path) -> None:
    """Five orphans of the case lie across a profile from the only row near them; six do not."""
    found = of_case("005", tmp_path)
    assert [one.grade for one in found.zombies if one.grade != "dormant"] == ["proven"] * 6
    for one in found.zombies:
        for orphan_id in one.orphan_ids:
            profiles = {found.store.sessions[key].profile_name or "default" for key in (one.session_id, orphan_id)}
            assert len(profiles) == 1


def test_a_dormant_row_is_silent_for_a_week_and_no_orphan_continues_it(store: Sessions) -> None:
    store.chat("week", chat="1", said=(NOW - 7 * DAY,))
    store.chat("less", chat="2", said=(NOW - 7 * DAY + 1,))
    store.chat("ended", chat="3", said=(NOW - 9 * DAY,), ended_at=NOW - 8 * DAY, end_reason="agent_close")
    store.chat("older", chat="4", said=(NOW - 20 * DAY,))
    store.chat("newer", chat="4", said=(NOW - 60,))
    store.row("terminal", source="cli", said=(NOW - 30 * DAY,))
    assert grades(store.survey()) == {"week": ("dormant", ())}


def test_a_row_that_waits_to_be_resumed_says_so(store: Sessions) -> None:
    store.chat("waiting", said=(NOW - 10 * DAY,))
    store.route("agent:main:telegram:dm:7001", "waiting", resume_pending=True)
    (zombie,) = store.survey().zombies
    assert zombie.grade == "dormant"
    assert "10 days and still waits to be resumed" in zombie.text


def test_a_reset_since_then_keeps_an_old_row_from_being_opened(store: Sessions) -> None:
    store.chat("old", said=(NOW - 9 * DAY,))
    store.chat("fence", said=(NOW - 8.5 * DAY,), ended_at=NOW - 8 * DAY, end_reason="session_reset")
    assert grades(store.survey()) == {}


def test_an_older_host_has_no_such_fence(tmp_path: Path) -> None:
    store = Sessions(tmp_path / "state.db", recent=False)
    store.chat("old", said=(NOW - 9 * DAY,))
    store.chat("fence", said=(NOW - 8.5 * DAY,), ended_at=NOW - 8 * DAY, end_reason="session_reset")
    assert grades(store.survey()) == {"old": ("dormant", ())}


def test_by_lineage_but_spoken_in_since(store: Sessions) -> None:
    """The host would adopt; that the chat fell back already is for a person to weigh."""
    store.chat("parent", said=(NOW - 5000, NOW - 10), started_at=NOW - 6000)
    store.row("lost", said=(NOW - 3500, NOW - 100), parent_session_id="parent")
    found = store.survey()
    assert [one.adoptable for one in found.orphans] == [True]
    assert grades(found) == {"parent": ("spoken-again", ("lost",))}


def spoken_again(store: Sessions, quiet: float = NOW - 4000, back: float = NOW - 50, **donor: Any) -> None:
    store.chat("zombie", said=(NOW - 6000, quiet, back), started_at=NOW - 7000, **donor)
    store.row("lost", said=(NOW - 3550, NOW - 100), started_at=NOW - 3600, user_id="7001")


def test_spoken_again(store: Sessions) -> None:
    spoken_again(store)
    found = store.survey()
    assert further(found) == {"lost": (SPOKEN_AGAIN, ("zombie",), False)}
    assert grades(found) == {"zombie": ("spoken-again", ("lost",))}
    assert candidates(found.store, "lost") == ("zombie",)
    assert found.orphans[0].reason.startswith("no keyed predecessor")


@pytest.mark.parametrize(
    "other",
    [
        {"quiet": NOW - 4501},  # More than a quarter of an hour before the orphan began.
        {"quiet": NOW - 2699},  # More than a quarter of an hour after.
        {"user_id": "7002"},
        {"source": "discord"},
        {"profile_name": "work"},
        {"session_key": None},
    ],
)
def test_not_spoken_again(store: Sessions, other: dict[str, Any]) -> None:
    spoken_again(store, **other)
    assert "lost" not in further(store.survey())


@pytest.mark.parametrize("quiet", [NOW - 4500, NOW - 2700])
def test_the_window_holds_both_its_ends(store: Sessions, quiet: float) -> None:
    spoken_again(store, quiet)
    assert further(store.survey()) == {"lost": (SPOKEN_AGAIN, ("zombie",), False)}


def test_a_chain_of_orphans_is_found_at_once(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 9000, NOW - 8000), started_at=NOW - 9500)
    store.row("first", said=(NOW - 7900, NOW - 7000), started_at=NOW - 7950)
    store.row("child", said=(NOW - 6000,), started_at=NOW - 6100, parent_session_id="first")
    store.row("beside", said=(NOW - 5800, NOW - 5000), started_at=NOW - 5900)
    store.row("grandchild", said=(NOW - 2000,), started_at=NOW - 2100, parent_session_id="beside")
    found = store.survey()
    assert [(one.orphan_id, one.adoptable) for one in found.orphans] == [
        ("first", True), ("child", False), ("beside", False), ("grandchild", False),
    ]  # fmt: skip
    assert further(found) == {
        "child": (CHAIN, ("first",), True),
        "beside": (CHAIN, ("child",), True),
        "grandchild": (CHAIN, ("beside",), True),
    }


def test_two_children_of_one_orphan_are_contested_as_the_host_would_have_it(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 9000, NOW - 8000), started_at=NOW - 9500)
    store.row("first", said=(NOW - 7900, NOW - 7000), started_at=NOW - 7950)
    store.row("one", said=(NOW - 6000,), started_at=NOW - 6100, parent_session_id="first")
    store.row("two", said=(NOW - 5000,), started_at=NOW - 5100, parent_session_id="first")
    assert further(store.survey()) == {"one": (CHAIN, ("first",), False), "two": (CHAIN, ("first",), False)}


def test_an_empty_parent_counts_as_none(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 5000, NOW - 4000), started_at=NOW - 6000)
    store.row("lost", said=(NOW - 3500, NOW - 100), started_at=NOW - 3600, parent_session_id="")
    assert further(store.survey()) == {"lost": (EMPTY_PARENT, ("donor",), True)}


def test_a_mark_that_names_nobody(store: Sessions) -> None:
    store.chat("donor", said=(NOW - 5000, NOW - 4000), started_at=NOW - 6000)
    store.row("marked", said=(NOW - 3500, NOW - 100), started_at=NOW - 3600, config={"_delegate_from": "__orphaned__"})
    found = store.survey()
    assert found.orphans == ()
    assert further(found) == {"marked": (MARKED, ("donor",), False)}


def test_candidates_to_choose_from(store: Sessions) -> None:
    for place in range(3):
        store.chat(f"near{place}", chat=str(place), said=(NOW - 4000 - place,), started_at=NOW - 6000)
    store.chat("far", chat="9", said=(NOW - 9000,))
    store.row("lost", said=(NOW - 3500, NOW - 100), started_at=NOW - 3600)
    store.chat("parent", chat="10", said=(NOW - 8 * DAY,))
    store.row("child", said=(NOW - 100,), parent_session_id="parent")
    store.row("foreign", source="discord", said=(NOW - 100,), parent_session_id="parent")
    found = store.read()
    assert set(candidates(found, "lost")) == {"near0", "near1", "near2"}
    assert candidates(found, "child") == ("parent",)
    assert candidates(found, "foreign") == ()


@pytest.mark.parametrize("one", cases(), ids=lambda one: one.name)
def test_chains_are_what_the_hosts_next_run_finds(one: Case, tmp_path: Path) -> None:
    """Its first run mends the upper end of a chain, its second one finds the rest."""
    home, path = one.lay_out(tmp_path)
    gap = one.expected["input"]["max_gap_s"]
    found = survey(read_store(path, home), now=NOW, max_gap_s=MAX_GAP_S if gap is None else gap)
    chains = {
        orphan: donors for orphan, (kind, donors, adoptable) in further(found).items() if kind == CHAIN and adoptable
    }
    second = [record for record in one.expected["find_after"] if record["adoptable"] and record["session_key"]]
    assert chains == {record["orphan_id"]: (record["donor_id"],) for record in second}
