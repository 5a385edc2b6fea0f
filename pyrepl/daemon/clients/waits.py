"""Clients that wait for a reply: the shell around `node.waiting`, which decides who waits and when each wait ends.

The shell holds the connections of waiting clients, keeps one timer for all deadlines, and carries answers out. Answers
that a command causes (an ACK, an element for BLPOP, CLIENT UNBLOCK, a change of role, the end of a pause) are carried
out in the next turn of the loop, as Redis does in `beforeSleep`. The reason: a client that goes on executes the
commands that it has sent meanwhile, and this must not happen in the middle of another client's command or transaction.

Clients that wait for keys are served after each command of a client (`client_conn`), and in the next turn of the loop
after anything else that made a key ready: our master's stream, a load, an expired key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import islice
from typing import Final, Protocol, final

from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.node import Node
from pyrepl.node.waiting import Answer
from pyrepl.node.waits import Kind, PausedWait, Wait
from pyrepl.resp.reply import NO_REPLY, Reply

_LONGEST_SLEEP_S: Final = 3600.0
_LOADING_S: Final = 0.05
"""After so many seconds we look again whether a load is over that keeps clients from being served."""
_SHORTEST_SLEEP_S: Final = 0.001
"""The loop's timers count whole milliseconds; a shorter sleep would be none."""


class Held(Protocol):
    """A connection that can be stopped between two commands: `ClientConn`."""

    def hold(self) -> None:
        """Execute no more commands until `release` or `answer`."""

    def release(self) -> None:
        """Go on without a reply: a pause has ended."""

    def answer(self, reply: Reply) -> None:
        """Write the reply that the client waits for, and go on."""


@final
class Waits:
    """The waiting clients of a node.

    Invariant: while there is a next deadline, `_timer` is set and comes no later than that deadline.
    """

    def __init__(self, node: Node, conns: Mapping[int, Held], turns: Turns, clock: Clock) -> None:
        """`conns` are the open connections by their clients' ids."""
        self._node = node
        self._waiting = node.waiting
        self._conns = conns
        self._turns = turns
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._pause_ends_at: float | None = None
        """When the next pause ends by its time, in monotonic seconds; None if none does."""
        node.waiting.watch(self._plan)

    def deadline(self, timeout_ms: int) -> float | None:
        """The deadline of a wait that begins now, in monotonic seconds; None for 0, which waits without end."""
        return self._clock.now() + timeout_ms / 1000 if timeout_ms else None

    def wait(self, wait: Wait, *, may_wait: bool) -> Reply:
        """Begin a wait. Returns the reply if the client need not wait, or must not (`may_wait` is False inside EXEC);
        NO_REPLY when the client is held now, and the reply follows."""
        ready = wait.ready()
        if ready is not None:
            return ready[0]
        return self.hold(wait) if may_wait else wait.late()

    def hold(self, wait: Wait) -> Reply:
        """Hold the client of `wait` until the wait ends. Returns NO_REPLY: the reply is written then."""
        self._conns[wait.client.id].hold()
        self._waiting.begin(wait)
        self._arm()
        return NO_REPLY

    def pause(self, client: Client, *, may_write: bool) -> None:
        """Hold a client before a command, which may write or not, until no pause forbids that command."""
        self.hold(PausedWait(client, may_write=may_write))

    def forget(self, client_id: int) -> None:
        """A connection has ended."""
        self._waiting.forget(client_id)

    def serve_keys(self) -> None:
        """A command is over: serve the clients that wait for keys which it has made ready. While a data set loads they
        wait on, as their commands would be refused."""
        if self._node.conditions.keys_ready and not self._node.is_loading:
            self._waiting.serve_keys()

    def fsynced(self) -> None:
        """More of our stream is on disk, or we keep no append-only file any more: look at the waits of WAITAOF."""
        self._waiting.look(Kind.FSYNCED)
        self._plan()

    def acked(self) -> None:
        """A replica has acknowledged more: look at the waits of WAIT and WAITAOF."""
        self._waiting.look(Kind.ACKED)
        self._waiting.look(Kind.FSYNCED)
        self._plan()

    def finish(self, client_id: int, reply: Reply) -> None:
        """The work that this client waits for is done: answer it with `reply` at once. Must not be called from within a
        command."""
        self._waiting.finish(client_id, reply)
        self._carry_out()

    def finish_all(self, kind: Kind, reply: Reply) -> None:
        """End all waits of one kind with the same reply."""
        self._waiting.finish_all(kind, reply)
        self._plan()

    def unblock(self, client_id: int, *, with_error: bool) -> bool:
        """CLIENT UNBLOCK: end a client's wait, as at its deadline or `with_error`. False if it does not wait, or waits
        for something from which a client cannot be woken (a pause)."""
        before = len(self._waiting.answers)
        found = self._waiting.unblock(client_id, with_error=with_error)
        self._count_errors(before)
        self._plan()
        return found

    def role_changed(self) -> None:
        """This node is about to follow another master: waits that only a master can fulfil end."""
        before = len(self._waiting.answers)
        self._waiting.role_changed()
        self._count_errors(before)
        self._plan()

    def _count_errors(self, first: int) -> None:
        """Count the answers from index `first` on that are errors: the commands that waited have failed."""
        node = self._node
        for answer in islice(self._waiting.answers, first, None):
            if type(answer.reply) is CommandError:
                node.stats.of(node.clients[answer.client_id].last_command).failed_calls += 1
                node.stats.count_error(str(answer.reply))

    def pause_changed(self) -> None:
        """A pause has begun or ended, or its time is over: let the clients go on that no pause holds any more, and set
        the timer for the next end."""
        node = self._node
        now_ms = self._clock.unix_ms()
        if 0 < node.pause.until_ms() <= now_ms:
            node.pause.end()
        self._waiting.pause_changed(node.pause, now_ms)
        next_ms = node.pause.next_end_ms(now_ms)
        self._pause_ends_at = None if next_ms is None else self._clock.now() + (next_ms - now_ms) / 1000
        self._plan()
        self._arm()

    def _arm(self) -> None:
        """Set the timer for the next deadline of all waits and pauses, unless it is early enough already."""
        at = self._waiting.next_deadline()
        if self._pause_ends_at is not None and (at is None or self._pause_ends_at < at):
            at = self._pause_ends_at
        if at is None:
            return
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer_at = at
        delay = min(_LONGEST_SLEEP_S, max(_SHORTEST_SLEEP_S, at - self._clock.now()))
        self._timer = self._loop.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._clock.now()
        self._waiting.tick(now)
        if self._pause_ends_at is not None and self._pause_ends_at <= now:
            self.pause_changed()
        self._arm()
        self._carry_out()

    def _plan(self) -> None:
        """If there are answers or ready keys, carry the answers out and serve the keys in the next turn of the loop."""
        if not self._planned and (self._waiting.answers or self._node.conditions.keys_ready):
            self._planned = True
            if self._node.is_loading and not self._waiting.answers:
                self._loop.call_later(_LOADING_S, self._planned_turn)
            else:
                self._loop.call_soon(self._planned_turn)

    def _planned_turn(self) -> None:
        self._planned = False
        if self._node.conditions.keys_ready:
            self._node.keyspace.now_ms = self._clock.unix_ms()
            self.serve_keys()
            self._turns.end_batch()
        self._carry_out()

    def _carry_out(self) -> None:
        answers = self._waiting.answers
        try:
            while answers:
                self._let_go_on(answers.popleft())
        finally:
            # If a client's next command raises (a defect of ours), the other clients get their answers all the same.
            self._plan()

    def _let_go_on(self, answer: Answer) -> None:
        conn = self._conns.get(answer.client_id)
        if conn is None:
            return
        if answer.reply is NO_REPLY:
            conn.release()
        else:
            conn.answer(answer.reply)
