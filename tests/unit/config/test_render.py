"""CONFIG REWRITE keeps what people wrote where it is still true; the sample says everything."""

from __future__ import annotations

import shlex

from pyrepl.config.directives import ROWS
from pyrepl.config.kinds import MasterAddress
from pyrepl.config.loading import load
from pyrepl.config.parser import read_argv, read_file, split_line
from pyrepl.config.render import SIGNATURE, options, rewrite, sample
from pyrepl.config.settings import Settings

FILE = b"""# our master
port 6379   \r

# keep this remark
save 900 1
save 300 10
client-output-buffer-limit slave 256MB 64mb 60
slaveof db1 6379
activerehashing yes
broken "line
include other.conf"""


def read(content: bytes) -> Settings:
    settings = Settings()
    load(
        settings,
        read_file(content.replace(b'broken "line', b"").replace(b"include other.conf", b""), "x", lambda path: []),
    )
    return settings


def test_an_unchanged_file_stays_byte_for_byte() -> None:
    assert rewrite(FILE, read(FILE)) == FILE + b"\n"
    assert rewrite(b"", Settings()) == b""


def test_changed_lines_are_replaced_in_their_place() -> None:
    settings = read(FILE)
    settings.set("port", b"7000")
    settings.set("save", b"1 2 3 4 5 6")
    settings.set("activerehashing", b"no")
    assert rewrite(FILE, settings) == (
        FILE.replace(b"port 6379   \r", b"port 7000")
        .replace(b"save 900 1\nsave 300 10", b"save 1 2\nsave 3 4\nsave 5 6")
        .replace(b"activerehashing yes", b"activerehashing no")
        + b"\n"
    )


def test_surplus_lines_vanish() -> None:
    settings = read(FILE)
    settings.set("save", b"1 2")
    assert rewrite(FILE, settings) == FILE.replace(b"save 900 1\nsave 300 10", b"save 1 2") + b"\n"
    settings.set("save", b"")
    assert rewrite(FILE, settings) == FILE.replace(b"save 900 1\nsave 300 10", b'save ""') + b"\n"


def test_promotion_and_demotion_as_sentinel_writes_them() -> None:
    settings = read(FILE)
    settings.assign("replicaof", None)
    promoted = rewrite(FILE, settings)
    assert promoted == FILE.replace(b"slaveof db1 6379\n", b"") + b"\n"
    settings.assign("replicaof", MasterAddress("db2", 6380))
    assert rewrite(FILE, settings) == FILE.replace(b"slaveof db1 6379", b"replicaof db2 6380") + b"\n"
    again = rewrite(promoted, settings)
    assert again == promoted + SIGNATURE + b"\nreplicaof db2 6380\n"
    settings.set("timeout", b"7")
    assert rewrite(again, settings) == again + b"timeout 7\n"


def test_what_differs_from_the_default_is_appended_once_and_quoted() -> None:
    settings = Settings()
    settings.set("requirepass", b"a b\xff")
    settings.set("repl-backlog-size", b"67108864")
    settings.set("oom-score-adj-values", b"50 99")
    expected = b'requirepass "a b\\xff"\nrepl-backlog-size 64mb\noom-score-adj-values 50 99\n'
    assert rewrite(b"", settings) == SIGNATURE + b"\n" + expected
    assert rewrite(rewrite(b"", settings), settings) == SIGNATURE + b"\n" + expected


def test_a_value_back_at_its_default_is_written_where_a_line_stood() -> None:
    assert rewrite(b"port 7000\nrequirepass x\n", Settings()) == b"port 6379\n"


def test_repeated_lines_of_one_directive_become_one() -> None:
    settings = Settings(port=3)
    assert rewrite(b"port 1\nhz 10\nport 2\n", settings) == b"port 3\nhz 10\n"
    assert rewrite(b"port 1\nhz 10\nport 3\n", settings) == b"port 1\nhz 10\nport 3\n"


def test_several_lines_of_an_accepted_directive_are_left_alone() -> None:
    content = b"oom-score-adj a\noom-score-adj b\n"
    assert rewrite(content, read(content)) == content


def test_the_sample_shows_every_directive_commented_out_at_its_default() -> None:
    text = sample()
    assert all(split_line(line, "sample", 1) is None for line in text.split(b"\n"))
    switched_on = [line[1:] for line in text.split(b"\n") if line[:1] == b"#" and line[1:2] not in (b"", b" ", b"#")]
    names = {line.split()[0].decode() for line in switched_on}
    assert names == {name for name, row in ROWS.items() if not row.hidden}
    values = b"\n".join(line for line in switched_on if not line.startswith(b"replicaof "))
    assert read(values).matching(b"*") == Settings().matching(b"*")
    assert max(map(len, text.split(b"\n"))) <= 120


def test_every_directive_with_an_effect_is_an_option_of_the_command_line() -> None:
    """What the help shows can be typed, and is what holds without it."""
    shown = {option.split()[0]: (option, help) for _, rows in options() for option, help in rows}
    expected = {f"--{name}" for name, row in ROWS.items() if not (row.hidden or row.inert)}
    assert set(shown) == expected and len(expected) > 80
    for name, (option, help) in shown.items():
        row = ROWS[name.removeprefix("--")]
        settings = Settings()
        if row.default:
            load(settings, read_argv([word.encode() for word in shlex.split(option)], lambda path: []))
        assert settings.value_of(row) == row.default, option
        assert help.endswith(".") and "\n" not in help
