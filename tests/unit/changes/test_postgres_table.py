"""Facts in a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pyrepl.changes.postgres_table import PostgresTable
from pyrepl.changes.table import Table, TableError
from tests.peers.postgres import Postgres
from tests.unit.changes.tables import every_check


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """An empty database."""
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS facts WITH (FORCE)")
        db.execute("CREATE DATABASE facts")
    yield postgres.url.removesuffix("/postgres") + "/facts"


@every_check
def test_as_every_table(check: Callable[[Table], None], url: str) -> None:
    table = PostgresTable(url)
    check(table)
    table.close()


def test_two_nodes_draw_different_ids_and_see_each_other(url: str) -> None:
    one, two = PostgresTable(url), PostgresTable(url)
    ids = [table.next_ids("s", 1)[0] for _ in range(20) for table in (one, two)]
    assert sorted(set(ids)) == list(range(1, 41))
    two.set_position("s", "b", 7)
    assert one.positions() == {"s": {"b": 7}}
    one.close()
    two.close()


def test_a_lost_connection_is_opened_again(url: str) -> None:
    table = PostgresTable(url)
    table.add("s", "a", 1, ("1",))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'facts' AND pid <> pg_backend_pid()"
        )
    with pytest.raises(TableError, match="terminating connection"):
        table.last_of("s", "a")
    assert table.last_of("s", "a") == 1
    table.close()


def test_a_string_that_is_none_shows_no_password() -> None:
    for text in ("postgresql://me:secret@host:secret/db?secret=1", "host=x password=a secret"):
        with pytest.raises(TableError, match="expected postgresql://") as caught:
            PostgresTable(text)
        assert "secret" not in str(caught.value)


def test_nobody_there() -> None:
    with pytest.raises(TableError, match="PostgreSQL: ") as caught:
        PostgresTable("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
