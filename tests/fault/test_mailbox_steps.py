"""A node that is killed, or stands still for longer than its lease, before each step that it takes on files while a
message is saved: there is one copy, and one UID, on all nodes. stops.py kills, and stops.

One copy is one file in the whole Maildir, and none besides it: `MailboxCluster.wait_equal` looks. Where a text lies in
the drop folder at the kill, one may lie there until the next start.

CI does so at some of the steps, `make matrix` at all of them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Final, final

import psutil
import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError, Saved
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.fault.stops import Stop
from tests.peers.lab import Lab, wait_until

FEW: Final = 8
"""Every so manieth step is one of CI's."""
TEXT: Final = b"a line\r\n" * 500


@final
class Saving:
    """A mail process that saves one message, and waits until all nodes have it; `saved` is None where it was not told
    that it is, and `is_done` false where it was not told of all nodes."""

    def __init__(self, client: MailboxClient, text: bytes) -> None:
        self.text: Final = text
        self.saved: Saved | None = None
        self.is_done = False
        self._client = client
        self._thread = threading.Thread(target=self._save, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _save(self) -> None:
        try:
            self.saved = self._client.append(USER, "INBOX", self.text)
            self._client.check()
            self.is_done = True
        except (OSError, MailboxError):
            return

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


@final
class Steps:
    """Three nodes, of which b is stopped while a mail process saves a message on the node `writer`."""

    def __init__(self, lab: Lab, writer: str) -> None:
        self.writer = writer
        self.cluster = MailboxCluster(lab)
        self.cluster.start("a", "c")
        self.stop = self._start_b()
        self.cluster.client("a").create(USER, "INBOX")
        self.known: dict[bytes, int] = {}
        """Of all messages so far: their UIDs."""
        self.count = 0

    def _start_b(self) -> Stop:
        """With a new Stop."""
        stop = Stop(self.cluster.lab.folder / f"{len(self.cluster.lab.nodes)}.stop")
        node = self.cluster.launch("b", stop.program())
        node.wait_ready()
        for other in "ac":
            node.wait_log(f"The mailbox node {other} at")
        return stop

    def _saving(self, name: str) -> Saving:
        self.count += 1
        return Saving(self.cluster.client(name), b"Subject: %d\r\n\r\n" % self.count + TEXT)

    def killed_at(self, step: int) -> bool:
        """False if the message is saved in fewer steps."""
        b = self.cluster.nodes["b"]
        saving = self._saving(self.writer)
        self.stop.arm(step)
        saving.start()
        if not self._comes_to(step, saving):
            return False
        wait_until("b is dead", lambda: not b.alive())
        saving.join()
        self.stop = self._start_b()
        self._check(saving)
        return True

    def frozen_at(self, step: int) -> bool:
        """The same with a b that goes on when the others have saved something without it."""
        b = psutil.Process(self.cluster.nodes["b"].process.pid)
        saving, meanwhile = self._saving(self.writer), self._saving("a")
        at = self.stop.steps + step
        self.stop.arm(at, freeze=True)
        saving.start()
        if not self._comes_to(at, saving):
            # What is left to do behind the message may have as many steps.
            self.stop.arm(0, freeze=True)
            b.send_signal(signal.SIGCONT)
            return False
        wait_until("b stands still", lambda: _is_frozen(b))
        meanwhile.start()
        meanwhile.join()
        b.send_signal(signal.SIGCONT)
        saving.join()
        assert meanwhile.saved is not None
        self._check(saving, meanwhile)
        self.cluster.wait_nothing_dropped()
        return True

    def start_again(self) -> None:
        """b ends in order and starts, and there is all that was there, and nothing besides."""
        self.cluster.nodes["b"].terminate()
        self.stop = self._start_b()
        self._check()
        self.cluster.wait_nothing_dropped()

    def _comes_to(self, step: int, saving: Saving) -> bool:
        """Does b come to this step before it is saved? That b is dead then shows later: its connections end
        first, and the others save without it."""
        wait_until("it is saved, or b is stopped", lambda: self.stop.steps >= step or saving.is_done)
        return self.stop.steps >= step

    def _check(self, *savings: Saving) -> None:
        uids = {uid: text for uid, (_, text) in self.cluster.wait_equal().items()}
        texts = {text: uid for uid, text in uids.items()}
        assert len(texts) == len(uids), "a message is there twice"
        assert self.known.items() <= texts.items(), "a message is gone, or has another UID"
        for saving in savings:
            if saving.saved is not None:
                # From a b that stood still the others took the mailbox over: what b alone had gets a UID of theirs.
                assert texts[saving.text] == saving.saved.uid or not saving.saved.acks
        self.known = texts


def _is_frozen(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_STOPPED)


def killed_at_every(steps: Steps, by: int) -> int:
    """At every so manieth step, and what lies there after a start in order; how many there are."""
    count = every(steps.killed_at, by)
    steps.start_again()
    return count


def every(how: Callable[[int], bool], by: int) -> int:
    """Do it at every so manieth step; how many there are."""
    step = 1
    while how(step):
        step += by
    return step - 1


WRITERS = pytest.mark.parametrize("writer", ["a", "b"], ids=["told", "tells"])


@WRITERS
def test_killed_at_some_steps(lab: Lab, writer: str) -> None:
    assert killed_at_every(Steps(lab, writer), FEW) > 0


@WRITERS
def test_stands_still_at_some_steps(lab: Lab, writer: str) -> None:
    assert every(Steps(lab, writer).frozen_at, FEW) > 0


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@WRITERS
def test_killed_at_every_step(lab: Lab, writer: str) -> None:
    assert killed_at_every(Steps(lab, writer), 1) > 3


@pytest.mark.matrix
@pytest.mark.timeout(1800)
@WRITERS
def test_stands_still_at_every_step(lab: Lab, writer: str) -> None:
    assert every(Steps(lab, writer).frozen_at, 1) > 3
