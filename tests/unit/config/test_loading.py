"""Loading: what is refused and how it is said, what is accepted and how the operator learns of it."""

from __future__ import annotations

import pytest

from pyrepl.config.kinds import SavePoint
from pyrepl.config.loading import Loaded, load, nearest
from pyrepl.config.parser import read_argv, read_file
from pyrepl.config.settings import Settings
from pyrepl.errors import ConfigError


def loaded(content: bytes, *argv: bytes) -> tuple[Settings, Loaded]:
    settings = Settings()
    lines = [*read_file(content, "x.conf", lambda path: []), *read_argv(argv, lambda path: [])]
    return settings, load(settings, lines)


def refusal(content: bytes, *argv: bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(content, *argv)
    return str(caught.value)


def test_later_lines_win_and_the_command_line_last() -> None:
    settings, result = loaded(b"port 1\nport 2\nhz 20\n", b"--port", b"3")
    assert (settings.port, settings.hz) == (3, 20)
    assert result.seen == {"port", "hz"}
    assert result.notice() is None


def test_save_lines_add_up_and_replace_the_default() -> None:
    assert loaded(b"save 1 1\nsave 2 2 3 3")[0].save == (SavePoint(1, 1), SavePoint(2, 2), SavePoint(3, 3))
    assert loaded(b'save 1 1\nsave ""')[0].save == ()
    assert loaded(b'save ""\nsave 1 1')[0].save == (SavePoint(1, 1),)


def test_buffer_limits_are_merged_by_class() -> None:
    text = b"client-output-buffer-limit normal 1 2 3\nclient-output-buffer-limit slave 4 5 6"
    limits = loaded(text)[0].client_output_buffer_limit
    assert (limits.normal, limits.replica, limits.pubsub) == ((1, 2, 3), (4, 5, 6), (32 << 20, 8 << 20, 60))


REFUSALS = [
    (b"\nprot 6379", "x.conf, line 2: unknown directive 'prot'; did you mean 'port'?"),
    (b"slave-redonly yes", "x.conf, line 1: unknown directive 'slave-redonly'; did you mean 'slave-read-only'?"),
    (b"activerehash yes", "x.conf, line 1: unknown directive 'activerehash'; did you mean 'activerehashing'?"),
    (b"includ x", "x.conf, line 1: unknown directive 'includ'; did you mean 'include'?"),
    (b"xyzzy", "x.conf, line 1: unknown directive 'xyzzy'"),
    (b"Port 99999", "x.conf, line 1: port 99999: argument must be between 0 and 65535 inclusive"),
    (b"port", "x.conf, line 1: port: wrong number of arguments"),
    (b'port ""', 'x.conf, line 1: port "": argument couldn\'t be parsed into an integer'),
    (b"requirepass hunter2 x", "x.conf, line 1: requirepass: wrong number of arguments"),
    (b"loglevel " + b"x" * 99, None),
    (b"hz \xff", None),
    (b"user", "x.conf, line 1: user: wrong number of arguments"),
    (
        b"user bob on\nuser bob off",
        "x.conf, line 2: user: Duplicate user found. A user can only be defined once in config files",
    ),
    (b"daemonize yes", None),
    (b"cluster-enabled yes", None),
    (b"loadmodule /usr/lib/x.so", None),
    (b"supervised upstart", None),
    (b"rename-command CONFIG", None),
]


@pytest.mark.parametrize(("content", "message"), REFUSALS)
def test_refusals_name_the_place(content: bytes, message: str | None) -> None:
    said = refusal(content)
    assert said == message if message else said.startswith("x.conf, line 1: ")
    assert len(said) < 250
    assert said.isprintable()


def test_a_secret_is_not_repeated() -> None:
    assert "hunter" not in refusal(b"requirepass " + b"hunter2" * 100)
    assert "hunter" not in refusal(b"masterauth hunter2 hunter3")


def test_bad_arguments_on_the_command_line() -> None:
    assert refusal(b"", b"--port", b"x").startswith("command line, --port: port x: ")


def test_one_notice_for_all_that_has_no_effect() -> None:
    settings, result = loaded(
        b"activerehashing yes\ndisable-thp yes\nlocale-collate C\nactiverehashing no\nlist-compress-depth 1"
    )
    assert result.accepted == ["activerehashing", "disable-thp", "locale-collate"]
    assert result.notice() == (
        "Configuration: without effect: activerehashing, disable-thp (Python looks after memory);"
        " locale-collate (pyrepl compares texts byte by byte);"
        " list-compress-depth (pyrepl does not compress the inside of lists)"
    )
    assert settings.list_compress_depth == 1
    assert settings.get("activerehashing") == b"no"


def test_what_is_said_of_mailboxes_has_no_effect_without_their_port() -> None:
    text = b"mailbox-gate on\nmailbox-lmtp-port 2424\nmailbox-tenure 20\n"
    why = "(it needs mailbox-port, without which this node keeps no mailboxes)"
    assert loaded(text)[1].notice() == f"Configuration: without effect: mailbox-gate, mailbox-lmtp-port {why}"
    assert loaded(text + b"mailbox-port 7390")[1].notice() is None


def test_what_has_no_effect_at_its_default_needs_no_notice() -> None:
    assert loaded(b"maxmemory 1gb\nmaxmemory 0\nappendonly no\nnotify-keyspace-events ''")[1].notice() is None


@pytest.mark.parametrize("line", [b"daemonize no", b"cluster-enabled no"])
def test_what_is_refused_may_be_switched_off(line: bytes) -> None:
    assert loaded(line)[1].accepted == [line.split()[0].decode()]


@pytest.mark.parametrize(
    "content",
    [
        b"user default on nopass sanitize-payload ~* &* +@all",
        b"user default on sanitize-payload #5e88 ~* &* +@all\nrequirepass x",
        b"requirepass x\nuser default on >x ~* &* +@all",
    ],
)
def test_the_default_user_as_redis_rewrites_it(content: bytes) -> None:
    assert loaded(content)[1].notice() is None


def test_nearest_prefers_what_has_an_effect() -> None:
    assert nearest("PORT") == "port"
    assert nearest("slaveoff") == "slaveof"
    assert nearest("replica-of") == "replicaof"
    assert nearest("qqq") is None
