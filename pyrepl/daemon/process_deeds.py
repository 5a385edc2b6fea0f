"""Carries out the effects that need no part of the node but the log: DEBUG SLEEP, and a line in the log."""

from __future__ import annotations

import time
from typing import final

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.resp.reply import OK, Reply


@final
class ProcessDeeds:
    """The effects that belong to no other part."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {effects.DebugSleep: self._sleep, effects.Log: self._log_event}

    def _sleep(self, call: Call, effect: effects.DebugSleep) -> Reply:
        time.sleep(effect.seconds)
        return OK

    def _log_event(self, call: Call, effect: effects.Log) -> Reply:
        self._log(effect.event)
        return effect.reply
