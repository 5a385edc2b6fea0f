"""What becomes of gates when the daemon is gone."""

from __future__ import annotations

import base64

import pytest

from pyrepl.mailbox.gatekeeping import LOOK_S, TRY_S, Gatekeeping
from pyrepl.mailbox.uids import UidBlocks

GATE = b"/mail/alice"


class Files:
    """One gate, as files would have it."""

    def __init__(self) -> None:
        self.is_shut = False
        self.is_busy = False
        self.is_there = True
        self.is_full = False
        self.next_uid = 5

    def shut(self, gate: bytes) -> bool:
        if not self.is_there:
            raise FileNotFoundError(2, "gone", gate)
        if self.is_full:
            raise OSError(28, "no space", gate)
        self.is_shut |= not self.is_busy
        return not self.is_busy

    def open(self, gate: bytes) -> None:
        self.is_shut = False

    def part(self, gate: bytes, blocks: UidBlocks, place: int) -> bool:
        if self.is_full:
            return False
        self.next_uid = blocks.first(self.next_uid, place)
        return True


class Rig:
    """A keeper that was told of its gate."""

    def __init__(self, *, is_open: bool, orphaned: bytes = b"apart 20000 100000 2 1") -> None:
        self.files = Files()
        self.files.is_shut = not is_open
        self.keeper = Gatekeeping(self.files)
        self.keeper.hear(orphaned)
        self.keeper.hear((b"open " if is_open else b"shut ") + base64.b64encode(GATE))


def test_while_there_is_a_daemon_nothing_is_done() -> None:
    rig = Rig(is_open=True)
    rig.keeper.tick(1e9)
    assert not rig.files.is_shut and not rig.keeper.is_over and rig.keeper.next_s() == LOOK_S


def test_a_dovecot_that_works_is_waited_for() -> None:
    rig = Rig(is_open=True)
    rig.files.is_busy = True
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert not rig.files.is_shut and rig.keeper.next_s() == TRY_S
    rig.files.is_busy = False
    rig.keeper.tick(100.1)
    assert rig.files.is_shut and rig.keeper.next_s() == LOOK_S


def test_a_daemon_that_comes_takes_over() -> None:
    rig = Rig(is_open=True)
    rig.keeper.daemon_gone(100.0)
    rig.keeper.daemon_came()
    rig.keeper.tick(1e9)
    assert not rig.files.is_shut and not rig.keeper.is_over


def test_if_none_comes_dovecot_goes_on_with_uids_that_nobody_else_gives_out() -> None:
    rig = Rig(is_open=False)
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(119.9)
    assert rig.files.is_shut and rig.files.next_uid == 5
    rig.keeper.tick(120.0)
    assert not rig.files.is_shut and rig.files.next_uid == 100_005 and rig.keeper.is_over


def test_uids_of_a_gate_that_could_not_be_shut_are_a_dovecots() -> None:
    rig = Rig(is_open=True)
    rig.files.is_busy = True
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(120.0)
    assert rig.files.next_uid == 5 and rig.keeper.is_over


def test_or_waits_for_one_for_good() -> None:
    rig = Rig(is_open=False, orphaned=b"wait")
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(1e9)
    assert rig.files.is_shut and not rig.keeper.is_over


@pytest.mark.parametrize("is_open", [True, False])
def test_at_a_farewell_all_gates_go(is_open: bool) -> None:
    rig = Rig(is_open=is_open)
    rig.keeper.hear(b"bye")
    assert not rig.files.is_shut and rig.keeper.is_over and rig.files.next_uid == 5


def test_a_mailbox_that_was_removed_is_forgotten() -> None:
    rig = Rig(is_open=True)
    rig.files.is_there = False
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert rig.keeper.gates == {}


def test_a_gate_whose_next_uid_cannot_be_raised_stays_shut_until_it_can() -> None:
    """As on a full disk: its Dovecot would give out UIDs that another node gives out."""
    rig = Rig(is_open=False)
    rig.files.is_full = True
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(121.0)
    assert rig.files.is_shut and not rig.keeper.is_over and rig.keeper.next_s() == LOOK_S
    rig.files.is_full = False
    rig.keeper.tick(122.0)
    assert not rig.files.is_shut and rig.keeper.is_over and rig.files.next_uid > 5


def test_a_gate_that_cannot_be_shut_as_the_disk_is_full_is_shut_when_there_is_room() -> None:
    rig = Rig(is_open=True)
    rig.files.is_full = True
    rig.keeper.daemon_gone(100.0)
    rig.keeper.tick(100.0)
    assert not rig.files.is_shut and rig.keeper.next_s() == TRY_S
    rig.files.is_full = False
    rig.keeper.tick(100.1)
    assert rig.files.is_shut and rig.keeper.next_s() == LOOK_S
