"""Configurations as lines: comments, quoting, includes, command lines."""

from __future__ import annotations

import pytest

from pyrepl.config.parser import COMMAND_LINE, join_line, read_argv, read_file, split_line
from pyrepl.errors import ConfigError

FILES = {
    "more.conf": b"port 2\ninclude deep.conf\n",
    "deep.conf": b"\n\nhz 3",
    "self.conf": b"include self.conf",
    "*.d": b"",
}


def read(path: str) -> list[tuple[str, bytes]]:
    if path == "conf.d/*.conf":
        return [("conf.d/a.conf", b"hz 1"), ("conf.d/b.conf", b"hz 2")]
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return [(path, FILES[path])]


def lines(content: bytes) -> list[tuple[str, str, list[bytes]]]:
    return [(line.where, line.name, line.words) for line in read_file(content, "a.conf", read)]


def test_comments_blank_lines_quotes_and_line_ends() -> None:
    content = b'# port 1\r\n\r\n  Port\t6380 \r\nrequirepass "a \\"b\\" #c"\n  # x\nsave ""\nbind a b'
    assert lines(content) == [
        ("a.conf, line 3", "port", [b"6380"]),
        ("a.conf, line 4", "requirepass", [b'a "b" #c']),
        ("a.conf, line 6", "save", [b""]),
        ("a.conf, line 7", "bind", [b"a", b"b"]),
    ]


def test_unbalanced_quotes_name_the_place_and_not_the_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        lines(b'port 1\nrequirepass "hunter2')
    assert str(caught.value) == "a.conf, line 2: unbalanced quotes"


def test_includes_stand_in_their_place() -> None:
    assert lines(b"port 1\ninclude more.conf\nport 4") == [
        ("a.conf, line 1", "port", [b"1"]),
        ("more.conf, line 1", "port", [b"2"]),
        ("deep.conf, line 3", "hz", [b"3"]),
        ("a.conf, line 3", "port", [b"4"]),
    ]
    assert [where for where, _, _ in lines(b"include conf.d/*.conf")] == [
        "conf.d/a.conf, line 1",
        "conf.d/b.conf, line 1",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"include", "a.conf, line 1: include: wrong number of arguments"),
        (b"include a b", "a.conf, line 1: include: wrong number of arguments"),
        (b"\ninclude gone.conf", "a.conf, line 2: include: cannot read gone.conf: No such file or directory"),
        (b"include self.conf", "self.conf, line 1: include: more than 16 files deep; does it include itself?"),
    ],
)
def test_bad_includes(content: bytes, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        lines(content)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([b"--save", b"", b"--port", b"6380"], [("save", [b""]), ("port", [b"6380"])]),
        (
            [b"--port", b"6380", b"--replicaof", b"host", b"6379"],
            [("port", [b"6380"]), ("replicaof", [b"host", b"6379"])],
        ),
        ([b"--Port 6380"], [("port", [b"6380"])]),
        ([b"--save", b"--port", b"1"], [("save", []), ("port", [b"1"])]),
        ([b"--masterauth", b"--x", b"--hz", b"1"], [("masterauth", [b"--x"]), ("hz", [b"1"])]),
        ([b"--bind", b"::1", b"-::2"], [("bind", [b"::1", b"-::2"])]),
        ([b"--include", b"more.conf", b"--hz", b"1"], [("port", [b"2"]), ("hz", [b"3"]), ("hz", [b"1"])]),
        ([b"--requirepass", b'"'], [("requirepass", [b'"'])]),
        ([b'--"'], [('"', [])]),
        ([], []),
    ],
)
def test_command_lines(argv: list[bytes], expected: list[tuple[str, list[bytes]]]) -> None:
    assert [(line.name, line.words) for line in read_argv(argv, read)] == expected


def test_a_word_without_a_directive() -> None:
    with pytest.raises(ConfigError, match="command line: expected --directive, got 'port'"):
        list(read_argv([b"port", b"1"], read))


def test_where_on_the_command_line() -> None:
    assert next(iter(read_argv([b"--port", b"1"], read))).where == f"{COMMAND_LINE}, --port"


def test_joined_lines_are_quoted_only_where_they_must() -> None:
    assert join_line("bind", [b"*", b"-::*"]) == b"bind * -::*"
    assert join_line("save", [b""]) == b'save ""'
    assert join_line("requirepass", [b"a b\n\xff#"]) == b'requirepass "a b\\n\\xff#"'
    line = split_line(join_line("requirepass", [b"'\\\""]), "x", 1)
    assert line is not None
    assert line.words == [b"'\\\""]
