"""The waiting clients of a node: what each waits for, until when, and which reply it gets. Replies that come later than
their command are owned here.

A client has one wait at a time. A wait ends in exactly one of these ways; its kind (`waits`) knows the reply:

| ends because | call | told |
|---|---|---|
| it is fulfilled | `look`, `serve_keys`, `pause_changed`, `finish`, `finish_all` | the reply |
| its deadline has passed | `tick` | `Wait.late` |
| CLIENT UNBLOCK ... TIMEOUT | `unblock` | `Wait.late` |
| CLIENT UNBLOCK ... ERROR | `unblock` | UNBLOCKED_BY_CLIENT |
| this node's role changes | `role_changed` | UNBLOCKED, if the kind depends on the role; else it waits on |
| the connection is gone | `forget` | nothing |

Order: the client that came first is answered first, at each key as well. A client that waits for several keys is served
once. A client whose command was tried again, and found nothing again, stands behind the others at all its keys, as in
Redis, where it blocks anew.

Not here: sockets, timers and the carrying out of answers (the daemon's `clients/waits.py`), which commands CLIENT
PAUSE, FAILOVER and SHUTDOWN hold and until when (`pause`). Source of the rules: Redis 8.2, `blocked.c` and
`replication.c`.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Keyspace
from pyrepl.node.conditions import Conditions
from pyrepl.node.key_queue import KeyQueue
from pyrepl.node.pause import Pause
from pyrepl.node.waits import KeysWait, Kind, PausedWait, Wait
from pyrepl.resp.reply import NO_REPLY, Reply

UNBLOCKED_BY_CLIENT: Final = "UNBLOCKED client unblocked via CLIENT UNBLOCK"
UNBLOCKED: Final = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
_FEW_DEADLINES: Final = 64


class Answer(NamedTuple):
    """A wait has ended, and its client gets `reply`. With NO_REPLY it gets none, and goes on with the command before
    which it was stopped."""

    client_id: int
    reply: Reply


@final
class Waiting:
    """The waits of one node.

    The shell's contract: begin a wait when its client is held; after every other call carry out `answers`, each of
    which lets a client go on; call `tick` at `next_deadline()`.

    Invariants: `_waits` has the present wait of each client, in the order in which they came; `Client.is_blocked` is
    True exactly while its client has a wait whose kind says so, and is written here alone; `_queues` have exactly the
    KeysWaits of `_waits`, and no queue is empty; outside of `serve_keys`, `Conditions.keys_ready` is True exactly while
    `_ready` is not empty; each wait with a deadline is in `_deadlines`, where those that have ended may still be, never
    more of them than _FEW_DEADLINES and as many again as wait.
    """

    def __init__(self, keyspace: Keyspace, conditions: Conditions) -> None:
        self.answers: Final[deque[Answer]] = deque()
        """The answers that the shell has to carry out; it takes them from the left."""
        self._keyspace = keyspace
        self._conditions = conditions
        self._waits: dict[int, Wait] = {}
        self._queues: dict[tuple[int, bytes], KeyQueue] = {}
        self._ready: dict[KeyQueue, None] = {}
        """The queues of the keys that became ready and were not looked at since, in their order."""
        self._watchers: list[Callable[[], None]] = []
        self._serving = False
        self._deadlines: list[tuple[float, int, Wait]] = []
        """A heap of (deadline, number, wait)."""
        self._begun = 0

    def begin(self, wait: Wait) -> None:
        """Begin a wait. The client must not have one already."""
        client = wait.client
        assert client.id not in self._waits, "a client waits for one thing at a time"
        self._waits[client.id] = wait
        client.is_blocked = wait.blocks
        self._begun += 1
        if wait.deadline is not None:
            heapq.heappush(self._deadlines, (wait.deadline, self._begun, wait))
        if isinstance(wait, KeysWait):
            for place in wait.places:
                self._queue_of(place).waits[client.id] = wait

    def forget(self, client_id: int) -> None:
        """The client is gone: drop its wait. Harmless if it had none."""
        wait = self._waits.get(client_id)
        if wait is not None:
            self._remove(wait)

    def waits_of(self, kind: Kind) -> list[Wait]:
        """The waits of one kind, in the order in which they began."""
        return [wait for wait in self._waits.values() if wait.kind is kind]

    # ------------------------------------------------------------------ what they wait for has come

    def look(self, kind: Kind) -> None:
        """Something has happened that may fulfil waits of this kind: answer those that are fulfilled."""
        if not self._waits:
            return
        for wait in self.waits_of(kind):
            ready = wait.ready()
            if ready is not None:
                self._end(wait, ready[0])

    def finish(self, client_id: int, reply: Reply) -> None:
        """The work that this client waits for is done: answer it with `reply`. Harmless if the client is gone."""
        wait = self._waits.get(client_id)
        if wait is not None:
            self._end(wait, reply)

    def finish_all(self, kind: Kind, reply: Reply) -> None:
        """End all waits of one kind with the same reply."""
        for wait in self.waits_of(kind):
            self._end(wait, reply)

    def pause_changed(self, pause: Pause, now_ms: int) -> None:
        """A pause has begun, ended or changed, at Unix time `now_ms`: let the clients go on that no pause holds."""
        for wait in self.waits_of(Kind.PAUSED):
            assert isinstance(wait, PausedWait)
            if not pause.holds(now_ms, may_write=wait.may_write):
                self._end(wait, NO_REPLY)

    # ------------------------------------------------------------------ keys

    def watch(self, told: Callable[[], None]) -> None:
        """Have `told` called when keys become ready while none was: `serve_keys` is to be called soon."""
        self._watchers.append(told)

    def key_ready(self, db_index: int, key: bytes) -> None:
        """A key became ready by a change that WATCH does not hear of. All other changes are noticed without a call."""
        queue = self._queues.get((db_index, key))
        if queue is not None:
            self._note_ready(queue)

    def key_counts(self) -> tuple[int, int]:
        """How many keys clients wait for; and at how many of them a client waits that is tried again on any type."""
        queues = self._queues.values()
        return len(queues), sum(1 for queue in queues if any(wait.on_any_type for wait in queue.waits.values()))

    def serve_keys(self) -> None:
        """Serve the clients that wait for keys that became ready: key after key, at each key in the order in which the
        clients came. To be called when a command or transaction is over, before the next one.

        To serve a client may make other keys ready (BLMOVE); these are looked at afterwards. The loop ends, as a key
        can become ready again only when a client was served, and each client is served once.
        """
        assert not self._serving, "what serves a client may not serve others"
        self._serving = True
        try:
            while self._ready:
                queue = next(iter(self._ready))
                del self._ready[queue]
                self._serve_at(queue)
        finally:
            self._serving = False
            self._conditions.note_keys_ready(bool(self._ready))

    def _serve_at(self, queue: KeyQueue) -> None:
        for wait in list(queue.waits.values()):
            if self._waits.get(wait.client.id) is not wait or not wait.wants(queue.type_name):
                continue
            served = wait.serve()
            if served is not None:
                self._end(wait, served[0])
            else:
                self._begin_anew(wait)

    def _begin_anew(self, wait: KeysWait) -> None:
        """The wait goes on behind all others at its keys."""
        for place in wait.places:
            waits = self._queues[place].waits
            del waits[wait.client.id]
            waits[wait.client.id] = wait

    def _queue_of(self, place: tuple[int, bytes]) -> KeyQueue:
        """The queue at (database, key), made if nobody waits there yet."""
        queue = self._queues.get(place)
        if queue is None:
            queue = KeyQueue(self._keyspace.databases[place[0]], place[1], self._note_ready)
            self._queues[place] = queue
        return queue

    def _note_ready(self, queue: KeyQueue) -> None:
        is_first = not self._ready
        self._ready[queue] = None
        if is_first and not self._serving:
            self._conditions.note_keys_ready(True)
            for told in self._watchers:
                told()

    # ------------------------------------------------------------------ it has not come

    def next_deadline(self) -> float | None:
        """When `tick` is due next, in monotonic seconds; None while no wait has a deadline."""
        self._drop_ended()
        return self._deadlines[0][0] if self._deadlines else None

    def tick(self, now: float) -> None:
        """Answer the clients whose deadline has come at `now`, the earliest first."""
        self._drop_ended()
        while self._deadlines and self._deadlines[0][0] <= now:
            wait = self._deadlines[0][2]
            self._end(wait, wait.late())
            self._drop_ended()

    def unblock(self, client_id: int, *, with_error: bool) -> bool:
        """CLIENT UNBLOCK: end one client's wait with an error, or as at its deadline. False if the client does not
        wait, or has a wait that CLIENT UNBLOCK may not end (`Wait.blocks`)."""
        wait = self._waits.get(client_id)
        if wait is None or not wait.blocks:
            return False
        self._end(wait, CommandError(UNBLOCKED_BY_CLIENT) if with_error else wait.late())
        return True

    def role_changed(self) -> None:
        """This node is about to follow another: end the waits that only a master can fulfil, with an error."""
        for wait in list(self._waits.values()):
            if wait.ends_with_role:
                self._end(wait, CommandError(UNBLOCKED))

    # ------------------------------------------------------------------ inside

    def _end(self, wait: Wait, reply: Reply) -> None:
        self._remove(wait)
        self.answers.append(Answer(wait.client.id, reply))

    def _remove(self, wait: Wait) -> None:
        client = wait.client
        del self._waits[client.id]
        client.is_blocked = False
        if isinstance(wait, KeysWait):
            self._leave_keys(wait)
        if len(self._deadlines) > _FEW_DEADLINES + 2 * len(self._waits):
            self._deadlines = [entry for entry in self._deadlines if self._is_present(entry[2])]
            heapq.heapify(self._deadlines)

    def _leave_keys(self, wait: KeysWait) -> None:
        for place in wait.places:
            queue = self._queues[place]
            del queue.waits[wait.client.id]
            if not queue.waits:
                queue.close()
                del self._queues[place]
                self._ready.pop(queue, None)
        if not self._ready and not self._serving and self._conditions.keys_ready:
            self._conditions.note_keys_ready(False)

    def _is_present(self, wait: Wait) -> bool:
        return self._waits.get(wait.client.id) is wait

    def _drop_ended(self) -> None:
        """Remove waits that have ended from the top of the heap, so that the first one still lasts."""
        while self._deadlines and not self._is_present(self._deadlines[0][2]):
            heapq.heappop(self._deadlines)
