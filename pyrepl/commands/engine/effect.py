"""The base class of effects: a command returns one when it needs the daemon to act. The effects are in `effects`.

It has a module of its own, because a class of a compiled module (such as `call`) cannot be the base of a class that is
not compiled.
"""

from __future__ import annotations

from pyrepl.frozen import Frozen


class Effect(Frozen):
    """Asks the daemon to do something, and to give the reply of the command."""
