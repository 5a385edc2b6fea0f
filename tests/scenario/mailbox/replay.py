r"""Transcripts, replayed: what is said now by nodes to which the same happens.

    # text             a comment, and the lines of the specification (spec_lines.py)
    nodes ab           the members; `nodes abw w` makes w a witness; `nodes ab refuse`: who is apart gives out nothing
    mailbox, mail      what the nodes have at first (beginnings.py), until
    begins ..          the nodes start and elect a root; nothing of that is written
    shows SYNC         verbs that are shown as well; `hides SYNC` ends that
    @ 1.5              so many seconds pass
    ! cut a b          cut, link, crash, start, and hold or release what is said in one direction (`! hold c>b`): what
                       arrives then is written once more
    ! start b w        b starts and is linked to w alone; `! start b`: to all
    ! dies b           b dies the next time between its store's works and the commit of its rows
    ! look             what clients see now
    m1>a 1 LOCK ..     a mail process says a line
    a>b * TAKE ..      what nodes say, each behind what made them say it
    = a INBOX ..       what clients see

Another `nodes` begins anew. The notation of the lines is in cluster.py.
"""

from __future__ import annotations

from typing import Final, final

from tests.scenario.mailbox.beginnings import Beginning
from tests.scenario.mailbox.cluster import Cluster
from tests.scenario.mailbox.spec_lines import is_said, unmet

ELECTED_S: Final = 4.0
"""So long after the start there is a root that everybody has cleared."""
_BEGINNING: Final = ("mailbox", "mail", "guid", "begins")


def replayed(text: str) -> str:
    """The transcript with what nodes say now."""
    replay = _Replay()
    for line in text.splitlines():
        replay.read(line)
    return replay.end()


def rewritten(text: str) -> str:
    """The same, to be kept instead. AssertionError if a line of the specification is not met then."""
    new = replayed(text)
    wrong = unmet(new)
    assert not wrong, "\n".join(["nothing is written:", *wrong])
    return new


@final
class _Replay:
    """The transcript as far as it was read."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._nodes: list[str] = []
        self._beginning = Beginning()
        self._out: Final[list[str]] = []
        self._new: list[str] = []
        """What was said since the last thing that happened, and is not written yet."""
        self._notes: list[str] = []
        """Comments above a line that is still to come."""

    def read(self, line: str) -> None:
        if not line or line.startswith("#"):
            self._notes.append(line)
        elif line.startswith("= ") or (is_said(line) and not line.startswith("m")):
            self._follow(line)
        else:
            self._write_new()
            self._happen(line)

    def end(self) -> str:
        self._write_new()
        return "\n".join(self._out) + "\n"

    def _follow(self, old: str) -> None:
        """A line as it was said before: comments above it stay above it, or above the first that they fit."""
        fits = [at for at, line in enumerate(self._new) if line == old]
        if not fits and self._notes:
            fits = [at for at, line in enumerate(self._new) if not unmet("\n".join([*self._notes, line]))]
        if fits:
            before, self._new = self._new[: fits[0]], self._new[fits[0] :]
            self._out.extend([*before, *self._notes, self._new.pop(0)])
            self._notes = []

    def _write_new(self) -> None:
        self._out.extend([*self._new, *self._notes])
        self._new, self._notes = [], []

    def _happen(self, line: str) -> None:
        """Something happens, or a mail process says something, which is written as it is."""
        self._out.append(line)
        first, *rest = line.split()
        if first == "nodes":
            self._nodes, self._beginning, self._cluster = rest, Beginning(), None
        elif first in _BEGINNING:
            self._beginning.read(line)
        elif is_said(line):
            self._begun().say(line)
            self._new = self._begun().said()[1:]
        else:
            _pass(self._begun(), first, rest)
            self._new = self._begun().said()

    def _begun(self) -> Cluster:
        """The nodes, which start when something happens to them for the first time."""
        if self._cluster is None:
            names, *words = self._nodes
            witnesses = "".join(word for word in words if word != "refuse")
            is_accepting = "refuse" not in words
            begins = self._beginning
            self._cluster = Cluster(names, witnesses, accept=is_accepting, beginning=begins, counts=True)
            self._cluster.run(ELECTED_S)
            self._cluster.said()
        return self._cluster


def _pass(cluster: Cluster, first: str, words: list[str]) -> None:
    """Time passes, something happens, or other lines are shown from now on."""
    if first == "shows":
        cluster.shows.update(words)
    elif first == "hides":
        cluster.shows.difference_update(words)
    elif first == "@":
        cluster.run(float(words[0]))
    else:
        assert first == "!", f"{first} is nothing that a transcript has"
        _happens(cluster, *words)


def _happens(cluster: Cluster, what: str, *words: str) -> None:
    if what == "hold":
        cluster.held.update(words)
    elif what == "release":
        cluster.release(*words)
    elif what == "cut":
        cluster.cut(*words)
    elif what == "link":
        cluster.link(*words)
    elif what == "dies":
        cluster.dies.update(words)
    elif what == "crash":
        cluster.crash(*words)
    elif what == "look":
        cluster.lines += cluster.states()
    else:
        assert what == "start", f"! {what} is nothing that happens"
        cluster.start(*words)
