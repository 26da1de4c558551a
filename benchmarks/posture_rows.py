"""Scoring a million rows against a bare SELECT over them, and what one more row costs at both sizes."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agent_ledger.engine.posture import Posture
from agent_ledger.engine.posture.reading import PAGE, rows, scored
from agent_ledger.engine.posture.rows import RawRow
from agent_ledger.engine.records import utc_text
from agent_ledger.engine.schema import columns_of
from benchmarks._homes import call_args, fill, home
from benchmarks._paired import Report, arguments, note, percentile


def bare(connection: sqlite3.Connection) -> float:
    """Seconds of the processor for a program that only looks at every row, with the columns that a posture needs."""
    began, seen = time.process_time(), 0
    for row in rows(connection, columns_of(connection)):
        seen += len(row)
    return time.process_time() - began


def whole(connection: sqlite3.Connection) -> tuple[float, Posture]:
    """The same for scoring these rows, and the posture."""
    began = time.process_time()
    posture = scored(connection, columns_of(connection))
    return time.process_time() - began, posture


def one_more(posture: Posture, number: int) -> float:
    """Seconds from one more row to the new score."""
    session = f"later-{number % 40}"
    args = f'{{"command": "make report NAME=later{number}", "timeout": 60}}'
    row: RawRow = (
        10_000_000 + number,
        utc_text(time.time()),
        session,
        None,
        "terminal",
        args,
        0,
        0,
        "CONFIRMED",
        1,
        "",
    )
    began = time.perf_counter()
    posture.feed_rows([row])
    assert posture.score is not None  # What a screen asks for.
    return time.perf_counter() - began


_INDENTED = "python3 -m json.tool"
_COMMANDS = (
    "git -C app log --oneline -5 # @",
    "python3 tools/build.py --number @",
    "cd /home/kim/app && python -m pytest tests/unit/test_part_@.py -q 2>&1 | tail -20",
    "sed -n '@,400p' src/app/models.py | grep -n \"class .*:$\"",
    'find . -name "*.py" -newer stamp_@ | head -50',
    f"curl -s http://localhost:8080/api/items/@ | {_INDENTED} | head -40",
    "source .venv/bin/activate && pip install -q -r requirements-@.txt",
    "docker compose up -d --build web-@ && docker compose logs --tail=50 web",
    'for f in src/part_@/*.py; do echo "== $f"; head -5 "$f"; done',
    "git checkout -b feature/item-@ && git push -u origin feature/item-@",
    "grep -rn \"def handler_@\" --include='*.py' src/ | grep -v test | wc -l",
    "export PORT=@; nohup node server.js > server.log 2>&1 &",
    "python3 -c \"import json; d=json.load(open('data_@.json')); print(len(d['items']))\"",
    "cat > notes_@.md <<'EOF'\n# Notes\n\nThings to do.\n- first\n- second\nEOF",
    "ls -la build/@ && du -sh build/* | sort -h | tail -5",
    "rm -f /tmp/out_@.log; make test 2>&1 | tee /tmp/out.log | tail -n 30",
    'sqlite3 app.db "SELECT count(*) FROM items WHERE id > @"',
    "kubectl -n staging get pods -l app=web-@ -o wide",
    "ssh kim@web@.example 'systemctl status web --no-pager | head -20'",
    "awk -F, '{ s += $@ } END { print s }' data.csv",
    'psql -h localhost -d shop -c "SELECT id, name FROM orders WHERE id = @ LIMIT 5"',
    "tar czf backup-@.tgz docs src --exclude='*.pyc' > /dev/null",
    "env PYTHONPATH=src python3 scripts/run_@.py --verbose",
    "npm run build -- --mode=production --out=dist/@ && ls dist/*.js",
)
"""What agents type all day. `@` stands for a number, by which each is another command."""

PLAIN, REPEATED, DIFFERENT = "plain", "a third read, repeated", "a third read, all different"


def page_of(kind: str, first: int) -> list[RawRow]:
    """2,000 rows of terminal calls; of two kinds every third has a command that words alone do not clear."""
    rows_: list[RawRow] = []
    for number in range(first, first + PAGE):
        args = call_args(number)
        if kind != PLAIN and number % 3 == 0:
            place, varied = (number // 3) % len(_COMMANDS), (number // 3) % 120 if kind == REPEATED else number
            args["command"] = _COMMANDS[place].replace("@", str(varied))
        ts = utc_text(1_780_000_000 + number * 20.0)
        row = (number + 1, ts, f"s{number // 200}", None, "terminal", json.dumps(args), 0, 0, "CONFIRMED", 1, "")
        rows_.append(row)
    return rows_


def speed(kind: str, count: int) -> float:
    """Rows a second of the processor, of one kind. Making them does not count."""
    posture, taken = Posture(), 0.0
    for first in range(0, count, PAGE):
        page = page_of(kind, first)
        began = time.process_time()
        posture.feed_rows(page)
        taken += time.process_time() - began
    return posture.rows / taken


def main() -> None:
    asked = arguments(
        __doc__ or "",
        large=(1_000_000, "rows of the large ledger"),
        small=(1_000, "rows of the small one"),
        rounds=(3, "times that the large one is read both ways"),
        mixed=(60_000, "rows of each kind of ledger, scored without reading a file"),
        rows=(2_000, "more rows, each in both"),
    ).parse_args()
    report = Report(f"scoring {asked.large:,} rows", f"a bare SELECT loop in pages of {PAGE:,}")
    with home() as large, home() as small:
        note(f"making {asked.large:,} rows")
        paths: tuple[Path, Path] = fill(large, asked.large), fill(small, asked.small)
        with closing(sqlite3.connect(paths[0])) as big, closing(sqlite3.connect(paths[1])) as little:
            taken, plain = [], []
            for number in range(asked.rounds):
                note(f"round {number + 1} of {asked.rounds}")
                plain.append(bare(big))
                seconds, posture = whole(big)
                taken.append(seconds)
            mine, other = percentile(taken, 0.5), percentile(plain, 0.5)
            report.add("all rows, median", mine, other, unit="s")
            report.add("rows a second", asked.large / mine, asked.large / other, unit="/s", bar="at least 100,000")
            _, few = whole(little)
            for kind in (PLAIN, REPEATED, DIFFERENT):
                note(kind)
                report.add(f"rows/s, {kind}", speed(kind, asked.mixed), None, unit="/s", bar="at least 100,000")
        note("one more row")
        more = [(one_more(posture, number), one_more(few, number)) for number in range(asked.rows)]
        report.times("one more row", [a for a, _ in more], [b for _, b in more], unit="µs", bars=("about 1x", ""))
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
