"""The words for what is refused."""

from __future__ import annotations

from pyrepl.acl.denial import Denial, Refused

ARGV = [b"GET", b"key"]


def test_a_command_is_named_with_its_user() -> None:
    text = Denial(Refused.COMMAND, 0).text(b"bob", "get", ARGV)
    assert text == "User bob has no permissions to run the 'get' command"


def test_clients_are_not_told_which_key() -> None:
    assert Denial(Refused.KEY, 1).text(b"bob", "get", ARGV) == "No permissions to access a key"
    assert Denial(Refused.CHANNEL, 1).text(b"bob", "publish", ARGV) == "No permissions to access a channel"


def test_operators_are() -> None:
    text = Denial(Refused.KEY, 1).text(b"bob", "get", ARGV, is_verbose=True)
    assert text == "User bob has no permissions to access the 'key' key"


def test_each_refusal_of_a_queued_command_has_its_words() -> None:
    assert {
        Denial(reason, 0).text_in_exec() for reason in Refused if reason not in (Refused.AUTH, Refused.TLS_CERT)
    } == {
        "no permission to execute the command or subcommand",
        "no permission to touch the specified keys",
        "no permission to access one of the channels used as arguments",
    }
