"""The waits of a node against a model, under any sequence of clients that come, go, are served, late or unblocked.

The model: a list of those who wait, in the order in which they came, and plain lists at the keys.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pyrepl.acl.identity import UNASKED
from pyrepl.errors import CommandError
from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.client import Client
from pyrepl.node.conditions import Conditions
from pyrepl.node.pause import Pause
from pyrepl.node.waiting import UNBLOCKED, UNBLOCKED_BY_CLIENT, Waiting
from pyrepl.node.waits import KeysWait, Kind, PausedWait, Wait, WorkWait
from pyrepl.resp.reply import NO_REPLY, Reply

KEYS = st.sampled_from([b"a", b"b", b"c"])
NUMBERS = st.integers(0, 7)


class CutWait(Wait):
    """As WAIT: for a cut that moves."""

    kind = Kind.ACKED
    blocks = True
    ends_with_role = True

    def __init__(self, client: Client, deadline: float | None, cut: int, model: WaitingModel) -> None:
        super().__init__(client, deadline)
        self.cut = cut
        self.model = model

    def ready(self) -> tuple[Reply] | None:
        return (self.model.acked,) if self.model.acked >= self.cut else None

    def late(self) -> Reply:
        return self.model.acked


class WaitingModel(RuleBasedStateMachine):
    """`present` are those who wait, `told` whom the model has answered since answers were last compared."""

    def __init__(self) -> None:
        super().__init__()
        self.keyspace = Keyspace(1)
        self.db = self.keyspace.databases[0]
        self.conditions = Conditions()
        self.waiting = Waiting(self.keyspace, self.conditions)
        self.clients = [Client(number, "h:1", "h:2", 0.0, UNASKED) for number in range(8)]
        self.now = 0.0
        self.acked = 0
        self.pause = Pause(Conditions())
        self.lists: dict[bytes, list[bytes]] = {}
        self.ready_keys: list[bytes] = []
        self.present: list[Wait] = []
        self.goals: dict[Wait, bytes] = {}
        """Where what some of them pop is pushed to (BLMOVE)."""
        self.told: list[tuple[int, object]] = []

    # ------------------------------------------------------------------ they come

    def _begin(self, wait: Wait) -> None:
        if all(other.client is not wait.client for other in self.present):
            self.waiting.begin(wait)
            self.present.append(wait)

    def _deadline(self, span: int | None) -> float | None:
        return None if span is None else self.now + span

    @rule(number=NUMBERS, keys=st.lists(KEYS, min_size=1, max_size=3), span=st.none() | st.integers(1, 5))
    def block(self, number: int, keys: list[bytes], span: int | None) -> None:
        """BLPOP. It begins only when there is nothing, so all that is ready is served first."""
        self.command_is_over()
        if any(self.lists.get(key) for key in keys):
            return

        def pop() -> tuple[Reply] | None:
            for key in keys:
                element = list_verbs.pop(self.db, key, True)
                if element is not None:
                    return ([key, element],)
            return None

        places = tuple((0, key) for key in keys)
        self._begin(KeysWait(self.clients[number], self._deadline(span), places, "list", pop, None))

    @rule(number=NUMBERS, source=KEYS, goal=KEYS)
    def block_to_move(self, number: int, source: bytes, goal: bytes) -> None:
        """BLMOVE."""
        self.command_is_over()
        if self.lists.get(source):
            return

        def move() -> tuple[Reply] | None:
            element = list_verbs.move(self.db, source, goal, True, False)
            return None if element is None else (element,)

        wait = KeysWait(self.clients[number], None, ((0, source),), "list", move, None)
        self.goals[wait] = goal
        self._begin(wait)

    @rule(number=NUMBERS, more=st.integers(1, 3), span=st.none() | st.integers(1, 5))
    def wait_for_cut(self, number: int, more: int, span: int | None) -> None:
        self._begin(CutWait(self.clients[number], self._deadline(span), self.acked + more, self))

    @rule(number=NUMBERS, may_write=st.booleans())
    def pause_one(self, number: int, may_write: bool) -> None:
        self._begin(PausedWait(self.clients[number], may_write=may_write))

    @rule(number=NUMBERS)
    def work(self, number: int) -> None:
        self._begin(WorkWait(self.clients[number]))

    # ------------------------------------------------------------------ things happen

    @rule(key=KEYS, count=st.integers(1, 3))
    def push(self, key: bytes, count: int) -> None:
        list_verbs.extend(self.db, key, [b"pushed"] * count, False)
        self._come(key, [b"pushed"] * count)

    @rule(key=KEYS)
    def delete(self, key: bytes) -> None:
        """Within a transaction, a key may be gone again before anybody is served."""
        if self.db.delete(key):
            self.db.changed(key)
        self.lists.pop(key, None)

    @rule()
    def command_is_over(self) -> None:
        self.waiting.serve_keys()
        while self.ready_keys:
            key = self.ready_keys.pop(0)
            for wait in [wait for wait in self.present if self._wants(wait, key)]:
                if not self.lists.get(key):
                    break
                assert isinstance(wait, KeysWait)
                taken_at = next(other for _, other in wait.places if self.lists.get(other))
                element = self.lists[taken_at].pop(0)
                goal = self.goals.get(wait)
                self._tell(wait, [taken_at, element] if goal is None else element)
                if goal is not None:
                    self._come(goal, [element])
        for key, elements in self.lists.items():
            assert list_verbs.between(self.db, key, 0, -1) == elements

    @rule(more=st.integers(0, 3))
    def ack(self, more: int) -> None:
        self.acked += more
        self.waiting.look(Kind.ACKED)
        for wait in self.present[:]:
            if isinstance(wait, CutWait) and wait.cut <= self.acked:
                self._tell(wait, self.acked)

    @rule(span_s=st.integers(0, 4))
    def time_passes(self, span_s: int) -> None:
        self.now += span_s
        self.waiting.tick(self.now)
        late = [wait for wait in self.present if wait.deadline is not None and wait.deadline <= self.now]
        for wait in sorted(late, key=lambda wait: wait.deadline or 0.0):
            self._tell(wait, wait.late())

    @rule(writes_only=st.booleans(), span_ms=st.integers(0, 2000))
    def pause_changes(self, writes_only: bool, span_ms: int) -> None:
        now_ms = int(self.now * 1000)
        self.pause.begin(now_ms + span_ms, writes_only=writes_only)
        self.waiting.pause_changed(self.pause, now_ms)
        for wait in self.present[:]:
            if isinstance(wait, PausedWait) and not self.pause.holds(now_ms, may_write=wait.may_write):
                self._tell(wait, NO_REPLY)

    @rule(number=NUMBERS)
    def work_is_done(self, number: int) -> None:
        wait = self._wait_of(number)
        if wait is None or isinstance(wait, WorkWait):
            self.waiting.finish(number, b"done")
            if wait is not None:
                self._tell(wait, b"done")

    @rule(number=NUMBERS, with_error=st.booleans())
    def unblock(self, number: int, with_error: bool) -> None:
        wait = self._wait_of(number)
        found = wait is not None and wait.blocks
        assert self.waiting.unblock(number, with_error=with_error) is found
        if wait is not None and found:
            self._tell(wait, UNBLOCKED_BY_CLIENT if with_error else wait.late())

    @rule(number=NUMBERS)
    def hang_up(self, number: int) -> None:
        self.waiting.forget(number)
        wait = self._wait_of(number)
        if wait is not None:
            self._leave(wait)

    @rule()
    def role_changes(self) -> None:
        self.waiting.role_changed()
        for wait in self.present[:]:
            if wait.ends_with_role:
                self._tell(wait, UNBLOCKED)

    # ------------------------------------------------------------------ what must hold

    @precondition(lambda self: self.told or self.waiting.answers)
    @rule()
    def answers_go_out(self) -> None:
        answers = [
            (client_id, str(reply) if isinstance(reply, CommandError) else reply)
            for client_id, reply in self.waiting.answers
        ]
        assert answers == self.told
        self.waiting.answers.clear()
        self.told.clear()

    @invariant()
    def nothing_is_lost_or_told_twice(self) -> None:
        assert len(self.waiting.answers) == len(self.told)
        deadlines = [wait.deadline for wait in self.present if wait.deadline is not None]
        assert self.waiting.next_deadline() == min(deadlines, default=None)
        for client in self.clients:
            wait = self._wait_of(client.id)
            assert client.is_blocked is (wait is not None and wait.blocks)
        keys = {key for wait in self.present if isinstance(wait, KeysWait) for _, key in wait.places}
        assert self.waiting.key_counts() == (len(keys), 0)
        assert self.conditions.keys_ready is bool(self.ready_keys)
        for kind in Kind:
            assert self.waiting.waits_of(kind) == [wait for wait in self.present if wait.kind is kind]

    def teardown(self) -> None:
        self.answers_go_out()

    # ------------------------------------------------------------------ inside

    def _come(self, key: bytes, elements: list[bytes]) -> None:
        self.lists.setdefault(key, []).extend(elements)
        if key not in self.ready_keys and any(self._wants(wait, key) for wait in self.present):
            self.ready_keys.append(key)

    def _wants(self, wait: Wait, key: bytes) -> bool:
        return isinstance(wait, KeysWait) and (0, key) in wait.places

    def _wait_of(self, number: int) -> Wait | None:
        return next((wait for wait in self.present if wait.client.id == number), None)

    def _leave(self, wait: Wait) -> None:
        self.present.remove(wait)
        self.ready_keys = [key for key in self.ready_keys if any(self._wants(other, key) for other in self.present)]

    def _tell(self, wait: Wait, reply: object) -> None:
        self._leave(wait)
        self.told.append((wait.client.id, reply))


WaitingModel.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestWaiting = WaitingModel.TestCase
