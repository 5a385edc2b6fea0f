"""Carries out what commands ask of the process: finds the deed that belongs to an Effect.

The deeds are the parts' of the node: each part, or a `deeds` module beside it, gives those that are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.resp.reply import Reply

Deed = Callable[[Call, Any], Reply]
"""Carries an effect out and gives its reply, as the effect's docstring says. Raises CommandError as commands do."""

Deeds = Mapping[type[Effect], Deed]
"""Which deed belongs to which effect."""


@final
class Performer:
    """Performs effects for one node; how each is carried out it learns once the parts of the node are made."""

    def __init__(self) -> None:
        self._deeds: dict[type[Effect], Deed] = {}

    def learn(self, *parts: Deeds) -> None:
        """From now on these effects are carried out so. Raises ValueError when two parts give a deed for one effect."""
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
        """The reply to the command that returned `effect`. Raises CommandError as commands do."""
        return self._deeds[type(effect)](call, effect)
