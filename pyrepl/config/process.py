"""Rows of directives.py about the process and the system that it runs on: its sockets, syslog, signals."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import Choice, Integer, Text, YesNo
from pyrepl.config.process_kinds import ShutdownOptions


class Process:
    """The process and its system"""

    unixsocketgroup = Directive(
        Text(),
        "",
        "Group that the Unix socket is given, by name or number; empty: that of the process. As in Valkey.",
        mutable=False,
    )
    bind_source_addr = Directive(
        Text(),
        "",
        "Address of this machine that connections to the master come from; empty, or one that it does not have: as the"
        " system chooses.",
    )
    socket_mark_id = Directive(
        Integer(0, 2**32 - 1),
        0,
        "Mark of the TCP ports' packets, by which Linux can route and filter; needs CAP_NET_ADMIN. 0: none.",
        mutable=False,
    )

    syslog_enabled = Directive(YesNo(), False, "Send what is logged to syslog as well.", mutable=False)
    syslog_ident = Directive(
        Text(needed=True), "redis", "The node's name in syslog, before the process id.", mutable=False
    )
    syslog_facility = Directive(
        Choice("user", *(f"local{number}" for number in range(8))),
        "local0",
        "Facility in syslog: user, or local0 to local7.",
        mutable=False,
    )
    shutdown_on_sigint = Directive(
        ShutdownOptions(),
        (),
        "How SIGINT (Ctrl-C) ends the node, in the options of SHUTDOWN: save or nosave, now (wait for no replica),"
        " force (end even if the snapshot cannot be written). default: a snapshot if there are save points. A second"
        " signal ends the node at once.",
    )
    shutdown_on_sigterm = Directive(ShutdownOptions(), (), "The same for SIGTERM, which systemd sends.")
