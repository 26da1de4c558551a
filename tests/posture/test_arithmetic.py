"""The score is 100 minus every weight: worked out by hand, and for any rows at all."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ledger.engine.posture import IDS, LIMITS, NOT_OBSERVABLE, Posture, official_title, report
from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.severity import SEVERITIES, SEVERITY_WEIGHT

from .ledgers import BEGIN, CLOUD_KEY, DELETE, KEY, WIPE, command, row, scored, short


def test_the_weights() -> None:
    assert dict(SEVERITY_WEIGHT) == {"CRITICAL": 25, "HIGH": 15, "MEDIUM": 8, "LOW": 3}


def test_without_rows_there_is_no_score() -> None:
    posture = Posture()
    assert posture.score is None
    assert posture.findings == ()
    assert report.as_json(posture)["score"] is None
    assert report.as_json(posture)["trust"] == list(LIMITS)
    assert any(report.NOTHING in line for line in report.as_text(posture, "x"))


def test_quiet_rows_score_a_hundred() -> None:
    assert scored([command(1, "ls -la src"), command(2, "git status")]).score == 100


def test_a_ledger_by_hand() -> None:
    posture = scored(
        [
            command(1, WIPE),  # CRITICAL
            command(2, KEY),  # HIGH
            row(3, "write_file", {"path": "hello.sh", "content": "echo hello\n"}),
            command(4, "sh hello.sh"),  # LOW, with row 3
            command(5, "env | sort | head", redacted=1),  # LOW, and what `env` shows
        ]
    )
    assert short(posture)[:3] == [
        ("recursive-delete", "ASI02", 25, (1,)),
        ("credential-read", "ASI03", 15, (2,)),
        ("write-then-run", "ASI05", 3, (3, 4)),
    ]
    assert ("secret-in-command", "ASI03", 3, (5,)) in short(posture)
    assert posture.score == 100 - sum(weight for _, _, weight, _ in short(posture))


def test_below_zero_and_never_merged() -> None:
    posture = scored(command(number, WIPE) for number in (1, 3, 5, 7, 9))
    assert [one.rule for one in posture.findings].count("recursive-delete") == 5
    assert posture.score == 100 - 5 * 25 - 8  # The same call three times in a row is a finding of its own.


def test_the_json_document() -> None:
    document = report.as_json(scored([command(1, WIPE), *(row(n, f"tool_{n}") for n in range(2, 14))]))
    assert document["score"] == 100 - 25 - 3 == 100 - sum(one["weight"] for one in document["findings"])
    assert document["counts"] == {"CRITICAL": 1, "HIGH": 0, "MEDIUM": 0, "LOW": 1}
    assert list(document["ids"]) == [asi for asi in IDS if asi != "ASI11"]
    assert document["ids"]["ASI02"] == {
        "title": "Tool Misuse and Exploitation", "observable": True, "findings": 1, "points": 25
    }  # fmt: skip
    assert document["ids"]["ASI07"]["observable"] is False
    assert document["ids"]["ASI07"]["findings"] is None
    assert document["extension"]["ASI11"]["points"] == 3
    assert "not in the official list" in document["extension"]["ASI11"]["title"]
    assert set(document["findings"][0]) >= {
        "rule", "asi", "severity", "weight", "ledger_id", "rows", "session_id", "ts", "tool_name", "evidence"
    }  # fmt: skip


def test_the_text_can_be_followed_line_by_line() -> None:
    posture = scored([command(1, WIPE), command(2, KEY)])
    lines = list(report.as_text(posture, "/home/kim/ledger.db"))
    column = [line.split()[:2] for line in lines if line.strip().startswith("-") and line.split()[0][1:].isdigit()]
    assert column == [["-25", "75"], ["-15", "60"]]
    assert any(line.startswith("Score   60,") for line in lines)
    assert all(f"- {limit}" in lines for limit in LIMITS)
    for asi in NOT_OBSERVABLE:
        assert any(asi in line and "not observable" in line for line in lines)


def test_titles_are_the_published_ones() -> None:
    assert [official_title(asi) for asi in IDS[:10]] == [
        "Agent Goal Hijack", "Tool Misuse and Exploitation", "Identity and Privilege Abuse",
        "Agentic Supply Chain Vulnerabilities", "Unexpected Code Execution (RCE)", "Memory & Context Poisoning",
        "Insecure Inter-Agent Communication", "Cascading Failures", "Human-Agent Trust Exploitation", "Rogue Agents",
    ]  # fmt: skip


def test_evidence_is_one_harmless_line() -> None:
    (found,) = scored([command(1, DELETE + " '/srv/a\x1b[2J\n\u202eb'", session="s\n1")]).findings
    assert found.evidence.isprintable()
    assert found.session_id == "s\\n1"
    assert len(found.evidence) <= 200


def test_the_history_ends_at_the_score() -> None:
    posture = scored([command(1, WIPE), command(2, KEY)])
    assert posture.history == [(BEGIN + 60, 75), (BEGIN + 120, 60)]


# Any rows at all.

COMMANDS = (
    "ls", "make test", WIPE, KEY, "sh run.sh", "curl -o run.sh https://example.org/run.sh",
    "git push --force origin main", "crontab -r", CLOUD_KEY,
)  # fmt: skip
STATUSES = ("PENDING", "CONFIRMED", "GHOST_REPORTED", "ERROR:tool_error", "ERROR:timeout", "ERROR:cancelled", "odd")
CALLS = st.one_of(
    st.tuples(st.just("terminal"), st.sampled_from(COMMANDS).map(lambda text: {"command": text})),
    st.tuples(st.just("write_file"), st.sampled_from(("run.sh", "a.md")).map(lambda p: {"path": p, "content": "ls"})),
    st.tuples(st.just("delegate_task"), st.integers(1, 7).map(lambda n: {"tasks": [{"goal": "x"}] * n})),
    st.tuples(st.just("cronjob"), st.just({"action": "create"})),
    st.tuples(st.sampled_from(("image_generate", "memory", "mcp__a__b", "")), st.just({"content": "always run curl"})),
)


@st.composite
def ledgers(draw: st.DrawFn) -> list[RawRow]:
    rows, at, number = [], 0.0, draw(st.integers(1, 300))
    for _ in range(draw(st.integers(0, 40))):
        tool, args = draw(CALLS)
        at += draw(st.sampled_from((0.5, 5.0, 70.0)))
        rows.append(
            row(
                number,
                tool,
                args,
                at=at,
                status=draw(st.sampled_from(STATUSES)),
                session=draw(st.sampled_from(("s1", "s2", "", None))),
                seen=draw(st.sampled_from((1, 1, 1, 2))),
                redacted=draw(st.sampled_from((0, 0, 1))),
            )
        )
        number += draw(st.sampled_from((1, 1, 1, 300)))
    return rows


@settings(max_examples=40, deadline=None)
@given(ledgers())
def test_the_score_is_a_hundred_minus_every_weight(rows: list[RawRow]) -> None:
    posture = scored(rows)
    assert posture.score == (100 - sum(one.weight for one in posture.findings) if rows else None)
    assert sum(posture.severities().values()) == len(posture.findings)
    assert sum(points for _, points in posture.ids().values()) == sum(one.weight for one in posture.findings)
    assert all(one.weight == SEVERITY_WEIGHT[one.severity] and one.severity in SEVERITIES for one in posture.findings)
    assert all(one.ledger_id in one.rows for one in posture.findings)


@settings(max_examples=40, deadline=None)
@given(ledgers(), st.lists(st.integers(1, 12), min_size=1, max_size=50))
def test_portions_do_not_matter(rows: list[RawRow], sizes: list[int]) -> None:
    posture, at = Posture(), 0
    for size in (*sizes, len(rows)):
        posture.feed_rows(rows[at : at + size])
        at += size
    assert posture.findings == scored(rows).findings
    assert posture.score == scored(rows).score


@settings(max_examples=40, deadline=None)
@given(ledgers())
def test_a_row_fed_again_as_it_was_changes_nothing(rows: list[RawRow]) -> None:
    posture = scored(rows)
    before = posture.findings
    assert posture.feed_rows(rows) == []
    assert posture.findings == before
    assert posture.rows == len(rows)


@settings(max_examples=40, deadline=None)
@given(ledgers())
def test_watched_live_it_comes_to_the_same(rows: list[RawRow]) -> None:
    """Every row first as it was issued, and settled before the next one came."""
    posture = Posture()
    for one in rows:
        posture.feed_rows([(*one[:8], "PENDING", *one[9:])])
        posture.feed_rows([one])
    assert [(f.rule, f.rows) for f in posture.findings] == [(f.rule, f.rows) for f in scored(rows).findings]
