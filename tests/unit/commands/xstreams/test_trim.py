"""The trimming options alone: what they parse to, and how a rounded trim is rewritten."""

from __future__ import annotations

import pytest

from pyrepl.commands.xstreams.log import NODE_ENTRIES, append, size
from pyrepl.commands.xstreams.trim import parse_trim
from pyrepl.errors import CommandError
from pyrepl.rdb.values import StreamValue


def words(line: str) -> tuple[bytes, ...]:
    return tuple(line.encode().split())


@pytest.mark.parametrize(
    ("line", "maxlen", "minid", "approximate", "limit"),
    [
        ("MAXLEN 5", 5, None, False, None),
        ("maxlen = 5", 5, None, False, None),
        ("MAXLEN ~ 5", 5, None, True, 10_000),
        ("MAXLEN ~ 5 LIMIT 7", 5, None, True, 7),
        ("LIMIT 7 MINID ~ 5-1", None, (5, 1), True, 7),
        ("MINID ~ 5 LIMIT 0", None, (5, 0), True, None),
    ],
)
def test_options(
    line: str, maxlen: int | None, minid: tuple[int, int] | None, approximate: bool, limit: int | None
) -> None:
    trim = parse_trim(words(line), NODE_ENTRIES, from_master=False)
    assert (trim.maxlen, trim.minid, trim.approximate, trim.limit) == (maxlen, minid, approximate, limit)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("MAXLEN", "ERR syntax error"),
        ("MAXLEN ~", "ERR value is not an integer or out of range"),
        ("MAXLEN -1", "ERR The MAXLEN argument must be >= 0."),
        ("MAXLEN ~ 1 LIMIT -1", "ERR The LIMIT argument must be >= 0."),
        ("MINID x", "ERR Invalid stream ID specified as stream command argument"),
        (
            "MAXLEN 1 MINID 1",
            "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
        ),
        ("LIMIT 0", "ERR syntax error, XTRIM must be called with a trimming strategy"),
    ],
)
def test_complaints(line: str, complaint: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_trim(words(line), NODE_ENTRIES, from_master=False)
    assert str(caught.value) == complaint


def test_the_exact_form_keeps_every_other_word() -> None:
    stream = StreamValue()
    for number in range(1, 261):
        append(stream, (number, 0), ())
    trim = parse_trim(words("LIMIT 150 MAXLEN ~ 10"), NODE_ENTRIES, from_master=False)
    assert trim.apply(stream) == 100
    assert size(stream) == 160
    argv = [b"xtrim", b"s", *words("LIMIT 150 MAXLEN ~ 10")]
    assert trim.exact(argv, 2, stream) == [b"xtrim", b"s", *words("LIMIT 150 MAXLEN = 160")]
    assert argv[5] == b"~", "the client's words stay as they are"


@pytest.mark.parametrize(("node_entries", "limit"), [(0, 10_000), (7, 700), (50_000, 1_000_000)])
def test_the_usual_limit_is_a_hundred_nodes_and_a_million_entries_at_most(node_entries: int, limit: int) -> None:
    assert parse_trim(words("MAXLEN ~ 5"), node_entries, from_master=False).limit == limit


def test_the_size_of_nodes_is_a_setting() -> None:
    stream = StreamValue()
    for number in range(1, 101):
        append(stream, (number, 0), ())
    assert parse_trim(words("MAXLEN ~ 50"), 20, from_master=False).apply(stream) == 40
