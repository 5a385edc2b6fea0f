"""Carries out the effects that commands return: finds the function, called a deed, that belongs to an effect.

The parts of the node own the deeds: each part, or a `deeds` module beside it, gives its own to `learn`. The dispatcher
calls `perform`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.resp.reply import Reply

Deed = Callable[[Call, Any], Reply]
"""Carries out an effect and returns the reply of the command, as the effect's docstring says. Raises CommandError."""

Deeds = Mapping[type[Effect], Deed]
"""Which deed belongs to which effect."""


@final
class Performer:
    """The deeds of one node. They are learned after the parts are made, as the parts need the dispatcher, which needs
    this object."""

    def __init__(self) -> None:
        self._deeds: dict[type[Effect], Deed] = {}

    def learn(self, *parts: Deeds) -> None:
        """Add deeds. Raises ValueError when two parts give a deed for the same effect."""
        for deeds in parts:
            twice = [effect.__name__ for effect in deeds if effect in self._deeds]
            if twice:
                raise ValueError(f"a second deed for {', '.join(twice)}")
            self._deeds.update(deeds)

    @property
    def known(self) -> frozenset[type[Effect]]:
        """The effects that have a deed."""
        return frozenset(self._deeds)

    def perform(self, call: Call, effect: Effect) -> Reply:
        """Carry out `effect`, and return the reply to the command that returned it. Raises CommandError, and KeyError
        for an effect without a deed."""
        return self._deeds[type(effect)](call, effect)
