"""What the log says of a link that ended: our line with phase and cause, and Redis's own behind it."""

from __future__ import annotations

import pytest

from pyrepl.observability.telling.link_lines import command_name, lines
from pyrepl.replication.events import LinkState, Lost
from pyrepl.replication.psync import Cause, Reason

CASES = [
    (Cause.TIMEOUT, "connecting", LinkState.CONNECTING, "Timeout connecting to the MASTER..."),
    (Cause.TIMEOUT, "handshake:psync", LinkState.HANDSHAKE, "Timeout connecting to the MASTER..."),
    (Cause.TIMEOUT, "rdb_channel:waiting_for_snapshot", LinkState.PAIRING, "Timeout connecting to the MASTER..."),
    (Cause.TIMEOUT, "transfer", LinkState.TRANSFER, "Timeout receiving bulk data from MASTER..."),
    (Cause.TIMEOUT, "connected", LinkState.CONNECTED, "MASTER timeout: no data nor PING received..."),
    (Cause.REFUSED, "auth", LinkState.HANDSHAKE, "Unable to AUTH to MASTER: -words"),
    (Cause.REFUSED, "rdb_channel:auth", LinkState.PAIRING, "Unable to AUTH to MASTER: -words"),
    (Cause.REFUSED, "ping", LinkState.HANDSHAKE, "Error reply to PING from master: '-words'"),
    (Cause.REFUSED, "psync", LinkState.HANDSHAKE, "Unexpected reply to PSYNC from master: -words"),
    (
        Cause.NOT_READY,
        "",
        LinkState.HANDSHAKE,
        "Master is currently unable to PSYNC but should be in the future: -words",
    ),
    (Cause.CONNECTION_LOST, "", LinkState.TRANSFER, "I/O error trying to sync with MASTER: words"),
]


@pytest.mark.parametrize(("cause", "detail", "state", "line"), CASES, ids=lambda value: str(value)[:30])
def test_redis_lines_stand_behind_ours(cause: Cause, detail: str, state: LinkState, line: str) -> None:
    """As redis-server 8.2 writes them; the first line names the cause in our words."""
    lost = Lost(Reason(cause, detail=detail), state, "words")
    first, second, *rest = [event.text() for event in lines(lost, asked=True, keeps_position=False)]
    assert f"(cause: {lost.reason})" in first and second.startswith(line) and rest == []


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (False, "Master did not respond to command during SYNC handshake"),
        (True, "Master did not reply to PSYNC, will try later"),
    ],
)
def test_a_master_that_hangs_up_without_an_answer(asked: bool, line: str) -> None:
    lost = Lost(Reason(Cause.CONNECTION_LOST), LinkState.HANDSHAKE, "closed")
    assert [event.text() for event in lines(lost, asked=asked, keeps_position=True)][1:] == [line]


def test_a_stream_that_can_be_continued() -> None:
    lost = Lost(Reason(Cause.CONNECTION_LOST), LinkState.CONNECTED, "closed")
    said = [event.text() for event in lines(lost, asked=True, keeps_position=True)]
    assert said == ["Connection with master lost. (cause: connection_lost)", "Caching the disconnected master state."]


def test_causes_that_redis_has_no_line_for() -> None:
    lost = Lost(Reason(Cause.STOPPED), LinkState.HANDSHAKE, "stopped")
    assert len(lines(lost, asked=True, keeps_position=True)) == 1


def test_the_name_of_a_command_is_short_text() -> None:
    assert command_name([b"SET", b"a", b"1"]) == "SET"
    assert command_name([b"\xff" + b"x" * 1000]) == "\ufffd" + "x" * 127
