"""Makes the node a master or a replica while it runs: starts and ends the link to a master, and carries out what a
change of role means for the other parts.

`replication.role` keeps the role and its rules; `beginning`, `role_deeds` and `failovers` call this module. Not here:
the bytes of the link (`following/master_link.py`), our own replicas (`feeding/replicas.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Final, final

from pyrepl.acl.identity import OURS
from pyrepl.config.kinds import MasterAddress
from pyrepl.config.settings import Settings
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.following.master_link import LinkOwner, MasterLink
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.options_by_name import INTRODUCTION, LINK, set_by_name
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.node.client import Client
from pyrepl.node.node import Node, Process
from pyrepl.observability.client_line import client_line
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.role_changes import RoleTeller
from pyrepl.observability.telling.voice import Voice
from pyrepl.observability.version import VALKEY_VERSION
from pyrepl.rdb.versions import Vendor, newest
from pyrepl.replication import events as machine
from pyrepl.replication.dialects import dialects_of
from pyrepl.replication.handshake import Introduction
from pyrepl.replication.link import Link, LinkOptions
from pyrepl.replication.psync import Cause
from pyrepl.replication.stream_place import StreamPlace, stated_place
from pyrepl.replication.syncbuffer import sync_buffer_limit
from pyrepl.units import Offset, ReplId

CONFIGURED: Final = "configuration"
_CREDENTIALS: Final = frozenset({"masterauth", "masteruser"})


@final
class Roles(LinkOwner, Service):
    """The role of the node at run time, and the owner of the link to its master.

    Invariant: `_shell` is set exactly while the node is a replica.
    """

    def __init__(
        self,
        node: Node,
        clients: Clients,
        replicas: Replicas,
        pauses: ReplPauses,
        shell_for: Callable[[Link, Client, LinkOwner], MasterLink],
        signals: Signals,
        faults: Faults,
        clock: Clock,
        randomness: Randomness,
        log: Log,
        tell: Callable[[Record], None],
    ) -> None:
        """`shell_for` makes the shell of a link to a master; `tell` takes the records of the event log."""
        self._node = node
        self._clients = clients
        self._replicas = replicas
        self.pauses = pauses
        self._shell_for = shell_for
        self._signals = signals
        self._faults = faults
        self._clock = clock
        self._randomness = randomness
        self._log = log
        self._tell = tell
        self._role = node.replication.role
        self._teller = RoleTeller(Voice(log, tell), node.replication.history)
        self._options = LinkOptions()
        self._shell: MasterLink | None = None
        self._handing_over = False
        self.settings_changed(())

    @property
    def link_client_id(self) -> int:
        """The id of the client that stands for our master in CLIENT LIST; 0, which no client has, on a master."""
        return self._shell.client.id if self._shell is not None else 0

    def follow(self, host: str, port: int, *, by: Client) -> None:
        """REPLICAOF: follow host:port from now on. `by` is the client that asked, for the log."""
        self._teller.asked_to_follow(f"{host}:{port}", self._name(by), offers_own_stream=self._role.makes_stream)
        self._signals.role_changes.tell()
        stream_db = self._node.replication.next_db
        self._stop_link()
        self._follow(host, port, stream_db)

    def follow_at_start(self, host: str, port: int, aux: dict[bytes, bytes]) -> None:
        """Follow host:port as the configuration says. `aux` are the fields of the snapshot that was loaded: if they
        state a place in a stream, we ask the master to continue there."""
        place = self._restore(aux)
        self._follow(host, port, 0 if place is None else place.db, at_start=True)

    def lead_at_start(self, aux: dict[bytes, bytes]) -> None:
        """Be a master as the configuration says. If the fields `aux` of the snapshot state a place in a stream, our
        former replicas can be continued: the stream goes on from that place under a new id, and the old id stays valid
        up to the place (Redis 7.0)."""
        if self._restore(aux) is not None:
            replication = self._node.replication
            replication.history.shift(self._randomness.replid(), Offset(replication.backlog.end))
            self._teller.goes_on_under_new_id()

    def _restore(self, aux: dict[bytes, bytes]) -> StreamPlace | None:
        """Take the place in a stream that a snapshot states, and return it; None if it states none."""
        place = stated_place(aux, self._node.settings.databases)
        if place is not None:
            self._role.restore(place.replid, place.cut)
        return place

    def _follow(
        self, host: str, port: int, stream_db: int, *, at_start: bool = False, takes_over: bool = False
    ) -> None:
        node = self._node
        before = self._role.name
        cause = CONFIGURED if at_start else "failover" if takes_over else "replicaof"
        position = self._role.follow(host, port, self._clock.now(), at_start=at_start)
        if takes_over:
            position = position.with_failover(True)
        node.settings.replicaof = MasterAddress(host, port)
        client = self._clients.new_client(f"{host}:{port}", "", OURS)
        client.become_master_link()
        client.db_index = stream_db
        link = Link(host, port, self._options, position, self._randomness.fraction, node.replication.buffer_use)
        shell = self._shell_for(link, client, self)
        self._shell = shell
        node.replication.link, node.replication.link_client = link, client
        self._teller.follows(before, cause, f"{host}:{port}")
        shell.start()
        self._replicas.plan_pump()

    def promote(self, *, by: Client) -> None:
        """REPLICAOF NO ONE: be a master from now on. `by` is the client that asked, for the log."""
        self._lead("replicaof")
        self._teller.promoted(self._name(by))

    def hand_over(self, host: str, port: int) -> None:
        """FAILOVER: follow our replica at host:port, and ask it to be the master. The signal `handed_over` tells how
        this went."""
        self._handing_over = True
        self._signals.role_changes.tell()
        self._follow(host, port, self._node.replication.next_db, takes_over=True)

    def take_back(self) -> None:
        """The hand-over has failed: be the master again."""
        self._handing_over = False
        self._lead("failover_given_up")

    def take_over(self) -> None:
        """Our master asks us to take its place, and `why_not_take_over` found no reason against it: be the master."""
        replication = self._node.replication
        self._teller.asked_to_take_over(f"{replication.master_host}:{replication.master_port}")
        self._lead("failover")

    def _lead(self, cause: str) -> None:
        node = self._node
        before = self._role.name
        self._stop_link()
        old = node.replication.history.replid
        self._role.promote(self._randomness.replid(), self._clock.now())
        node.settings.replicaof = None
        node.keyspace.forget_own_ttls()
        self._teller.leads(before, cause, old)
        self._replicas.plan_pump()

    def _tell_hand_over(self, refusal: str) -> None:
        if self._handing_over:
            self._handing_over = False
            # In a later turn: the link is in the middle of a call here, and a subscriber may end it.
            asyncio.get_running_loop().call_soon(self._signals.handed_over.tell, refusal)

    def hurry(self) -> None:
        """Connect to the master now instead of after the backoff: the reason of the last failure may be gone."""
        if self._shell is not None:
            self._shell.link.hurry(self._clock.now())
            self._shell.pump()

    def drop_link(self) -> None:
        """Break the connection to the master; the link connects again."""
        if self._shell is not None:
            self._shell.drop()

    def stop_listening(self) -> None:
        """The node is about to end: take no more from the master, so that our stream stands still and our replicas can
        get all of it."""
        if self._shell is not None:
            self._shell.stop()

    def listen_again(self) -> None:
        """The shutdown was given up: follow the master again."""
        if self._shell is not None and self._shell.link.state is machine.LinkState.IDLE:
            self._shell.start()

    def stop(self) -> None:
        """The node ends: end the link."""
        self._stop_link()

    def settings_changed(self, names: Collection[str]) -> None:
        """Bring the options of the link up to date."""
        settings = self._node.settings
        set_by_name(self._options, settings, LINK)
        self._options.introduction = introduction(settings, self._node.process)
        aof = self._node.persistence.aof
        self._options.fsynced_cut = (lambda: aof.synced_cut) if settings.appendonly else None
        self._options.dialects = dialects_of(settings)
        self._options.sync_buffer_limit_bytes = sync_buffer_limit(settings, self._node.process.total_system_bytes)
        if self._shell is not None:
            # The link's next deadline was computed from the former repl-timeout.
            self._shell.pump()
        if not _CREDENTIALS.isdisjoint(names):
            # In a later turn, so that the log has the line about the change before the lines of the new attempt.
            asyncio.get_running_loop().call_soon(self.hurry)

    # ------------------------------------------------------------------ what the link tells

    def link_up(self) -> None:
        self._tell_hand_over("")
        self._role.link_up()

    def link_lost(self, event: machine.Lost) -> None:
        if event.reason.cause is Cause.REFUSED:
            self._tell_hand_over(event.text)
        self._role.link_lost()

    def link_continued(self, event: machine.Continued) -> None:
        self._role.continued(event, self._clock.now())
        self._replicas.plan_pump()

    def data_goes(self) -> None:
        # If we were handing over: a node that sends us its data is the master now, although our data is lost.
        self._tell_hand_over("")
        self._signals.stream_ends.tell()
        self._role.stream_lost(self._randomness.replid(), self._clock.now())
        self._replicas.plan_pump()

    def snapshot_loaded(self, replid: str, cut: int) -> None:
        self._signals.stream_ends.tell()
        self._role.snapshot_loaded(ReplId(replid), Offset(cut), self._clock.now())
        self._signals.stream_begins.tell()
        self._replicas.plan_pump()

    def stream_applied(self, raw: bytes) -> None:
        self._role.receive_stream(raw)
        self._signals.stream_grew.tell()
        if self._node.has_messages:
            self._clients.deliver()

    def panic(self) -> None:
        self._faults.die()

    # ------------------------------------------------------------------ inside

    def _stop_link(self) -> None:
        shell, self._shell = self._shell, None
        if shell is None:
            return
        shell.stop()
        self._node.clients.pop(shell.client.id, None)
        self._node.replication.link = self._node.replication.link_client = None

    def _name(self, client: Client) -> str:
        return client_line(client, self._clock.now()).decode("utf-8", "backslashreplace")


def introduction(settings: Settings, process: Process) -> Introduction:
    """What we tell a master about ourselves in the handshake: with tls-replication the port that speaks TLS, as others
    reach us by it (Redis)."""
    own_port = (settings.tls_replication and process.tls_port) or process.any_port
    told = Introduction(
        listening_port=settings.replica_announce_port or own_port,
        version=VALKEY_VERSION,
        rdb_version=newest(Vendor.REDIS).number,
    )
    set_by_name(told, settings, INTRODUCTION)
    return told
