"""Which word tells the replicas of a deletion that stands in for another command; compared with Redis 8.2 by hand."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig

EXPIRED = ("EXPIRE k -1", "PEXPIREAT k 1", "GETEX k PXAT 1")
REPLACED = ("SPOP s 9", "RESTORE k 1 {dump} REPLACE ABSTTL")


@pytest.mark.parametrize(
    "lines_and_setting", [(EXPIRED, "lazyfree_lazy_expire"), (REPLACED, "lazyfree_lazy_server_del")]
)
@pytest.mark.parametrize("lazy", [False, True])
def test_each_follows_its_own_directive(lines_and_setting: tuple[tuple[str, ...], str], lazy: bool) -> None:
    lines, setting = lines_and_setting
    others = {"lazyfree_lazy_expire", "lazyfree_lazy_server_del", "lazyfree_lazy_user_del"} - {setting}
    rig = Rig(**{setting: lazy}, **dict.fromkeys(others, not lazy))
    for line in lines:
        rig.say("SET k v")
        dump = rig.say("DUMP k")
        assert isinstance(dump, bytes)
        rig.say("SADD s a b")
        rig.stream()
        rig.run(*[dump if word == "{dump}" else word for word in line.split()])
        assert rig.stream()[-1] == f"{'UNLINK' if lazy else 'DEL'} {line.split()[1]}", line
