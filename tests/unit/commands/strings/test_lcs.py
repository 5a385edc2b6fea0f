"""LCS against a plain table of lengths, and its limit."""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.commands.strings.lcs import Table
from tests.unit.commands.rig import Rig


def lengths(a: bytes, b: bytes) -> list[list[int]]:
    rows = [[0] * (len(b) + 1)]
    for byte in a:
        row = [0]
        for j, other in enumerate(b):
            row.append(rows[-1][j] + 1 if byte == other else max(row[-1], rows[-1][j + 1]))
        rows.append(row)
    return rows


def is_subsequence(part: bytes, whole: bytes) -> bool:
    rest = iter(whole)
    return all(byte in rest for byte in part)


@pytest.mark.parametrize("seed", range(40))
def test_the_length_and_a_sequence_of_it(seed: int) -> None:
    rng = Random(seed)
    a, b = (bytes(rng.choices(b"abcd"[: 1 + seed % 4], k=rng.randrange(0, 70))) for _ in range(2))
    table = Table(a, b)
    assert table.length == lengths(a, b)[-1][-1]
    matches = table.matches()
    common = b"".join(a[match.a_first : match.a_last + 1] for match in reversed(matches))
    assert len(common) == table.length
    assert is_subsequence(common, a)
    assert is_subsequence(common, b)
    for match in matches:
        assert a[match.a_first : match.a_last + 1] == b[match.b_first : match.b_last + 1]


def test_the_example_of_the_documentation() -> None:
    rig = Rig()
    rig.say("MSET key1 ohmytext key2 mynewtext")
    assert rig.say("LCS key1 key2") == b"mytext"
    assert rig.say("LCS key1 key2 LEN") == 6
    assert rig.say("LCS key1 key2 IDX MINMATCHLEN 4 WITHMATCHLEN") == {
        b"matches": [[[4, 7], [5, 8], 4]],
        b"len": 6,
    }


def test_what_would_take_too_much_memory_is_refused() -> None:
    rig = Rig(proto_max_bulk_len=1024 * 1024)
    rig.say("SETRANGE a 511 x")
    rig.say("SETRANGE b 510 x")
    assert rig.error("LCS a b") == "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
    assert rig.say("LCS b b LEN") == 511
