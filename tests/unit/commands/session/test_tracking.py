"""CLIENT TRACKING and its like: replies, refusals, and what the dispatcher remembers.

Beside a real Redis: tests/property/test_differential_tracking.py.
"""

from __future__ import annotations

import pytest

from pyrepl.observability.client_line import client_flags, client_line
from pyrepl.resp.reply import OK, Push
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_client_is_told_of_what_it_has_read(rig: Rig) -> None:
    reader = rig.connect(proto=3)
    assert rig.say("CLIENT TRACKING ON", reader) is OK
    rig.say("GET k", reader)
    rig.say("SET k 1")
    assert rig.node.deliveries == [(reader.id, Push((b"invalidate", [b"k"])))]
    rig.node.deliveries.clear()
    rig.say("SET k 2", reader)
    assert rig.node.deliveries == [], "a write is no reading"
    for line in ("MULTI", "GET k", "EXEC", "SET k 3"):
        rig.say(line, reader)
    assert rig.node.deliveries == [(reader.id, Push((b"invalidate", [b"k"])))]
    assert client_flags(reader) == b"t" and b" redir=0 " in client_line(reader, 0.0)
    rig.say("RESET", reader)
    assert reader.tracking is None and rig.node.tracking.clients_count == 0


def test_caching_is_for_one_command_or_one_transaction(rig: Rig) -> None:
    client = rig.connect(proto=3)
    rig.say("CLIENT TRACKING ON OPTIN", client)
    for lines, kept in (
        (["GET k"], 0),
        (["CLIENT CACHING YES", "GET k", "GET other"], 1),
        (["CLIENT CACHING YES", "MULTI", "GET a", "GET b", "EXEC"], 3),
    ):
        for line in lines:
            rig.say(line, client)
        assert rig.node.tracking.keys_count == kept


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("CLIENT TRACKING ON PREFIX a", "PREFIX option requires BCAST mode to be enabled"),
        ("CLIENT TRACKING ON BCAST OPTIN", "OPTIN and OPTOUT are not compatible with BCAST"),
        ("CLIENT TRACKING ON OPTIN OPTOUT", "You can't specify both OPTIN mode and OPTOUT mode"),
        ("CLIENT TRACKING ON REDIRECT 77", "The client ID you want redirect to does not exist"),
        ("CLIENT TRACKING ON BCAST PREFIX a PREFIX ab", "Prefix 'a' overlaps with another provided prefix 'ab'"),
        ("CLIENT TRACKING maybe", "syntax error"),
        ("CLIENT CACHING YES", "CLIENT CACHING can be called only when the client is in tracking mode"),
    ],
)
def test_refusals(rig: Rig, line: str, error: str) -> None:
    assert rig.error(line).startswith(f"ERR {error}")
    assert rig.node.tracking.clients_count == 0


def test_info(rig: Rig) -> None:
    assert rig.say("CLIENT GETREDIR") == -1
    rig.say("CLIENT TRACKING ON BCAST PREFIX b PREFIX a")
    assert rig.say("CLIENT TRACKINGINFO") == {b"flags": [b"on", b"bcast"], b"redirect": 0, b"prefixes": [b"a", b"b"]}
    assert rig.say("CLIENT GETREDIR") == 0
