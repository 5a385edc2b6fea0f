"""Makes all parts of a node, each with the parts that it uses.

`loop` makes the App, and runs it by `life`, which has the steps of a node's life. `service` says what a part does at
each step. App itself does nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import final

from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.config.settings import Settings
from pyrepl.daemon import optional
from pyrepl.daemon.announcing import Announcer
from pyrepl.daemon.aof.deeds import AofDeeds
from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.beginning import Beginning
from pyrepl.daemon.changes import off as changes_off
from pyrepl.daemon.clients.busy import BusyScripts
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.deeds import ClientDeeds
from pyrepl.daemon.clients.ports import Ports
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clients.upkeep import Upkeep
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.cron import Cron
from pyrepl.daemon.disk.deeds import DiskDeeds
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.disk.user_file import UserFile
from pyrepl.daemon.ending import Ending
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.eventlog.sampler import EventSampler
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.feeding.deeds import FeedingDeeds
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.following.master_link import MasterLink
from pyrepl.daemon.gauges import ProcessUse, Rates
from pyrepl.daemon.life import Life
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.memory.expiring import Expiring
from pyrepl.daemon.memory.growing import Growing
from pyrepl.daemon.memory.housekeeper import Housekeeper
from pyrepl.daemon.memory.limiting import Limiting
from pyrepl.daemon.node_settings import NodeSettings
from pyrepl.daemon.performer import Performer
from pyrepl.daemon.pidfile import PidFile
from pyrepl.daemon.process import this_process
from pyrepl.daemon.process_deeds import ProcessDeeds
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.role_deeds import RoleDeeds
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.service import Services
from pyrepl.daemon.settings_in_force import SettingsInForce
from pyrepl.daemon.signals import Signals
from pyrepl.daemon.subscriptions import subscribe
from pyrepl.daemon.supervision import Supervision
from pyrepl.daemon.wires.connecting import ReachMaster
from pyrepl.daemon.wires.handshakes import Handshakes
from pyrepl.daemon.wires.migrating import MigrateTarget
from pyrepl.daemon.wires.tls import Tls
from pyrepl.node.node import Node
from pyrepl.node.replication import Replication
from pyrepl.replication.roster import RosterOptions


@final
class App:
    """One node: its state, and every shell around it."""

    def __init__(self, settings: Settings, config_file: Path | None) -> None:
        """Must be made inside the event loop that the node runs in. `config_file` is None if there is none."""
        # Parts that nearly all others use.
        self.clock = clock = Clock()
        self.randomness = randomness = Randomness()
        self.signals = signals = Signals()
        process = this_process(randomness.replid(), config_file, clock)
        options = RosterOptions()
        replication = Replication(settings.repl_backlog_size, options, randomness.replid, process.started_at)
        self.node = node = Node(settings, process, replication)
        self.log = log = Log(clock, lambda: "S" if replication.role.is_replica else "M")
        self.event_log = event_log = EventLog(node, clock, log)
        self.faults = faults = Faults(log, event_log)
        tls = Tls(settings, log)
        handshakes = Handshakes(node, tls, clock, log)
        self.performer = Performer()
        table = renamed_table(settings, FAMILIES)
        self.dispatcher = dispatcher = Dispatcher(node, table, randomness, self.performer.perform, clock.precise)
        self.turns = Turns(node, signals, clock)
        self.clients = clients = Clients(node, dispatcher, self.turns, clock, log)
        # Disk, replicas and the master.
        self.saver = saver = Saver(node, signals, clock, log, event_log)
        self.files = files = Files(node, clock, log)
        user_file = UserFile(node, clients, log)
        pauses = ReplPauses(log)
        self.replicas = replicas = Replicas(node, clients, saver, pauses, signals, clock, randomness, log, event_log)
        reach = ReachMaster(settings, tls)
        self.roles = roles = Roles(
            node,
            clients,
            replicas,
            pauses,
            lambda link, by, owner: MasterLink(link, by, owner, node, dispatcher, files, clock, reach, log, event_log),
            signals,
            faults,
            clock,
            randomness,
            log,
            event_log,
        )
        self.failovers = failovers = Failovers(node, clients, replicas, roles, clock, log, event_log)
        self.aof = aof = AofKeeper(node, dispatcher, clients, saver, files, signals, faults, clock, log)
        self.streams = streams = optional.stream_server(
            node, dispatcher, clients, self.turns, event_log, faults, handshakes, clock, log
        )
        self.mailboxes = mailboxes = optional.mailbox_server(
            node, tls, handshakes, clock, randomness, log, event_log, streams
        )
        supervision = (
            Supervision(node, os.environ)
            if mailboxes is None
            else Supervision(node, os.environ, mailboxes.why_dovecot_waits)
        )
        use = ProcessUse(node, clock)
        ports = Ports(node, clients, handshakes, [port for port in (streams, mailboxes) if port is not None], log)
        self.sampler = EventSampler(node, replicas.story, event_log, clock)
        self.services = Services(
            tls,
            ports,
            handshakes,
            user_file,
            NodeSettings(node, options, replicas.story, log),
            log,
            event_log,
            Expiring(node, dispatcher, signals, clock),
            Upkeep(clients),
            Limiting(node, dispatcher, signals, clock, log),
            replicas,
            failovers,
            Housekeeper(node.keyspace, clock),
            Growing(node.keyspace, lambda: node.is_loading, clock),
            Rates(node),
            saver,
            aof,
            self.sampler,
            roles,
            *(service for service in (streams, mailboxes) if service is not None),
            use,
            supervision,
        )
        self.cron = Cron(node, self.services, faults, clock)
        settings_in_force = SettingsInForce(node, self.services, config_file, log, event_log)
        self.ending = Ending(node, clients, replicas, roles, saver, log)
        node.target = MigrateTarget(tls)
        node.scripts.outside = BusyScripts(node, clients, ports, self.turns, self.ending, self.clock, log)
        self.life = Life(
            node,
            self.services,
            self.cron,
            ports,
            settings_in_force,
            Beginning(node, files, saver, aof, roles, dispatcher, use, config_file),
            self.ending,
            clients,
            Announcer(node, supervision, PidFile(settings, log), event_log, clock, log),
            faults,
            clock,
            log,
        )
        self.performer.learn(
            ProcessDeeds(log).deeds,
            ClientDeeds(clients, dispatcher, signals, clock).deeds,
            DiskDeeds(saver, files, log).deeds,
            user_file.deeds,
            AofDeeds(aof, saver, log).deeds,
            FeedingDeeds(clients, replicas).deeds,
            pauses.deeds,
            RoleDeeds(roles, failovers, clients, log).deeds,
            changes_off.deeds() if streams is None else streams.facts.deeds,
            optional.mailbox_deeds(mailboxes, clients),
            settings_in_force.deeds,
            self.ending.deeds,
        )
        subscribe(signals, clients, replicas, roles, failovers, aof, streams)
