"""The Maildir store and a kill -9 at any moment, on a real disk, with a Dovecot that looks after each."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.fault.mailbox_adder import STEP, open_store
from tests.house.source import ROOT
from tests.peers.dovecot import Dovecot, owner
from tests.peers.lab import die_with_parent, wait_until

KILLS = 15


def _add_until_killed(root: Path, first: int, lines: int) -> int:
    """Let it tell so many messages as done, kill it, and give the last one that was."""
    command = [sys.executable, "-m", "tests.fault.mailbox_adder", str(root), str(first)]
    adder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
    assert adder.stdout is not None
    said = b""
    while said.count(b"\n") < lines:
        piece = os.read(adder.stdout.fileno(), 100)
        assert piece, f"it ended with {adder.wait()}"
        said += piece
    adder.send_signal(signal.SIGKILL)
    said += adder.stdout.read()
    adder.stdout.close()
    assert adder.wait() == -signal.SIGKILL
    return int(said[: said.rindex(b"\n")].splitlines()[-1])


def _seen(dovecot: Dovecot) -> dict[int, str]:
    imap = dovecot.imap()
    imap.select("INBOX")
    _, answers = imap.uid("FETCH", "1:*", "(X-GUID)")
    imap.logout()
    found = (re.search(rb"UID (\d+) X-GUID \"?([^\" )]+)", line) for line in answers if isinstance(line, bytes))
    return {int(said[1]): said[2].decode() for said in found if said}


def _seen_with(dovecot: Dovecot, guids: set[str]) -> dict[int, str]:
    """What it shows once these are there. A message whose file came back after its line was taken for an expunged one's
    is shown by no look before the second."""
    seen: dict[int, str] = {}

    def has_all() -> bool:
        seen.clear()
        seen.update(_seen(dovecot))
        return guids <= set(seen.values())

    wait_until("the Dovecot shows all that was told as done", has_all)
    return seen


def _wanted(number: int) -> dict[int, str]:
    """What a message is in the end; nothing if it went."""
    uid = number * STEP + (STEP // 2 if number % 3 == 0 else 0)
    return {} if number % 5 == 0 else {uid: f"G{number}"}


def _as_dovecot_has_it(done: dict[int, str], seen: dict[int, str], first: int) -> dict[int, str]:
    """The first message of a run was under way at the kill before. If its line was there then and its file was not, the
    Dovecot that looked had an expunged message, and gave another UID to the file that came later."""
    guid = f"G{first}"
    given = {uid: guid for uid in seen if uid >= first * STEP and seen[uid] == guid}
    if guid not in done.values() or len(given) != 1:
        return done
    return {uid: other for uid, other in done.items() if other != guid} | given


def test_killed_at_any_moment() -> None:
    chance = random.Random(3)
    with Dovecot() as dovecot:
        root = dovecot.maildirs
        _give(root, os.geteuid(), os.getegid())
        open_store(root, is_new=True)
        done: dict[int, str] = {}
        last = 0
        for _ in range(KILLS):
            first = last + 1
            said = _add_until_killed(root, first, chance.randrange(1, 25))
            for number in range(first, said + 1):
                done |= _wanted(number)
            last = said
            _give(root, owner().pw_uid, owner().pw_gid)
            seen = _seen_with(dovecot, set(done.values()))
            done = _as_dovecot_has_it(done, seen, first)
            under_way = {uid: guid for uid, guid in seen.items() if uid not in done}
            assert {uid: guid for uid, guid in seen.items() if uid in done} == done
            assert set(under_way.values()) <= {f"G{last + 1}"}, "no message has a UID or a GUID of Dovecot's making"
            assert all(uid in ((last + 1) * STEP, (last + 1) * STEP + STEP // 2) for uid in under_way)
            _give(root, os.geteuid(), os.getegid())
        assert "Corrupted" not in dovecot.log() and "Error" not in dovecot.log(), dovecot.log()


def _give(root: Path, uid: int, gid: int) -> None:
    """Let all of it belong to a user: to the Dovecot of a root's test, and back."""
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names, ""):
            os.chown(Path(folder, name), uid, gid, follow_symlinks=False)
