"""Users whose disk refuses: how long they are left alone, and what is told of them."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.mailbox.owed_table import Owed
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.standing import MOST_PAUSE_S, RETRY_S, StandingUsers
from pyrepl.mailbox.store import DONE, Outcome, RemoveBox, Result, Work
from tests.unit.daemon.mailbox.test_driver import Heard

REFUSED = Result(Outcome.FAILED, "no")


class Rig:
    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.rows = SqliteRows(folder / "mailbox.db", 1 << 20, lambda: 1000.0)
        self.heard = Heard(folder)
        self.standing = StandingUsers(self.rows, self.heard, lambda: self.now)

    def owe(self, *boxes: str) -> list[Owed]:
        works: list[Work] = [RemoveBox("alice", box) for box in boxes]
        return [Owed(self.rows.put_owed(work), work) for work in works]


def test_each_try_that_fails_doubles_the_pause_and_a_reason_is_told_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    at = []
    for _ in range(8):
        rig.standing.stop("alice", "full", is_compared=True)
        at.append(rig.standing.users["alice"].at)
    assert at[:3] == [RETRY_S, 2 * RETRY_S, 4 * RETRY_S] and at[-1] == MOST_PAUSE_S
    assert rig.standing.due() == [] and rig.heard.refusals == ["alice: full"]
    rig.standing.stop("alice", "gone", is_compared=True)
    rig.now = MOST_PAUSE_S
    assert [user for user, _ in rig.standing.due()] == ["alice"]
    rig.standing.resume("alice")
    assert rig.heard.refusals == ["alice: full", "alice: gone", "alice goes on"]
    rig.rows.close()


def test_what_is_done_is_owed_no_more_and_what_stands_behind_a_failure_stays(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    owed = rig.owe("1" * 32, "2" * 32, "3" * 32)
    assert [each.place for each in owed] == sorted(each.place for each in owed)
    ended = rig.standing.tried("alice", owed, [DONE, REFUSED, REFUSED], are_all=True)
    assert [each.work for each in ended] == [owed[0].work] and rig.rows.owed("alice", 9) == owed[1:]
    assert rig.standing.users["alice"].is_compared
    rig.standing.tried("alice", owed[1:2], [DONE], are_all=False)
    assert list(rig.standing.users) == ["alice"], "there is more"
    rig.standing.tried("alice", owed[2:], [DONE], are_all=True)
    assert rig.standing.users == {} and rig.rows.owing() == {}
    rig.rows.close()


def test_who_could_not_be_compared_at_the_start_is_due_at_once_and_stays_until_that_is_done(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.standing.begin({"alice": "owed"})
    [(user, standing)] = rig.standing.due()
    assert (user, standing.is_compared) == ("alice", False)
    rig.standing.tried("alice", rig.owe("1" * 32), [DONE], are_all=True)
    assert list(rig.standing.users) == ["alice"] and rig.rows.owing() == {}
    rig.rows.close()
