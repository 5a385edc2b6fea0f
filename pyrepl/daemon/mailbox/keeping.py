"""What a node keeps of mailboxes, opened: its database, its Maildirs with their threads, its machine and its driver.

It lives until something fails in a way that leaves unsure whether the machine believes what is on disk. Then all of it
is thrown away and made anew from the files, as after a crash of the process (server.py).
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, final

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.mailbox.configured import Configured
from pyrepl.daemon.mailbox.disk_watch import DiskWatch
from pyrepl.daemon.mailbox.doveadm import Doveadm
from pyrepl.daemon.mailbox.doveadm_program import DoveadmProgram
from pyrepl.daemon.mailbox.doveadm_store import DoveadmStore
from pyrepl.daemon.mailbox.doveadm_watch import DoveadmWatch
from pyrepl.daemon.mailbox.driver import Driver, Hearers
from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.keeper_link import NoKeeper
from pyrepl.daemon.mailbox.maildir_store import TROUBLE, MaildirStore
from pyrepl.daemon.mailbox.node_store import NodeStore
from pyrepl.daemon.mailbox.results import failed
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.daemon.mailbox.text_writer import TextWriter
from pyrepl.daemon.mailbox.uidlist_lock import LocksHere, UidlistLock
from pyrepl.daemon.mailbox.user_folders import SeenPlaces
from pyrepl.daemon.mailbox.workers import Workers, all_of
from pyrepl.errors import ConfigError
from pyrepl.mailbox.boxes import names
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.rows import ClusterRow, origin_of_new
from pyrepl.mailbox.store import StoredBox
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.mailbox.words import INBOX, node_of

if TYPE_CHECKING:
    from pyrepl.daemon.mailbox.gate_room import GateRoom

_DAY_S: Final = 86_400
_LOCK_WAIT_S: Final = 2.0
"""For a Dovecot that holds the lock of a mailbox: then the user's works are owed, as others wait."""
_USERS_AT_ONCE: Final = 10
"""Whose Maildirs are in memory at a start."""
_OWED: Final = "what was owed before this start is written first"


@final
class Keeping:
    """One life of it. `workers`, `texts` and `disk` are None on a witness."""

    def __init__(self, conf: Configured, settings: Settings, clock: Clock, hearers: Hearers, here: LocksHere) -> None:
        """Opens everything. `here`: the locks of mailboxes that this process holds, whatever life took them. Raises
        DatabaseError, NotThere, OSError, and leaves nothing open then."""
        with ExitStack() as opened:
            rows = SqliteRows(conf.database, settings.mailbox_journal_size, time.time)
            opened.callback(rows.close)
            self._rows: Final = rows
            doveadm, layout = DoveadmProgram(conf.doveadm), LAYOUTS[settings.mailbox_layout]
            self._doveadm: Final = doveadm
            opened.callback(doveadm.close)
            if conf.doveadm:
                # Before the gates: their keeper is to go on with them if this cannot be.
                doveadm.hold(conf.database.parent)
            self._gates: Final = None if conf.gates is None else _gates(conf, settings, self._wake, self._keeper_gone)
            if self._gates is not None:
                opened.callback(self._gates.close)
            watch = _watch(conf, doveadm, settings, self._wake, self._fail) if conf.is_kept_by_doveadm else None
            if watch is not None:
                opened.callback(watch.close)
            is_new = not rows.cluster().origin
            if is_new:
                rows.put_cluster(ClusterRow(origin=origin_of_new(conf.name, clock.unix_ms()), is_fresh=True))
            name = node_of(rows.cluster().origin)
            self.workers: Final = (
                self._workers(conf, settings, name, here, is_new)
                if watch is None
                else _doveadm_workers(conf, doveadm, settings, watch)
            )
            store = None if self.workers is None else self.workers.stores[0]
            if self.workers is not None:
                opened.callback(self.workers.stop)
            self.texts: Final = None if store is None else TextWriter(store.drop)
            if self.texts is not None:
                opened.callback(self.texts.stop)
            self.disk: Final = None if store is None else DiskWatch(store.check, partial(self._fail, first=True))
            if self.disk is not None:
                opened.callback(self.disk.stop)
            now = clock.now()
            aligns = bool(conf.doveadm) and watch is None
            options = NodeOptions(
                *(conf.mastering, clock.unix_ms() / 1000 - now, conf.expunge_guard, conf.acks, Pages(), conf.exclude),
                aligns=aligns,
                has_lock_files=watch is None,
                layout=layout,
                why_no_user=conf.why_no_user,
                output_bytes=conf.talk.output_bytes,
            )
            node = Node(conf.name, conf.members, rows, now, options)
            self.driver: Final = Driver(
                *(node, rows, self.workers, hearers, clock.now, settings.mailbox_tombstones * _DAY_S),
                watch=watch or self._gates,
                scrub_pace=(lambda: settings.mailbox_scrub) if watch is None else None,
                doveadm=Doveadm(doveadm, layout.separator) if aligns else None,
                is_slow=watch is not None,
            )
            opened.callback(self.driver.stop)
            self._watch: Final = watch
            self._close: Final = opened.pop_all()

    async def settle(self) -> None:
        """Compare what is kept with the Maildirs, which takes long where these are large, and do what follows; from
        then on texts may come. Raises as the driver does."""
        core = self.driver.node.core
        unread = {} if self.workers is None else await self._compare(self.workers)
        self.driver.begin(unread)
        await self.driver.round()
        if self.workers is not None:
            held, owed = dict(core.causal.held), self._rows.owed_texts()
            boxes = frozenset(box.guid for user in unread for box in self._rows.boxes(user)) if unread else None
            await self.workers.in_first(lambda store: store.clear(held, owed, core.origin, boxes))
        self.driver.is_settled = True

    async def _compare(self, workers: Workers) -> dict[str, str]:
        """Compare each user's rows with the Maildir. Who cannot be compared now -> why: the Maildir cannot be read, or
        lags behind the rows, as works are owed."""
        unread = dict.fromkeys(self._rows.owing(), _OWED)
        users = [user for user in self._rows.users() if user not in unread]
        shown = {user: names(self._rows, user) for user in (*users, *unread)}
        having = {user: _inbox_in(boxes) for user, boxes in shown.items() if boxes or user in unread}
        for each in workers.stores:
            each.expect(having)
        for user, boxes in shown.items():
            # Before any store looks for a mailbox: nothing else tells its folder from a copy. All have one SeenPlaces.
            workers.stores[0].remember(user, boxes)
        for at in range(0, len(users), _USERS_AT_ONCE):
            portion = users[at : at + _USERS_AT_ONCE]
            known = {user: shown[user] for user in portion}
            stored, refused = await workers.in_first(partial(_stored, known))
            self.driver.node.core.recover(stored)
            unread |= {user: why for user, why in refused.items() if user in having}
        return unread

    def stop(self) -> None:
        """Close everything, when all threads have ended; what was not committed is forgotten."""
        self.halt()
        self._wait()
        self._close.close()

    async def ended(self, *, farewell: bool = False) -> None:
        """As `stop`, while the loop goes on. With a `farewell` the gates go: the node ends in order. May be cancelled,
        and asked for again."""
        self.halt()
        await asyncio.get_running_loop().run_in_executor(None, self._wait)
        if farewell and self._gates is not None:
            self._gates.keeper.bye()
        self._close.close()

    def halt(self) -> None:
        """What is under way ends; nothing else is begun."""
        self.driver.stop()
        for each in (self.texts, self.workers):
            if each is not None:
                each.stop()
        if self._watch is not None:
            self._watch.close()

    def end_programs(self, how: signal.Signals) -> None:
        """What was halted waits for a program that does not end."""
        self._doveadm.end(how)

    def _wait(self) -> None:
        """Until no thread does anything any more. What one does in the store is its own until then: nobody else may do
        it again, or open its gates."""
        for each in (self.driver, self.texts, self.workers, self._watch):
            if each is not None:
                each.wait()

    def _wake(self) -> None:
        self.driver.wake()

    def _keeper_gone(self) -> None:
        """Whose name is in the lock files, is dead: everything is begun anew, with another keeper."""
        self._fail(NoKeeper("the keeper of the gates has ended"))

    def _fail(self, error: Exception, *, first: bool = False) -> None:
        """What failed beside the rounds, fails in the next one; `first`: before anything else is done in it."""

        def fail(node: Node, now: float) -> None:
            raise error

        self.driver.tell(fail, first=first)

    def _workers(
        self, conf: Configured, settings: Settings, name: str, here: LocksHere, is_new: bool
    ) -> Workers | None:
        place = conf.place
        if place is None:
            return None
        files, layout = DiskFiles(), LAYOUTS[settings.mailbox_layout]
        host = socket.gethostname().encode()
        gates = self._gates
        blocks = None if gates is None else UidBlocks(conf.mastering.gap, len(conf.members.names))
        keeper = None if gates is None else gates.keeper.pid
        locks = [
            UidlistLock(files, host, time.sleep, _LOCK_WAIT_S, keeper=keeper, here=here)
            for _ in range(settings.mailbox_workers)
        ]
        seen = SeenPlaces()
        stores = [MaildirStore(files, place, layout, lock, name, time.sleep, gates, blocks, seen) for lock in locks]
        stores[0].prepare(is_new)
        return Workers(stores)


def _inbox_in(boxes: Mapping[str, str]) -> str:
    """The GUID of INBOX among a user's mailboxes, as `names` has them; "" for none."""
    return next((guid for guid, name in boxes.items() if name == INBOX), "")


def _watch(
    conf: Configured,
    program: DoveadmProgram,
    settings: Settings,
    wake: Callable[[], None],
    failed: Callable[[Exception], None],
) -> DoveadmWatch:
    layout, folder = LAYOUTS[settings.mailbox_layout], conf.database.parent
    return DoveadmWatch(program, layout, folder, settings.mailbox_poll / 1000, wake, failed)


def _doveadm_workers(conf: Configured, program: DoveadmProgram, settings: Settings, watch: DoveadmWatch) -> Workers:
    files, layout, root = DiskFiles(), LAYOUTS[settings.mailbox_layout], bytes(conf.database.parent.absolute())
    stores = [DoveadmStore(files, root, program, layout, watch.follow) for _ in range(settings.mailbox_workers)]
    stores[0].prepare()
    return Workers(stores)


def _gates(conf: Configured, settings: Settings, wake: Callable[[], None], gone: Callable[[], None]) -> GateRoom:
    """Only with gates, as it needs a library that not everybody has."""
    try:
        from pyrepl.daemon.mailbox.gate_room import GateRoom
    except ImportError:
        raise ConfigError("mailbox-gate needs inotify_simple: pip install 'pyrepl-server[mailboxes]'") from None
    assert conf.gates is not None
    return GateRoom(conf.database.parent, conf.gates, wake, gone, settings.mailbox_poll / 1000)


def _stored(
    users: Mapping[str, Mapping[str, str]], store: NodeStore
) -> tuple[dict[str, dict[str, StoredBox]], dict[str, str]]:
    """What is there of each user, and of those whose Maildir cannot be read, why. `users`: the names of the mailboxes
    of each, by GUID."""
    found, refused = {}, {}
    for user, boxes in users.items():
        try:
            found[user] = all_of(store, user, boxes)
        except TROUBLE as error:
            refused[user] = failed(error).reason
    return found, refused
