"""One section of INFO as a dict, for the tests of sections."""

from __future__ import annotations

from pyrepl.observability.info.report import info_text
from tests.unit.commands.rig import Rig


def info(rig: Rig, section: str) -> dict[str, str]:
    """The lines of one section, in order."""
    lines = info_text(rig.node, [section]).decode().split("\r\n")[1:-1]
    return dict(line.split(":", 1) for line in lines)
