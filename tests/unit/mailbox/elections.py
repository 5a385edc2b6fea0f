"""Several roots on one clock, and links that can be cut: for the tests of elections."""

from __future__ import annotations

from pyrepl.mailbox.answers import No, Ok
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.root import Root, RootOptions
from pyrepl.mailbox.root_states import RootState
from pyrepl.mailbox.rows import ClusterRow
from pyrepl.mailbox.verbs import RootClear, RootSet


class Elections:
    """All members, each with a clock that is right; messages take no time. Keepers are clear at once."""

    def __init__(self, names: str = "abc", witnesses: str = "", options: RootOptions | None = None) -> None:
        self.members = Members(tuple(Member(name, name in witnesses) for name in names))
        self.now = 0.0
        self.options = options or RootOptions()
        self.cut: set[frozenset[str]] = set()
        self.dead: set[str] = set()
        self.said: list[str] = []
        self.up: set[frozenset[str]] = set()
        """Links that both ends know of."""
        self.roots = {name: self.made(name, ClusterRow()) for name in names}

    def made(self, name: str, row: ClusterRow) -> Root:
        return Root(name, self.members, row, self.now, self.options)

    def restart(self, name: str) -> None:
        self.dead.discard(name)
        self.roots[name] = self.made(name, self.roots[name].row)
        self._lose({pair for pair in self.up if name in pair}, name)

    def reaches(self, one: str, other: str) -> bool:
        return frozenset((one, other)) not in self.cut and not {one, other} & self.dead

    def _link(self) -> None:
        """Both ends of each link learn of what became of it."""
        there = {frozenset((one, other)) for one in self.roots for other in self.roots if one < other}
        there = {pair for pair in there if self.reaches(*pair)}
        self._lose(self.up - there)
        for pair in sorted(there - self.up, key=sorted):
            self.up.add(pair)
            one, other = sorted(pair)
            self.roots[one].link_up(other, self.now)
            self.roots[other].link_up(one, self.now)

    def _lose(self, pairs: set[frozenset[str]], but: str = "") -> None:
        for pair in pairs:
            self.up.discard(pair)
            one, other = sorted(pair)
            for mine, peer in ((one, other), (other, one)):
                if mine not in self.dead and mine != but:
                    self.roots[mine].link_down(peer)

    def isolate(self, name: str) -> None:
        self.cut |= {frozenset((name, other)) for other in self.roots if other != name}

    def heal(self) -> None:
        self.cut.clear()

    def deliver(self) -> None:
        """All that is said, and what is said about that."""
        busy = True
        while busy:
            busy = False
            for name, root in self.roots.items():
                for send in root.to_send():
                    busy = True
                    if self.reaches(name, send.peer):
                        self.said.append(f"{name}>{send.peer} {send.command.VERB} {' '.join(send.command.words())}")
                        self._hear(name, self.roots[send.peer], send.tag, send.command)

    def _hear(self, sender: str, root: Root, tag: str, command: object) -> None:
        if isinstance(command, Ok | No):
            root.answered(sender, tag, command, self.now)
            return
        assert not isinstance(command, Ok | No)
        root.hear(sender, tag, command, self.now)  # type: ignore[arg-type]
        if isinstance(command, RootSet) and root.root and root.name in self.members.keepers:
            root._out.append(_clear(root))

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + 0.1)
            self._link()
            for name, root in self.roots.items():
                if name not in self.dead:
                    root.tick(self.now)
                    if root.state is RootState.COLLECTING and root.name in self.members.keepers:
                        root.cleared.add(root.name)
            self.deliver()

    def ready(self) -> list[str]:
        """Who may have masterships of its own: never more than one."""
        return [name for name in self.rulers() if self.roots[name].state is RootState.ROOT]

    def rulers(self) -> list[str]:
        """Who is the root and has a lease."""
        alive = (name for name in self.roots if name not in self.dead)
        return [name for name in alive if self.roots[name].is_root and self.roots[name].has_lease(self.now)]


def _clear(root: Root):  # type: ignore[no-untyped-def]
    from pyrepl.mailbox.sending import Send

    return Send(root.root, RootClear(epoch=root.epoch, node=root.name))
