"""Why rows cannot be had from a token on."""

from __future__ import annotations

from typing import final

from pyrepl.errors import PyreplError


@final
class Unavailable(PyreplError):
    """The rows after a token cannot be had here; the text goes to the subscriber as an ERROR and says what can."""
