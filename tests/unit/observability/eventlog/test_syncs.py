"""The name of a sync, and the small things both ends share."""

from __future__ import annotations

import pytest

from pyrepl.observability.eventlog.syncs import in_ms, parts, sync_name
from pyrepl.replication.psync import ASK_FOR_ALL, Cause, Reason, Request
from pyrepl.units import ReplId


def test_a_sync_is_named_by_connection_and_request() -> None:
    assert sync_name("10.0.0.2:43122", Request(ReplId("8371445E" + "0" * 32), 1034)) == "10.0.0.2:43122/8371445e:1034"
    assert sync_name("[::1]:43122", ASK_FOR_ALL) == "[::1]:43122/?"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (None, (None, None, None)),
        (Reason(Cause.FIRST), ("first", None, None)),
        (Reason(Cause.OUT_OF_BACKLOG, 7), ("out_of_backlog", None, 7)),
        (Reason(Cause.TIMEOUT, detail="handshake"), ("timeout", "handshake", None)),
    ],
)
def test_a_reason_in_its_parts(reason: Reason | None, expected: tuple[object, ...]) -> None:
    assert parts(reason) == expected


def test_times_and_modes() -> None:
    assert in_ms(1.0, 1.2345) == 234 and in_ms(None, 5.0) == 0 and in_ms(2.0, 1.0) == 0
