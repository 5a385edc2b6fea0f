"""What the command line of `pyrepl metrics` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from pyrepl.analysis.asked import Asked


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What is to be analysed, and how it is shown."""

    asked: Asked
    format: str = "text"
    quiet: bool = False
    follow: bool = False
