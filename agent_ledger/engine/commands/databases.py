"""Signatures: tables, keys and documents that a statement would lose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import names
from .run import Found, Run

_CLIENTS = names(
    """psql mysql mariadb sqlite3 sqlite duckdb sqlcmd bcp cqlsh clickhouse-client clickhouse snowsql isql tsql
    usql pgcli mycli litecli cockroach bq trino presto hive beeline impala-shell vertica vsql sqlplus db2
    influx psql-client litestream athena spark-sql d1 turso wrangler pscale"""
)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXTS = re.compile(r"'(?:[^']|'')*'")
_DROP = re.compile(
    r"\bdrop\s+(?:table|database|schema|view|materialized\s+view|index|user|role|keyspace|collection|function|owned|tablespace|column"
    r"|trigger|type|sequence|measurement|series|retention\s+policy)\b(?:\s+if\s+exists)?\s+[`\"\[]?([\w.$-]+)",
    re.IGNORECASE,
)
_TRUNCATE = re.compile(r"(?:^|;|\b(?:then|begin)\b)\s*truncate\s+(?:table\s+)?[`\"\[]?([\w.$-]+)", re.IGNORECASE)
_DELETE = re.compile(r"\bdelete\s+from\s+[`\"\[]?([\w.$-]+)(.*)", re.IGNORECASE | re.DOTALL)
_UPDATE = re.compile(r"\bupdate\s+(?:only\s+)?[`\"\[]?([\w.$-]+)[`\"\]]?\s+set\b(.*)", re.IGNORECASE | re.DOTALL)
_VERBS = ("drop", "truncate", "delete", "update")
"""One of these stands in every statement that loses something."""

_WHERE = re.compile(r"\b(?:where|limit|using)\b", re.IGNORECASE)
_TRUE = re.compile(r"\bwhere\s+(?:1\s*=\s*1|true|1)\s*$", re.IGNORECASE)
_MONGO = re.compile(
    r"\.\s*(dropDatabase|drop|dropIndexes|dropAllUsers|dropUser)\s*\(|\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\}\s*)?[,)]|dropDatabase"
)
_REDIS = names("flushall flushdb shutdown")


def client(run: Run) -> Iterator[Found]:
    """Statements in the arguments, and in what flows into the client."""
    for text in [*run.arguments, run.stdin.text or ""]:
        if len(text) > 8 and " " in text.strip():
            yield from statements(text.partition("=")[2] if text.startswith("--") else text)
    joined = " ".join(word for word in run.arguments if not word.startswith("-"))
    if joined not in run.arguments:
        yield from statements(joined)


def statements(text: str) -> Iterator[Found]:
    """What SQL statements would lose."""
    lowered = text.lower()
    if not any(verb in lowered for verb in _VERBS):
        return
    bare = _TEXTS.sub("''", _COMMENT.sub(" ", text[:65_536]))
    for statement in bare.split(";"):
        if len(statement) < 8:
            continue
        for match in _DROP.finditer(statement):
            yield "database-drop", "HIGH", "drops what a database holds", match[1]
        emptied = _TRUNCATE.search(statement)
        if emptied:
            yield "database-drop", "HIGH", "empties a table", emptied[1]
        deleted = _DELETE.search(statement)
        if deleted and (not _WHERE.search(deleted[2]) or _TRUE.search(deleted[2].strip())):
            yield "database-drop", "HIGH", "deletes every row of a table", deleted[1]
        changed = _UPDATE.search(statement)
        if changed and not _WHERE.search(changed[2]):
            yield "database-change", "MEDIUM", "changes every row of a table", changed[1]


def mongo(run: Run) -> Iterator[Found]:
    """Calls of the Mongo shell."""
    for text in [*run.arguments, run.stdin.text or ""]:
        match = _MONGO.search(text)
        if match:
            yield "database-drop", "HIGH", "drops or empties what a database holds", match[1] or ""


def redis(run: Run) -> Iterator[Found]:
    """Commands of Redis and its kin."""
    texts = [" ".join(run.arguments), *(run.stdin.text or "").split("\n")[:50]]
    for text in texts:
        words = [word.lower() for word in text.split()]
        if _REDIS & set(words):
            yield "database-drop", "HIGH", "empties a store, or stops it", ""
        elif {"script", "function", "config", "cluster"} & set(words) and {
            "flush",
            "resetstat",
            "reset",
            "forget",
        } & set(words):
            yield "database-change", "MEDIUM", "resets a store's settings", ""
        elif {"del", "unlink"} & set(words) and ("$INPUT" in text or "*" in text):
            yield "database-drop", "HIGH", "deletes many keys", ""


def dropper(run: Run) -> Iterator[Found]:
    """`dropdb`, `dropuser`, `mysqladmin drop`, `pg_restore --clean`."""
    words = [word for word in run.arguments if not word.startswith("-")]
    if run.name in ("dropdb", "dropuser", "pg_dropcluster") and "--help" not in run.arguments:
        yield "database-drop", "HIGH", "drops what a database holds", words[-1] if words else ""
    elif run.name == "mysqladmin" and "drop" in words:
        yield "database-drop", "HIGH", "drops what a database holds", words[-1]
    elif run.name in ("pg_restore", "mongorestore") and {"--clean", "-c", "--drop"} & set(run.arguments):
        yield "database-drop", "HIGH", "drops what is there before it restores", ""


_FRAMEWORKS = re.compile(
    r"(?:db|database)[:_-](?:drop|reset|wipe|purge|fresh|schema:load|migrate:reset|seed:replant)"
    r"|migrate:(?:fresh|reset|refresh)|sqlflush|flush|reset_db|doctrine:(?:database|schema):drop"
)


_RUNNERS = names(
    """rails rake php python python3 prisma npx artisan sequelize knex typeorm manage.py django-admin console mix diesel
    sqlx alembic flask"""
)


def framework(run: Run) -> Iterator[Found]:
    """`rails db:drop`, `php artisan migrate:fresh`, `manage.py flush`, `prisma migrate reset`."""
    words = [word for word in run.arguments if not word.startswith("-")][:4]
    joined = " ".join(words)
    if any(_FRAMEWORKS.fullmatch(word) and (word != "flush" or "manage.py" in joined) for word in words) or (
        re.search(r"\bmigrate reset\b|\bdb push .*--force-reset|\bschema drop\b", joined)
        or "--force-reset" in run.arguments
    ):
        yield "database-drop", "HIGH", "drops or empties the application's database", ""


SIGNATURES = {
    **dict.fromkeys(_CLIENTS, client),
    **dict.fromkeys(("mongosh", "mongo"), mongo),
    **dict.fromkeys(("redis-cli", "valkey-cli", "keydb-cli"), redis),
    **dict.fromkeys(("dropdb", "dropuser", "pg_dropcluster", "mysqladmin", "pg_restore", "mongorestore"), dropper),
    **dict.fromkeys(_RUNNERS, framework),
}
