"""The frame of HELP replies."""

from __future__ import annotations

from pyrepl.commands.describe.help import help_reply, subcommand_syntax_error


def test_frame() -> None:
    assert [line.text for line in help_reply("BOX", "OPEN", "    Open it.")] == [
        b"BOX <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        b"OPEN",
        b"    Open it.",
        b"HELP",
        b"    Print this help.",
    ]


def test_the_error_that_points_to_it() -> None:
    error = subcommand_syntax_error("BOX", b"Open" + b"n" * 500)
    assert str(error).startswith("ERR unknown subcommand or wrong number of arguments for 'Open")
    assert str(error).endswith("n'. Try BOX HELP.")
    assert len(str(error)) < 250
