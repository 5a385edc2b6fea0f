"""Runs a node in an event loop of its own, and turns why it could not start into one line and an exit code.

A node that has ended ends the process at once: all it had to write is written, and what its threads may still be at (an
fsync on a slow disk, memory to be touched) is nobody's any more. The interpreter would wait for them without end, and
take millions of keys apart.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
from pathlib import Path
from typing import Final, NoReturn

import uvloop

from pyrepl.config.loading import Loaded
from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.memory import arenas
from pyrepl.daemon.memory.housekeeper import GC_THRESHOLDS
from pyrepl.errors import ConfigError
from pyrepl.observability import events
from pyrepl.observability.event import Event

RESERVED_FDS: Final = 32
"""Descriptors that are no client's: sockets listened on, files, the child's pipe (Redis's CONFIG_MIN_RESERVED_FDS)."""


def run_node(settings: Settings, config_file: Path | None, loaded: Loaded) -> int:
    """Live until the node is told to end, and the process with it; the exit code when it could not start.

    `loaded` is what loading `settings` showed.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    if settings.huge_pages:
        arenas.install()
    notices = [*_notices(config_file, loaded), *_allow_descriptors(settings)]
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_live(settings, config_file, notices))
            _exit_at_once()
    except ConfigError as error:
        sys.stderr.write(f"pyrepl: {error}\n")
        return 1


def _exit_at_once() -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def _live(settings: Settings, config_file: Path | None, notices: list[Event]) -> None:
    app = App(settings, config_file)
    try:
        await app.life.run(notices)
    except ConfigError as error:
        if settings.logfile:
            app.log(events.CannotStart(str(error)))
        raise


def _notices(config_file: Path | None, loaded: Loaded) -> list[Event]:
    """What the operator should know of the configuration."""
    first = events.ConfigurationLoaded() if config_file is not None or loaded.seen else events.NoConfigurationFile()
    text = loaded.notice()
    return [first] if text is None else [first, events.ConfigurationNotice(text)]


def _allow_descriptors(settings: Settings) -> list[Event]:
    """Raise the limit on open files to what maxclients needs, or lower maxclients to what the system allows."""
    wanted = settings.maxclients + RESERVED_FDS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return []
    granted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
    if granted >= wanted:
        return []
    settings.maxclients = max(1, granted - RESERVED_FDS)
    return [events.TooFewFileDescriptors(wanted, granted, settings.maxclients)]
