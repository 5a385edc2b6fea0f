"""The file that tells scripts which process the node is: `pidfile`. It is there from the start until a good end.

A symbolic link at its place is followed, as Redis does: the operator chose the name, in a folder where others should
not be able to write. At the end the link is removed, not what it leads to.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import final

from pyrepl.config.settings import Settings
from pyrepl.daemon.log_sink import Log
from pyrepl.observability import events


@final
class PidFile:
    """The pidfile, if the directive names one. A pidfile that cannot be written is logged, and the node goes on."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._settings = settings
        self._log = log

    def write(self) -> None:
        """Write our process id, for others to find."""
        path = self._settings.pidfile
        if not path:
            return
        try:
            Path(path).write_text(f"{os.getpid()}\n")
        except OSError as error:
            self._log(events.PidFileFailed(path, error.strerror or str(error)))

    def remove(self) -> None:
        """Remove the file, as the node has ended. Raises OSError."""
        if self._settings.pidfile:
            self._log(events.PidFileRemoved())
            Path(self._settings.pidfile).unlink(missing_ok=True)
