"""What collectors put around lines comes off, and the rest is read as if it had never been there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.metrics.textlines import parse
from pyrepl.metrics.wrappers import WRAPPERS, Unwrapped, present, unwrap
from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS

SAID = "Replica 127.0.0.1:7001 asks for synchronization"
OWN = f"77:M 21 Nov 2026 11:09:41.858 * {SAID}"
AT_US = 1_795_259_381_858_000
WHOLE_US = AT_US - 858_000
LATER_US = AT_US + 3_600_000_000


def docker(line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-11-21T11:09:41.9Z"}, separators=(",", ":"))


def cri(line: str) -> str:
    return f"2026-11-21T11:09:41.858123456Z stdout F {line}"


def journald(line: str, **more: Any) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": str(AT_US), "_PID": "77", "MESSAGE": line} | more)


def syslog(line: str) -> str:
    return f"Nov 21 11:09:41 db1 redis[77]: {line}"


def logfmt(line: str) -> str:
    quoted = line.replace("\\", "\\\\").replace('"', '\\"')
    return f'time="2026-11-21T11:09:41Z" level=info msg="{quoted}" stream=stdout'


HOST = {"_HOSTNAME": "db1", "_SYSTEMD_UNIT": "redis@6379.service", "SYSLOG_IDENTIFIER": "redis"}


def taken(*lines: str, written_us: int = LATER_US, zone: str = "UTC") -> Unwrapped:
    words = pa.array(lines, pa.string())
    return unwrap(words, present(words), zone, written_us)


@pytest.mark.parametrize(
    ("line", "name", "node", "us"),
    [
        (docker(OWN), "docker", None, AT_US),
        (cri(OWN), "cri", None, AT_US),
        (journald(OWN), "journald", None, AT_US),
        (journald(OWN, **HOST), "journald", "db1/redis@6379", AT_US),
        (journald(SAID, _HOSTNAME="db1", SYSLOG_IDENTIFIER="redis"), "journald", "db1/redis", AT_US),
        (journald("", _HOSTNAME="db1") .replace('""', json.dumps(list(SAID.encode()))), "journald", "db1/?", AT_US),
        (syslog(OWN), "syslog", "db1/redis", AT_US),
        (syslog(SAID), "syslog", "db1/redis", WHOLE_US),
        (f"<134>{syslog(SAID)}", "syslog", "db1/redis", WHOLE_US),
        (f"2026-11-21T13:09:41.858123+02:00 db1 redis[77]: {SAID}", "syslog", "db1/redis", AT_US),
        (f"<134>1 2026-11-21T11:09:41.858Z db1 redis 77 - - {SAID}", "syslog", "db1/redis", AT_US),
        (f'<134>1 2026-11-21T11:09:41.858Z db1 redis 77 id [a@1 b="c"] {SAID}', "syslog", "db1/redis", AT_US),
        (logfmt(OWN), "logfmt", None, AT_US),
        (f"ts=2026-11-21T11:09:41Z stream=stdout message=\"{OWN}\"", "logfmt", None, AT_US),
    ],
)  # fmt: skip
def test_each_wrapper(line: str, name: str, node: str | None, us: int) -> None:
    found = taken(line)
    assert found.seen == {name: 1} and name in WRAPPERS
    (row,) = parse(found.lines, "UTC", found.nodes).events.to_pylist()
    assert (row["node"], row["event"], row["at_us"], row["run"]) == (node, "psync_asked", us, "77")


@pytest.mark.parametrize(
    ("written_us", "us"),
    [
        (LATER_US, WHOLE_US),
        (WHOLE_US - 80_000_000_000, WHOLE_US),
        (WHOLE_US - 100_000_000_000, WHOLE_US - 365 * 86_400_000_000),
        (WHOLE_US + 60 * 86_400_000_000, WHOLE_US),
    ],
)
def test_syslog_does_not_name_the_year(written_us: int, us: int) -> None:
    """It is that of the file, or the one before."""
    found = taken(syslog(SAID), written_us=written_us)
    assert [row["at_us"] for row in parse(found.lines).events.to_pylist()] == [us]
    berlin = taken(syslog(SAID), written_us=written_us, zone="Europe/Berlin")
    assert [row["at_us"] for row in parse(berlin.lines).events.to_pylist()] == [us - 3_600_000_000]


def test_what_other_programs_say_is_no_concern_of_ours() -> None:
    found = taken(syslog(SAID), "Nov 21 11:09:41 db1 postgres[5]: replication slot of the primary is broken")
    parsed = parse(found.lines, "UTC", found.nodes)
    assert (parsed.events.num_rows, parsed.ignored, parsed.unknown, parsed.unparsed) == (1, 1, [], [])


@pytest.mark.parametrize(
    "line", [OWN, '{"v":1,"at_us":5}', f'pid=77 role=primary timestamp="1" level=notice message="{SAID}"', "junk", ""]
)
def test_a_log_without_a_wrapper_is_left_alone(line: str) -> None:
    assert present(pa.array([line] * 3, pa.string())) == []


@pytest.mark.parametrize(
    "line",
    [
        '{"log":"unfinished',
        '{"log":5,"stream":"stdout"}',
        '{"log":null}',
        '{"MESSAGE":{},"__REALTIME_TIMESTAMP":"x"}',
        '{"MESSAGE":[1,"a"],"__REALTIME_TIMESTAMP":"5"}',
        '{"log":"x"}{"log":"y"}',
        "2026-99-99T99:99:99Z stdout F",
        "Foo 99 11:09:41 h p[1]: x",
        'time=x msg="unfinished',
    ],
)
def test_damage_stays_as_it_is(line: str) -> None:
    """And does no harm to the lines beside it."""
    found = taken(line, docker(OWN), cri(OWN), syslog(SAID), journald(OWN, **HOST), logfmt(OWN))
    assert len(found.lines) == len(found.nodes) == 6
    assert parse(found.lines, "UTC", found.nodes).events.num_rows == 5


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\x00")), max_size=8))
def test_any_words_go_through(lines: list[str]) -> None:
    words = pa.array(lines, pa.string())
    assert len(unwrap(words, present(words), "UTC", LATER_US).lines) == len(lines)
    inner = [line.rstrip() for line in lines]
    for wrap in (docker, cri, journald):
        wrapped = [wrap(line) for line in inner]
        found = taken(cri("first"), docker("first"), journald("first"), *wrapped)
        if wrap is journald:
            assert len(found.lines) == len(wrapped) + 3
        else:
            assert found.lines.to_pylist()[3:] == inner


@pytest.mark.parametrize("wrap", [docker, cri, journald, syslog, logfmt])
def test_real_logs_tell_the_same_wrapped(tmp_path: Path, wrap: Any) -> None:
    """Text and event logs side by side, in each wrapper; and the file tells which it was."""
    found = []
    for form, around in (("plain", str), ("wrapped", wrap)):
        logs = tmp_path / form / "logs"
        logs.mkdir(parents=True)
        for scenario in ("text/redis8-rdb-channel", "events/pyrepl-pair"):
            for path in sorted((LOGS / scenario).iterdir()):
                lines = path.read_text().splitlines()
                name = f"{Path(scenario).name}-{path.name}"
                said = "".join(f"{around(one)}\n" for one in lines)
                (logs / name).write_text(said.replace(" db1 ", f" {name} "))
        inline.read(logs, tmp_path / form / "tables")
        found.append(inline.told(tmp_path / form / "tables"))
    plain, wrapped = found
    counts = ("syncs", "full_ok", "partial_ok", "partial_refused", "unknown_lines")
    assert (
        [wrapped["totals"][0][one] for one in counts] == [plain["totals"][0][one] for one in counts] == [6, 4, 2, 2, 0]
    )
    assert {row["wrapper"] for row in plain["files"]} == {None}
    assert {row["wrapper"] for row in wrapped["files"]} == {wrap.__name__}
    assert [row["total_ms"] for row in wrapped["syncs"]] == [row["total_ms"] for row in plain["syncs"]]
