"""Who is the root: elections in epochs, and the leases of root and members.

Not here: masterships (tracker.py), which end with the epoch in which they were given. The states and the reason for
them are in root_states.py, how leases are counted in leases.py.

What is asked of the shell: `row` is on disk before anything that is taken by `to_send()` afterwards goes out. A vote
that a crash forgets could be given twice.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.leases import MemberLease, RootLease, surely_over_s
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.root_states import ROOT, RootState, RootTrigger
from pyrepl.mailbox.rows import ClusterRow
from pyrepl.mailbox.sending import Send
from pyrepl.mailbox.verbs import Command, RootClaim, RootClear, RootPing, RootSet
from pyrepl.mailbox.words import Vector

PING_S: Final = 1.0
"""Between two questions about leases, where leases are long."""
ANSWER_S: Final = 1.0
"""How long a probe or a claim waits for a majority."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 10.0
PLACE_S: Final = 0.5
"""Each place in the list of members waits so much longer before it claims, so that one is first."""
FORCED_EPOCHS: Final = 1000
TAG: Final = "r"
_MOST_QUESTIONS: Final = 64
_OF_A_ROOT: Final = (RootSet, RootPing)


class RootOptions(NamedTuple):
    """Spans in seconds: `mailbox-lease`, `mailbox-root-timeout`. `jitter_s`: this node's own, from 0 to 0.2."""

    lease_s: float = 5.0
    timeout_s: float = 2.0
    jitter_s: float = 0.0

    @property
    def ping_s(self) -> float:
        """A lease is renewed some times before it is over, and the root heard before another is elected: a node that
        waits for a disk meanwhile stays in the majority."""
        return min(PING_S, self.lease_s / 4, self.timeout_s / 2)


class _Question(NamedTuple):
    command: Command
    peer: str
    sent_at: float


@final
class Root:
    """This node's part in elections.

    Invariants: the epoch never falls; in one epoch it votes at most once; it is the root of an epoch only by votes of a
    majority in that epoch, or by FORCE.
    """

    def __init__(self, name: str, members: Members, row: ClusterRow, now: float, options: RootOptions) -> None:
        self.name: Final = name
        self.members: Final = members
        self.options: Final = options
        self.state = RootState.FOLLOWING
        self.is_root = False
        """Is it the root of its epoch, cleared or not?"""
        self.row = row if row.root != name else row._replace(root="")
        self.is_fresh = row.is_fresh
        """Without data: it neither votes nor claims."""
        self.is_shut_out = False
        """Somebody hears a root that this node does not: the others go on without it."""
        self.cleared: set[str] = set()
        self.held_of_cleared: Final[dict[str, Vector]] = {}
        """Member that has cleared -> all that it saved under an older mastership, until this root is ready."""
        self._up: set[str] = set()
        """Members that can be reached."""
        self._heard_at = now
        self._met_at = now if members.majority == 1 else float("inf")
        """Since when a majority can be reached without a root, and was not asked yet; infinity if it is not so."""
        self._pause_s = 0.0
        self._ping_at = now
        self._deadline = now
        self._elected_at = now
        self._votes: set[str] = set()
        self._forced = False
        self._granted: dict[str, float] = {}
        """Member -> when its lease is surely over, by what we answered as the root."""
        self._questions: dict[str, _Question] = {}
        self._asked = 0
        self._out: list[Send] = []
        self._root_lease: Final = RootLease(options.lease_s, members.majority - 1)
        self._member_lease: Final = MemberLease(options.lease_s)

    # What others ask it.

    @property
    def epoch(self) -> int:
        return self.row.epoch

    @property
    def root(self) -> str:
        """The root of the epoch, "" if it is not known."""
        return self.row.root

    def lease_end(self, now: float) -> float:
        """Until when this node is one of the majority."""
        if not self.is_root:
            return self._member_lease.end
        return now + self.options.lease_s if self._forced else self._root_lease.end(now)

    def has_lease(self, now: float) -> bool:
        return now < self.lease_end(now)

    def all_cleared(self) -> bool:
        """Has every member that keeps mail said that it holds no older mastership?"""
        return self.cleared >= set(self.members.keepers)

    def to_send(self) -> list[Send]:
        if not self._out:
            return []
        out, self._out = self._out, []
        return out

    # What it hears.

    def hear(self, peer: str, tag: str, command: Command, now: float) -> None:
        """A ROOT command of a member."""
        if isinstance(command, RootClear):
            self._hear_clear(command)
        elif isinstance(command, RootClaim):
            self._hear_claim(peer, tag, command, now)
        elif isinstance(command, _OF_A_ROOT):
            self._hear_root(peer, command, now)
            if isinstance(command, RootPing):
                self._answer_ping(peer, tag, command, now)

    def _hear_root(self, peer: str, command: RootSet | RootPing, now: float) -> None:
        if command.root != peer or command.epoch < self.epoch or peer == self.name:
            return
        if command.epoch > self.epoch or not self.root:
            self._follow(ClusterRow(command.epoch, peer, self._voted_in(command.epoch)), now)
        if self.root == peer:
            self._heard_at = now
            self.is_shut_out = False

    def _voted_in(self, epoch: int) -> str:
        return self.row.voted if epoch == self.epoch else ""

    def _answer_ping(self, peer: str, tag: str, command: RootPing, now: float) -> None:
        if command.epoch < self.epoch:
            self._refuse(peer, tag, now)
        elif command.epoch == self.epoch and (peer == self.root or self.is_root):
            left_s = max(0.0, self.lease_end(now) - now) if self.is_root else 0.0
            if left_s:
                self._granted[peer] = now + surely_over_s(self.options.lease_s)
            self._reply(peer, tag, Ok(epoch=self.epoch, left=int(left_s * 1000)))

    def _hear_claim(self, peer: str, tag: str, claim: RootClaim, now: float) -> None:
        again = claim.epoch == self.epoch and self.row.voted == peer and not claim.probe
        if not again and (claim.epoch <= self.epoch or not self._would_vote(peer, now)):
            self._refuse(peer, tag, now)
            return
        if not claim.probe and not again:
            self._follow(ClusterRow(claim.epoch, "", peer), now)
        self._reply(peer, tag, Ok(epoch=claim.epoch))

    def _would_vote(self, peer: str, now: float) -> bool:
        return not self.is_fresh and (self.root == peer or not self._hears_root(now))

    def _hears_root(self, now: float) -> bool:
        if self.is_root:
            return self.has_lease(now)
        return self.root != "" and now < self._heard_at + self.options.timeout_s

    def _hear_clear(self, clear: RootClear) -> None:
        if clear.epoch != self.epoch:
            return
        if self.is_root:
            if clear.node in self.members.keepers:
                self.cleared.add(clear.node)
                self.held_of_cleared[clear.node] = clear.held
        elif self.root not in ("", self.name) and clear.node != self.name:
            self._out.append(Send(self.root, clear))

    def answered(self, peer: str, tag: str, answer: Command, now: float) -> None:
        """The answer to a question of ours; one that nobody waits for means nothing."""
        question = self._questions.pop(tag, None)
        if question is None or question.peer != peer:
            return
        if isinstance(answer, No) and answer.epoch is not None:
            self._refused(peer, question, answer, now)
        elif isinstance(answer, Ok) and answer.epoch is not None:
            self._granted_by(peer, question, answer, now)

    def _refused(self, peer: str, question: _Question, answer: No, now: float) -> None:
        assert answer.epoch is not None
        if answer.epoch > self.epoch:
            self._follow(ClusterRow(answer.epoch), now)
        elif isinstance(question.command, RootClaim) and answer.root not in ("", self.name):
            # Who has only just begun will hear that root in a moment.
            self.is_shut_out = now >= self._heard_at + self._patience_s()

    def _granted_by(self, peer: str, question: _Question, answer: Ok, now: float) -> None:
        command = question.command
        if isinstance(command, RootPing) and command.epoch == self.epoch:
            if self.is_root:
                self._root_lease.answered(peer, question.sent_at)
            elif peer == self.root and answer.left:
                self._member_lease.answered(question.sent_at, answer.left / 1000)
                self._heard_at = now
        elif isinstance(command, RootClaim) and command.epoch == self._claimed():
            self._vote(peer, question, now)

    def _claimed(self) -> int:
        """The epoch that it asks for."""
        return self.epoch + 1 if self.state is RootState.PROBING else self.epoch

    def _claim(self) -> RootClaim:
        return RootClaim(epoch=self._claimed(), node=self.name, probe=self.state is RootState.PROBING)

    def _vote(self, peer: str, question: _Question, now: float) -> None:
        assert isinstance(question.command, RootClaim)
        if question.command.probe != (self.state is RootState.PROBING):
            return
        if self.state is RootState.CLAIMING:
            self._root_lease.answered(peer, question.sent_at)
        self._votes.add(peer)
        self._count(now)

    # What it does of itself.

    def tick(self, now: float) -> None:
        """The time has come for something, or may have."""
        if self.is_root and not self.has_lease(now) and now >= self._elected_at + ANSWER_S:
            self._step_down(RootTrigger.LEASE_OVER, now)
        if self.state is RootState.COLLECTING and now >= self._collected_at():
            self._move(RootTrigger.CLEARED)
        if self.state in (RootState.PROBING, RootState.CLAIMING) and now >= self._deadline:
            self._move(RootTrigger.TIMEOUT)
            self.row = self.row._replace(root="" if self.root == self.name else self.root)
            self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, self._pause_s * 2))
            self._heard_at = max(self._heard_at, now - self.options.timeout_s + self._pause_s)
        if self.state is RootState.FOLLOWING and self._may_claim() and now >= self._claims_at():
            self._probe(now)
        if now >= self._ping_at:
            self._ping(now)

    def next_deadline(self, now: float) -> float:
        """When tick() may have something to do."""
        at = self._ping_at
        if self.is_root:
            at = min(at, max(self._elected_at + ANSWER_S, self.lease_end(now)))
        if self.state is RootState.COLLECTING:
            at = min(at, self._collected_at())
        elif self.state is RootState.FOLLOWING:
            at = min(at, self._claims_at()) if self._may_claim() else at
        elif self.state is not RootState.ROOT:
            at = min(at, self._deadline)
        return at

    def renew(self, now: float) -> None:
        """The root wants a new epoch, as nobody knows who has a mastership."""
        if self.state is RootState.ROOT:
            self._probe(now)

    def pass_epochs(self, epoch: int, now: float) -> None:
        """Up to this epoch the node may have voted, and does not know how: it votes in later ones alone."""
        if epoch > self.epoch:
            self._follow(ClusterRow(epoch), now)

    @property
    def is_forced(self) -> bool:
        """Is it the root as an operator says so?"""
        return self._forced

    def force(self, now: float) -> None:
        """The operator states that the others are dead: root without a majority."""
        self.row = ClusterRow(self.epoch + FORCED_EPOCHS, "", self.name)
        self._forced = True
        self._elect(RootTrigger.FORCE, now)

    def link_up(self, peer: str, now: float) -> None:
        """A member can be reached again: it may not know who the root is, and leases may be near their end."""
        self._up.add(peer)
        if self.is_root:
            self._set(peer)
        if self.is_root or peer == self.root:
            self._ping_at = now
        if self.state in (RootState.PROBING, RootState.CLAIMING) and peer not in self._votes:
            self._ask(peer, self._claim(), now)
        self._meet(now)

    def link_down(self, peer: str) -> None:
        """A member cannot be reached."""
        self._up.discard(peer)

    def _meet(self, now: float) -> None:
        if not self.root and len(self._up) + 1 >= self.members.majority:
            self._met_at = now

    def _set(self, peer: str) -> None:
        self._out.append(Send(peer, RootSet(epoch=self.epoch, node=self.name, root=self.name)))

    def _may_claim(self) -> bool:
        return not self.is_fresh and self.name not in self.members.witnesses

    def _patience_s(self) -> float:
        return self.options.timeout_s + PLACE_S * (self.members.place(self.name) - 1) + self.options.jitter_s

    def _claims_at(self) -> float:
        """Where no root is known, nobody needs to be waited for: it asks as soon as it meets a majority. Who claimed
        the last epoch comes first, as whoever has heard of no later one follows it still."""
        silent_at = self._heard_at + self._patience_s()
        if self.root:
            return silent_at
        turn_s = 0.0 if self.row.voted == self.name else PLACE_S * (self.members.place(self.name) - 1)
        return min(silent_at, self._met_at + turn_s + self.options.jitter_s)

    def _collected_at(self) -> float:
        """When nobody can hold an older mastership: all said so, or their leases are over."""
        waited = [self._over_at(name) for name in self.members.keepers if name not in self.cleared]
        return max(waited, default=float("-inf"))

    def _over_at(self, name: str) -> float:
        return min(self._granted.get(name, float("inf")), self._elected_at + surely_over_s(self.options.lease_s))

    def _probe(self, now: float) -> None:
        self._move(RootTrigger.SILENCE)
        self._met_at = float("inf")
        self._deadline = now + ANSWER_S
        self._votes = {self.name}
        self._ask_all(self._claim(), now)
        self._count(now)

    def _count(self, now: float) -> None:
        if len(self._votes) < self.members.majority:
            return
        if self.state is RootState.PROBING:
            was_root = self.row.root == self.name
            self._move(RootTrigger.WOULD_WIN)
            self._forget(keeps_grants=was_root)
            self.row = ClusterRow(self.epoch + 1, "", self.name)
            self._deadline = now + ANSWER_S
            self._votes = {self.name}
            self._ask_all(self._claim(), now)
            self._count(now)
        elif self.state is RootState.CLAIMING:
            self._elect(RootTrigger.MAJORITY, now)

    def _elect(self, trigger: RootTrigger, now: float) -> None:
        self._move(trigger)
        self.row = self.row._replace(root=self.name)
        self._elected_at = self._ping_at = now
        self._pause_s = 0.0
        self.cleared = set()
        self.held_of_cleared.clear()
        for peer in self.members.others(self.name):
            self._set(peer)

    def _follow(self, row: ClusterRow, now: float) -> None:
        assert row.epoch >= self.epoch
        self._move(RootTrigger.OTHER_EPOCH)
        self._forget(keeps_grants=False)
        self.row = row
        self._heard_at = self._ping_at = now
        # Whoever it voted for, or has heard of, comes first.
        self._met_at = float("inf")
        self._pause_s = 0.0

    def _step_down(self, trigger: RootTrigger, now: float) -> None:
        self._move(trigger)
        self._forget(keeps_grants=False)
        self.row = self.row._replace(root="")
        self._heard_at = now
        self._meet(now)

    def _forget(self, *, keeps_grants: bool) -> None:
        self._root_lease.forget()
        self._member_lease.forget()
        self._forced = False
        self.is_shut_out = False
        if not keeps_grants:
            self._granted.clear()

    def _ping(self, now: float) -> None:
        self._ping_at = now + self.options.ping_s
        ping = RootPing(epoch=self.epoch, node=self.name, root=self.root)
        if self.is_root:
            self._ask_all(ping, now)
        elif self.root not in ("", self.name):
            self._ask(self.root, ping, now)

    def _ask_all(self, command: Command, now: float) -> None:
        for peer in self.members.others(self.name):
            self._ask(peer, command, now)

    def _ask(self, peer: str, command: Command, now: float) -> None:
        self._asked += 1
        tag = f"{TAG}{self._asked}"
        self._questions[tag] = _Question(command, peer, now)
        while len(self._questions) > _MOST_QUESTIONS:
            del self._questions[next(iter(self._questions))]
        self._out.append(Send(peer, command, tag))

    def _refuse(self, peer: str, tag: str, now: float) -> None:
        root = self.root if self._hears_root(now) else ""
        self._reply(peer, tag, No(reason=Reason.EPOCH, epoch=self.epoch, root=root))

    def _reply(self, peer: str, tag: str, answer: Command) -> None:
        if tag != "*":
            self._out.append(Send(peer, answer, tag))

    def _move(self, trigger: RootTrigger) -> None:
        self.state = ROOT.after(self.state, trigger)
        self.is_root = self.state in (RootState.COLLECTING, RootState.ROOT)
