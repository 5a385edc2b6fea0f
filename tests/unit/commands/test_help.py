"""The frame of HELP replies."""

from __future__ import annotations

from pyrepl.commands.help import help_reply


def test_frame() -> None:
    assert [line.text for line in help_reply("BOX", "OPEN", "    Open it.")] == [
        b"BOX <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        b"OPEN",
        b"    Open it.",
        b"HELP",
        b"    Prints this help.",
    ]
