"""Runs a node in an event loop of its own. If the node cannot start, prints the reason in one line and returns an exit
code; `cli` calls it.

When a node has ended, the process ends at once (`os._exit`): all that the node had to write is written, and nobody
needs the rest of its threads' work (an fsync on a slow disk, memory to be touched). A normal exit of the interpreter
would wait for these threads without a limit, and free millions of keys one by one.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
from pathlib import Path
from typing import NoReturn

import uvloop

from pyrepl.config.loading import Loaded
from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.descriptors import RESERVED_FDS, descriptors_for
from pyrepl.daemon.memory import arenas
from pyrepl.daemon.memory.housekeeper import GC_THRESHOLDS
from pyrepl.errors import ConfigError
from pyrepl.observability import events
from pyrepl.observability.event import Event


def run_node(settings: Settings, config_file: Path | None, loaded: Loaded) -> int:
    """Run a node until it is told to end, which also ends the process. Returns only when the node could not start: the
    exit code. `loaded` is what the loading of `settings` has reported.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    if settings.huge_pages:
        arenas.install()
    # Vector sets load numpy, whose threads would wait busily between two commands.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
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
    """The lines for the operator about the configuration."""
    first = events.ConfigurationLoaded() if config_file is not None or loaded.seen else events.NoConfigurationFile()
    text = loaded.notice()
    return [first] if text is None else [first, events.ConfigurationNotice(text)]


def _allow_descriptors(settings: Settings) -> list[Event]:
    """Raise the limit on open files to what maxclients, its reserve and handshakes need, or lower maxclients to what
    the system allows."""
    wanted, liked = descriptors_for(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= liked:
        return []
    granted = liked if hard == resource.RLIM_INFINITY else min(liked, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
    if granted >= wanted:
        return []
    settings.maxclients = max(1, granted - RESERVED_FDS)
    return [events.TooFewFileDescriptors(wanted, granted, settings.maxclients)]
