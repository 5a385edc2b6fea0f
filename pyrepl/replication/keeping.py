"""Whether our stream is kept: the one place that creates the backlog and frees it, and says so.

Not here: the bytes that are kept (backlog.py), and who has the say: the roster for the replicas' sake (roster.py), the
role for all else (role.py).

    what happens                                             kept from then on    under
    the first replica comes to us, a master                  yes                  a new name
    our own file or a subscriber follows us, a master        yes                  the name it has
    our master's stream is ours (a snapshot, +CONTINUE)      yes                  our master's name
    no replica came for repl-backlog-ttl                     no                   a new name
    our data is about to be replaced by a full resync        no                   a new name

A master without a reader keeps nothing, and the end of its stream does not move: what it writes then is in no backlog,
which is why the first replica finds a stream of a new name. Source: Redis 7.0 `createReplicationBacklog`,
`freeReplicationBacklog`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.replication.backlog import Backlog
from pyrepl.replication.events import BacklogCreated, BacklogFreed, KeepingEvent
from pyrepl.replication.feed import Feed
from pyrepl.replication.history import History
from pyrepl.units import ReplId


@final
class Keeping:
    """Begins and ends the keeping of our stream.

    Invariant: each time `backlog.active` changes, whoever watches hears of it, once.
    """

    def __init__(self, history: History, backlog: Backlog, feed: Feed) -> None:
        """Nothing is kept, to begin with."""
        self._history: Final = history
        self._backlog: Final = backlog
        self._feed: Final = feed
        self._watchers: Final[list[Callable[[KeepingEvent], None]]] = []

    def watch(self, told: Callable[[KeepingEvent], None]) -> None:
        """Call `told(event)` after each time that the keeping begins or ends.

        A callback, unlike the events of other machines: the roster, the role and readers of the stream all begin and
        end the keeping, and none of them should have to pass an event on.
        """
        self._watchers.append(told)

    def begin(self) -> None:
        """Keep the stream under the name it has, from its present end on. No effect if it is kept already."""
        if not self._backlog.active:
            self._create(is_new=False)

    def begin_anew(self, new_replid: ReplId) -> None:
        """Keep the stream from its present end on, where it gets the name `new_replid`. It must not be kept yet."""
        assert not self._backlog.active
        self._history.restart(new_replid)
        self._feed.forget_db()
        self._create(is_new=True)

    def end(self, new_replid: ReplId, *, after_s: int | None = None) -> None:
        """Keep nothing, and let the stream go on under the name `new_replid`, also if nothing is kept already.

        `after_s`: no replica came for so long; None when our own data goes.
        """
        self._history.restart(new_replid)
        if self._backlog.active:
            self._backlog.free()
            self._tell(BacklogFreed(after_s, new_replid))

    def _create(self, *, is_new: bool) -> None:
        self._backlog.create()
        self._tell(BacklogCreated(self._history.replid, is_new))

    def _tell(self, event: KeepingEvent) -> None:
        for told in self._watchers:
            told(event)
