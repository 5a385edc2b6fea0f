"""Rows of directives.py about the process and the system that it runs on: its signals."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.process_kinds import ShutdownOptions


class Process:
    """The process and its system"""

    shutdown_on_sigint = Directive(
        ShutdownOptions(),
        (),
        "How SIGINT (Ctrl-C) ends the node, in the options of SHUTDOWN: save or nosave, now (wait for no replica),"
        " force (end even if the snapshot cannot be written). default: a snapshot if there are save points. A second"
        " signal ends the node at once.",
    )
    shutdown_on_sigterm = Directive(ShutdownOptions(), (), "The same for SIGTERM, which systemd sends.")
