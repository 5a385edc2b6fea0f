"""The base of what a command returns when it needs the world outside; the records are in `effects`.

Alone here, as compiled classes (`call` and its like) are no base for others.
"""

from __future__ import annotations

from pyrepl.frozen import Frozen


class Effect(Frozen):
    """Asks the daemon to do something and answer for it."""
