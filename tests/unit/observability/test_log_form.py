"""Lines of the text log in each form; those of other forms than Redis's were seen of Valkey 9.1."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from pyrepl.config.directives import ROWS
from pyrepl.config.kinds import Choice
from pyrepl.observability.event import Event, Level
from pyrepl.observability.events import CannotFork, DebugLog, ReplicaAsksForSync
from pyrepl.observability.log_form import ISO, JSON, LEGACY, LOGFMT, MILLISECONDS, LogForm, log_line

AT_MS = 1795246809041
"""21 Nov 2026 07:40:09.041 UTC."""
ASKS = ReplicaAsksForSync("127.0.0.1:7001")
REDIS = LogForm()
QUOTES = DebugLog('say "hi" a\\b')


def line(event: Event, how: LogForm = REDIS, *, role: str = "M", utc_offset_s: int = 0) -> str:
    return log_line(event, how, pid=42, role=role, at_ms=AT_MS, utc_offset_s=utc_offset_s)


def test_the_form_of_redis() -> None:
    assert line(ASKS) == "42:M 21 Nov 2026 07:40:09.041 * Replica 127.0.0.1:7001 asks for synchronization"


@pytest.mark.parametrize(("offset_s", "shown"), [(5400, "21 Nov 2026 09:10:09"), (-8 * 3600, "20 Nov 2026 23:40:09")])
def test_local_time(offset_s: int, shown: str) -> None:
    assert line(CannotFork("no memory"), role="S", utc_offset_s=offset_s).startswith(f"42:S {shown}.041 # Can't save")


@pytest.mark.parametrize(
    ("form", "offset_s", "shown"),
    [
        (LEGACY, 0, "21 Nov 2026 07:40:09.041"),
        (ISO, 0, "2026-11-21T07:40:09.041+00:00"),
        (ISO, -5400, "2026-11-21T06:10:09.041-01:30"),
        (MILLISECONDS, 3600, "1795246809041"),
    ],
)
def test_forms_of_time(form: str, offset_s: int, shown: str) -> None:
    assert line(ASKS, LogForm(LEGACY, form), utc_offset_s=offset_s).startswith(f"42:M {shown} * Replica")


@pytest.mark.parametrize(("role", "word"), [("M", "primary"), ("S", "replica"), ("C", "RDB/AOF")])
def test_logfmt(role: str, word: str) -> None:
    assert line(ASKS, LogForm(LOGFMT, ISO), role=role) == (
        f'pid=42 role={word} timestamp="2026-11-21T07:40:09.041+00:00" level=notice '
        'message="Replica 127.0.0.1:7001 asks for synchronization"'
    )


def test_logfmt_has_no_way_to_write_a_quote() -> None:
    assert line(QUOTES, LogForm(LOGFMT)).endswith("""level=warning message="DEBUG LOG: say 'hi' a\\b\"""")


def test_json() -> None:
    written = line(QUOTES, LogForm(JSON))
    assert written == (
        '{"pid":42,"role":"primary","timestamp":"21 Nov 2026 07:40:09.041","level":"warning",'
        r'"message":"DEBUG LOG: say \"hi\" a\\b"}'
    )
    assert json.loads(written)["message"] == QUOTES.text()


def test_json_keeps_letters_of_all_languages() -> None:
    assert "prix: 5 €" in line(DebugLog("prix: 5 €"), LogForm(JSON))


def test_every_level_has_a_word() -> None:
    words = [json.loads(line(_at(level), LogForm(JSON)))["level"] for level in Level if level is not Level.NOTHING]
    assert words == ["debug", "info", "notice", "warning"]


def _at(level: Level) -> Event:
    class Told(Event):
        LEVEL: ClassVar[Level] = level
        TEXT: ClassVar[str] = "told"

    return Told()


def test_the_directives_have_these_forms_and_no_others() -> None:
    kinds = ROWS["log-format"].kind, ROWS["log-timestamp-format"].kind
    assert isinstance(kinds[0], Choice) and set(kinds[0].options) == {LEGACY, LOGFMT, JSON}
    assert isinstance(kinds[1], Choice) and set(kinds[1].options) == {LEGACY, ISO, MILLISECONDS}
