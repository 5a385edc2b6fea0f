"""Tips, and flags that are shown alone."""

from __future__ import annotations

from pyrepl.commands.describe.shown import SHOWN_FLAGS, TIPS
from pyrepl.commands.engine.table import FLAG_NAMES
from tests.unit.commands.rig import Rig, full_table


def _names() -> set[str]:
    return {row.name for parent in full_table() for row in (parent, *parent.subcommands.values())}


def test_only_commands_that_there_are() -> None:
    assert set(TIPS) | set(SHOWN_FLAGS) <= _names()


def test_a_flag_with_an_effect_is_not_here() -> None:
    assert not {flag for flags in SHOWN_FLAGS.values() for flag in flags} & {name for _, name in FLAG_NAMES}


def test_no_tip_twice() -> None:
    assert all(len(set(tips)) == len(tips) > 0 for tips in TIPS.values())


def test_command_info_shows_them() -> None:
    rig = Rig()
    (info,) = rig.run("COMMAND", "INFO", "DBSIZE")  # type: ignore[misc]
    assert info[7] == [b"request_policy:all_shards", b"response_policy:agg_sum"]  # type: ignore[index]
    (info,) = rig.run("COMMAND", "INFO", "RESTORE-ASKING")  # type: ignore[misc]
    assert b"asking" in [flag.text for flag in info[2]]  # type: ignore[index, union-attr]
