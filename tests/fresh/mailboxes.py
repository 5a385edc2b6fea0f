"""The step `mailboxes`: docs/mailboxes.md as a new operator follows it, on two machines that have nothing of ours.

The commands are those of the page, block by block; the comment above each says on which machine it is run. They install
the files of conf/ as those are. What is done here besides is what users do, and the loss of a machine: each in turn
dies with its disk, the other goes on, and a bare machine takes its place as the page says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.documents.blocks import ROOT, SHELL, Block, blocks
from tests.fresh.machine import NEEDED, CommandFailed, Machine
from tests.fresh.root import run
from tests.peers.lab import wait_until

PAGE: Final = ROOT / "docs" / "mailboxes.md"
ADDRESSES: Final = {"a": "10.0.0.1", "b": "10.0.0.2"}
ALICE: Final = "alice@example.org"
BOB: Final = "bob@example.org"
"""He has mail before pyrepl comes, she has none."""
SOME_SECONDS: Final = 60.0
BASE: Final = ("Dovecot", "pyrepl")
FIRST_TIME: Final = ("Users", "Mail")
BESIDES: Final = ("Deliveries that no single machine can lose", "Clients that go from node to node")
LOST: Final = "When a machine is lost"
SECTIONS: Final = (*BASE, *FIRST_TIME, *BESIDES, LOST)
"""Of the page."""
MICROSECONDS: Final = 10**15
"""Since 1970: a number of changes that is larger is a time, as the check gives it."""

_READY: Final = f"""
apt-get -q update
apt-get -q install -y --no-install-recommends {NEEDED}
truncate -s 0 /etc/machine-id
printf 'APT::Get::Assume-Yes "true";\\nAPT::Install-Recommends "false";\\n' >/etc/apt/apt.conf.d/90-operator
install -d -m 700 /root/.ssh
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
echo 'StrictHostKeyChecking no' >/root/.ssh/config
"""
"""A bare root becomes one that boots. Its operator says yes to apt, and may go from one machine to the other."""
_ONLINE: Final = re.compile(r"\b(?:apt-get|pip) install\b")
_WHERE: Final = re.compile(
    r"on (both|the first|the second|the new one)(, in some seconds)?; `make fresh STEPS=mailboxes`.*"
)
_HEADING: Final = re.compile(r"^#{2,4} (.*)$", re.MULTILINE)
AS_SECOND: Final = ("node=b here=10.0.0.2 other=10.0.0.1", "node=a here=10.0.0.1 other=10.0.0.2")
"""What the page says that is to be written otherwise where the first machine was lost."""


class Step(NamedTuple):
    """A block of the page: on which machines, whether until it succeeds, and the commands."""

    where: str
    is_awaited: bool
    script: str


def section(text: str, title: str) -> list[Step]:
    """What there is to do below a heading. Raises ValueError if there is nothing, or if it is not said where."""
    parts = _HEADING.split(text)
    steps = [_step(block) for block in blocks(parts[parts.index(title) + 1]) if block.language in SHELL]
    if not steps:
        raise ValueError(f"nothing to do in {title}")
    return steps


def _step(block: Block) -> Step:
    said = _WHERE.fullmatch(block.said)
    if not said:
        raise ValueError(f"on which machine? {block.text}")
    return Step(said[1], bool(said[2]), block.text)


class Operator:
    """Follows the page, and does what users do. `machines` are those that run, by the name of their node."""

    def __init__(self, ready: Path, log: Path) -> None:
        """`ready` is a root that boots, with a checkout; machines are copies of it beside it."""
        self._ready, self._log = ready, log
        self._page = PAGE.read_text()
        self._began = time.monotonic()
        self.machines: dict[str, Machine] = {}

    def tell(self, text: str) -> None:
        """A line in the log, with the seconds since the beginning."""
        with self._log.open("a") as out:
            out.write(f"=== {time.monotonic() - self._began:.0f} s: {text}\n")

    def bring(self, name: str) -> None:
        """A bare machine, at the address of this node, with a cable to the other if that runs."""
        root = self._root(name)
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(self._ready), str(root)], check=True)
        self.machines[name] = new = Machine(root, name, self._log)
        for other, machine in self.machines.items():
            if other != name:
                machine.connect(new, ADDRESSES[other], ADDRESSES[name])

    def _root(self, name: str) -> Path:
        return self._ready.with_name(f"{self._ready.name}-{name}")

    def lose(self, name: str) -> None:
        """The machine dies; the next of this name has nothing of its disk. Its journal is in the log."""
        machine = self.machines.pop(name)
        _succeeds(machine, "journalctl --quiet --no-pager --unit pyrepl --unit dovecot")
        machine.lose()

    def close(self) -> None:
        """All machines are gone, with their disks."""
        for name in [*self.machines]:
            self.lose(name)
        for name in ADDRESSES:
            shutil.rmtree(self._root(name), ignore_errors=True)

    def follow(self, title: str, **roles: str) -> None:
        """Do what a section says, block after block. `roles` has the node that is `first`, `second` or `new`.

        Blocks for a role that no node has now are left out. Raises CommandFailed.
        """
        self.tell(title)
        for step in section(self._page, title):
            words = step.where.split()
            names = [*roles.values()] if step.where == "both" else [roles[word] for word in words if word in roles]
            for name in names:
                self._do(self.machines[name], step, name)

    def _do(self, machine: Machine, step: Step, name: str) -> None:
        script = step.script.replace(*AS_SECOND) if name == "a" else step.script
        if not step.is_awaited:
            machine.run(script, is_online=bool(_ONLINE.search(script)))
            return
        wait_until(f"{name}# {script}", lambda: _succeeds(machine, script), SOME_SECONDS, every_s=0.5)

    def mail(self, name: str, *words: str) -> str:
        """What a user's mail program does at this node; what it printed. Raises CommandFailed."""
        quoted = " ".join(f"'{word}'" for word in words)
        return self.machines[name].run(f"python3 tests/fresh/mail.py {quoted}")

    def await_mail(self, user: str, subjects: Sequence[str]) -> str:
        """Until the user sees these mails at all machines, with equal UIDs and flags; what that is."""

        def is_there() -> bool:
            shown = {self.mail(name, "show", user) for name in self.machines}
            return len(shown) == 1 and [line.split("Subject: ")[1] for line in shown.pop().splitlines()] == [*subjects]

        wait_until(f"{user} has {subjects} at {[*self.machines]}", is_there, SOME_SECONDS, every_s=0.2)
        return self.mail(next(iter(self.machines)), "show", user)


def _succeeds(machine: Machine, script: str) -> bool:
    with suppress(CommandFailed):
        machine.run(script)
        return True
    return False


def trouble(root: Path, log: Path) -> str:
    """Play it all, with copies of this root, which has a checkout; what went wrong, empty if nothing did.

    Raises LabError, SubprocessError, OSError.
    """
    if status := run(root, _READY, log):
        return f"FAILED ({status}): the root does not become a machine"
    operator = Operator(root, log)
    try:
        _play(operator)
    except AssertionError as error:
        return f"FAILED: {error}"
    finally:
        operator.close()
    return ""


def _play(operator: Operator) -> None:
    """Two machines, then one after the other is lost. Raises AssertionError."""
    for name in ADDRESSES:
        operator.bring(name)
    operator.follow("Dovecot", first="a", second="b")
    old = _mail_of_before(operator)
    for title in ("pyrepl", *FIRST_TIME):
        operator.follow(title, first="a", second="b")
    assert operator.await_mail(BOB, ["one", "two"]) == old, "mail that was there before is as it was"
    there: list[str] = []
    _use(operator, "save", there)
    for title in BESIDES:
        operator.follow(title, first="a", second="b")
    _use(operator, "deliver", there)
    _see_the_check(operator)
    for lost, left in ("ba", "ab"):
        _lose(operator, lost, left, there)
        _replace(operator, lost, there)
        assert operator.await_mail(BOB, ["one", "two"]) == old
        _use(operator, "deliver", there)
        operator.follow("Mail", first="a", second="b")
        _see_the_check(operator)
    operator.tell("done")


def _mail_of_before(operator: Operator) -> str:
    """A machine without pyrepl has mail of one user; what he sees."""
    operator.machines["a"].run("systemctl start dovecot")
    for subject in ("gone", "one", "two"):
        operator.mail("a", "save", BOB, subject)
    operator.mail("a", "expunge", BOB, "1")
    operator.mail("a", "flag", BOB, "3", "\\Flagged")
    shown = operator.mail("a", "show", BOB)
    operator.machines["a"].run("systemctl stop dovecot")
    return shown


def _use(operator: Operator, verb: str, there: list[str]) -> None:
    """Mail comes in by `verb`, is flagged and expunged on each machine, and all of it is on both. She has `there`."""
    for name in ADDRESSES:
        operator.tell(f"mail at {name}")
        there += [f"{len(there)} at {name}", f"{len(there) + 1} to be expunged"]
        for subject in there[-2:]:
            operator.mail(name, verb, ALICE, subject)
        newest = [line.split()[0] for line in operator.await_mail(ALICE, there).splitlines()]
        other = next(each for each in ADDRESSES if each != name)
        operator.mail(other, "expunge", ALICE, newest[-1])
        operator.mail(other, "flag", ALICE, newest[-2], "\\Seen")
        there.pop()
        assert "\\Seen" in operator.await_mail(ALICE, there).splitlines()[-1]


def _see_the_check(operator: Operator) -> None:
    """The script that runs before each session has given the mailbox a number above all others."""
    for name in ADDRESSES:
        assert int(operator.mail(name, "modseq", ALICE)) > MICROSECONDS, name


def _lose(operator: Operator, lost: str, left: str, there: list[str]) -> None:
    """A machine dies with its disk right after a mail that both have; mail goes on at the other."""
    operator.mail(lost, "save", ALICE, f"last at {lost}")
    there.append(f"last at {lost}")
    operator.await_mail(ALICE, there)
    operator.tell(f"{lost} dies")
    operator.lose(lost)
    operator.mail(left, "save", ALICE, f"without {lost}")
    operator.tell(f"mail at {left}, without {lost}")
    there.append(f"without {lost}")
    operator.await_mail(ALICE, there)


def _replace(operator: Operator, lost: str, there: list[str]) -> None:
    """A bare machine takes the place of the one that was lost."""
    operator.bring(lost)
    for title in BASE:
        operator.follow(title, second=lost)
    operator.follow(LOST, new=lost)
    for title in (*BESIDES, "Mail"):
        operator.follow(title, second=lost)
    operator.tell(f"{lost} is back")
    operator.await_mail(ALICE, there)
