"""The database's file: what survives, who may open it, and what an operator is told."""

from __future__ import annotations

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.database import VERSION, Database, DatabaseError


def _put(database: Database, origin: str) -> None:
    database.change("INSERT OR REPLACE INTO held VALUES (?, 1)", origin)


def _origins(database: Database) -> list[str]:
    return [origin for (origin,) in database.rows("SELECT origin FROM held ORDER BY origin")]


def test_what_was_put_is_seen_at_once_and_kept_by_a_commit(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")
    _put(database, "a")
    assert _origins(database) == ["a"]
    database.commit()
    _put(database, "b")
    database.close()
    assert _origins(Database(tmp_path / "db")) == ["a"]


def test_a_commit_without_changes_does_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")
    database.commit()
    database.commit()
    assert database.row("SELECT origin FROM held") is None


def test_a_close_waits_for_a_commit_in_another_thread(tmp_path: Path) -> None:
    for number in range(30):
        database = Database(tmp_path / f"db{number}")
        for origin in range(200):
            _put(database, f"{origin:03d}")
        committing = threading.Thread(target=database.commit)
        committing.start()
        while database.is_dirty and not database._committing.locked():
            pass
        database.close()
        committing.join()
        assert len(_origins(Database(tmp_path / f"db{number}"))) == 200


def test_a_commit_is_on_disk(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")
    assert database.row("PRAGMA synchronous") == (2,)
    assert database.row("PRAGMA journal_mode") == ("wal",)
    database.close()


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    Database(tmp_path / "db").close()
    assert stat.S_IMODE((tmp_path / "db").stat().st_mode) == 0o600


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")
    _put(database, "a")
    database.commit()
    with pytest.raises(DatabaseError, match="another process has it open"):
        Database(tmp_path / "db")
    database.close()
    Database(tmp_path / "db").close()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    Database(tmp_path / "db").close()
    with sqlite3.connect(tmp_path / "db") as other:
        other.execute(f"PRAGMA user_version={VERSION + 1}")
    other.close()
    with pytest.raises(DatabaseError, match="start the pyrepl that made it"):
        Database(tmp_path / "db")


def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"Subject: a mail\n" * 100)
    with pytest.raises(DatabaseError, match="is it another file"):
        Database(tmp_path / "db")
    assert (tmp_path / "db").read_bytes() == b"Subject: a mail\n" * 100


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="No such file or directory"):
        Database(tmp_path / "none" / "db")


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    database = Database(tmp_path / "db")
    _put(database, "a")
    database.commit()
    database.rows("PRAGMA max_page_count=1")
    with pytest.raises(DatabaseError, match="make room on the disk"):
        for number in range(100_000):
            _put(database, f"{number:0200}")
    with pytest.raises(DatabaseError, match="opened again"):
        _put(database, "b")
    database.close()
    assert _origins(Database(tmp_path / "db")) == ["a"]


def test_a_file_of_version_1_gets_what_was_added_since(tmp_path: Path) -> None:
    Database(tmp_path / "mailbox.db").close()
    with closing(sqlite3.connect(tmp_path / "mailbox.db")) as other:
        other.executescript(
            "DROP TABLE owed; DROP TABLE ahead; DROP TABLE aligned; DROP TABLE missing;"
            "ALTER TABLE cluster DROP COLUMN fresh; ALTER TABLE cluster DROP COLUMN put_back;"
            "PRAGMA user_version=1"
        )
    again = Database(tmp_path / "mailbox.db")
    for added in ("owed", "ahead", "aligned", "missing"):
        assert again.rows(f"SELECT * FROM {added}") == []
    assert again.row("PRAGMA user_version") == (VERSION,)
    again.close()
