"""What collectors of logs put around each line is taken off: Docker, Kubernetes, journald, syslog, logfmt.

    docker    {"log":"77:M ... * ...\\n","stream":"stdout","time":"..."}
    cri       2026-11-21T11:09:41.858123456Z stdout F 77:M ... * ...
    journald  {"MESSAGE":"77:M ... * ...","__REALTIME_TIMESTAMP":"...","_HOSTNAME":"db1", ...}    journalctl -o json
    syslog    Nov 21 11:09:41 db1 redis-server[77]: 77:M ... * ...            and with an ISO time, and RFC 5424
    logfmt    time="..." level=info msg="77:M ... * ..."

A server that logs to syslog itself (`syslog-enabled yes`) writes no head of its own: it gets one, of the wrapper's
time and process id. Where a wrapper names the host and the program, or the unit, that is the node. Works on whole
blocks with Arrow's kernels. What the lines say is textlines.py's and jsonlines.py's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from pyrepl.metrics.stamps import ISO, iso_us, local_us

_HOST: Final = r"(?P<host>\S+) (?P<program>[^\s\[\]:]+)(?:\[(?P<pid>\d+)\])?: (?P<inner>.*)$"
_WORD: Final = r'(?:"(?:[^"\\]|\\.)*"|[^\s"]*)'
_LINES: Final[Mapping[str, tuple[str, ...]]] = {
    "cri": (rf"^(?P<iso>{ISO}) (?:stdout|stderr) [FP] (?P<inner>.*)$",),
    "syslog": (
        rf"^(?:<\d{{1,3}}>)?(?P<day>[A-Z][a-z]{{2}} [ \d]\d \d{{2}}:\d{{2}}:\d{{2}}) {_HOST}",
        rf"^(?P<iso>{ISO}) {_HOST}",
        rf"^(?:<\d{{1,3}}>)?1 (?P<iso>{ISO}) (?P<host>\S+) (?P<program>\S+) (?P<pid>\d+|-) \S+ "
        r"(?:-|\[[^\]]*\]) ?(?P<inner>.*)$",
    ),
    "logfmt": (
        rf"^(?:time|ts|timestamp|level|lvl|stream|container|pod|app|logger)={_WORD} (?:[\w.]+={_WORD} )*"
        r'(?:msg|message|log)="(?P<quoted>(?:[^"\\]|\\.)*)".*$',
    ),
}
"""RE2, by wrapper: what stands around a line that is no JSON."""
_DOCKER: Final = r'^\{"(?:log|stream|time|attrs)":.*"log":|^\{"log":'
_JOURNAL: Final = r'^\{.*"__REALTIME_TIMESTAMP"\s*:.*'
_FIELDS: Final = (
    "log", "MESSAGE", "__REALTIME_TIMESTAMP", "_HOSTNAME", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "_PID", "SYSLOG_PID"
)  # fmt: skip
_OF_JSON: Final = pa.schema([(name, pa.string()) for name in _FIELDS])
_OWN_HEAD: Final = r"^\d+:(?:[XCSM] |signal-handler )|^pid=\d+ |^\{"
_OURS: Final = r"(?i)redis|valkey|pyrepl|sentinel"
SAMPLE: Final = 16
"""So many lines at each end of a block tell whether it has a wrapper."""
_DAY: Final = "%Y %b %d %H:%M:%S"
_DAY_US: Final = 86_400_000_000

Wrapper = tuple[str, str]
"""The name of a wrapper, and one of the expressions (RE2) of lines that have it."""
WRAPPERS: Final = ("docker", "cri", "journald", "syslog", "logfmt")


class Unwrapped(NamedTuple):
    """The lines as they were logged: an Arrow array of strings without line ends, as many as before; whose each is,
    null where the wrapper does not tell; and how many had which wrapper."""

    lines: Any
    nodes: Any
    seen: dict[str, int]


class _Parts(NamedTuple):
    """What the wrapper of some lines tells, arrays of strings: `us` Unix microseconds, null where unknown."""

    inner: Any
    host: Any
    program: Any
    pid: Any
    us: Any
    may_lack_head: bool


def unwrap(lines: Any, found: Sequence[Wrapper], zone: str, written_us: int) -> Unwrapped:
    """Take the wrappers off an Arrow array of strings without line ends; lines without one stay as they are.

    `zone` is that of times which do not name theirs. syslog's do not name the year either: it is the one in which they
    are not later than `written_us`, when the file was written last (Unix us), by more than a day.
    """
    inner, nodes = lines, pa.nulls(len(lines), pa.string())
    rest = pa.array(range(len(lines)), pa.int64())
    seen: dict[str, int] = {}
    for name, pattern in found:
        hit = rest.filter(pc.match_substring_regex(lines.take(rest), pattern))
        parts = _parts(name, pattern, lines.take(hit), zone, written_us)
        known = pc.is_valid(parts.inner)
        hit, parts = hit.filter(known), _filtered(parts, known)
        if not len(hit):
            continue
        seen[name] = seen.get(name, 0) + len(hit)
        rest = rest.filter(pc.invert(pc.is_in(rest, value_set=hit)))
        where = pc.is_in(pa.array(range(len(lines)), pa.int64()), value_set=hit)
        inner = pc.replace_with_mask(inner, where, _headed(parts))
        nodes = pc.replace_with_mask(nodes, where, _nodes(parts))
    return Unwrapped(inner, nodes, seen)


def present(lines: Any) -> list[Wrapper]:
    """The wrappers that any of these lines have; some lines of each end of a block are enough to look at (SAMPLE)."""
    plain = pc.match_substring_regex(lines, r'^\{"(?:v|pid)":|^\d+:[XCSM] |^pid=\d+ ')
    some = lines.filter(pc.invert(plain))
    if not len(some):
        return []
    patterns = {"docker": (_DOCKER,), "journald": (_JOURNAL,)} | dict(_LINES)
    return [
        (name, pattern)
        for name in WRAPPERS
        for pattern in patterns[name]
        if pc.any(pc.match_substring_regex(some, pattern)).as_py()
    ]


def _filtered(parts: _Parts, known: Any) -> _Parts:
    cells = {name: getattr(parts, name).filter(known) for name in ("inner", "host", "program", "pid", "us")}
    return parts._replace(**cells)


def _parts(name: str, pattern: str, lines: Any, zone: str, written_us: int) -> _Parts:
    if name in ("docker", "journald"):
        return _of_json(lines, is_journal=name == "journald")
    found = pc.extract_regex(lines, pattern)
    groups = {field.name: part for field, part in zip(found.type, found.flatten())}
    nothing = pa.nulls(len(lines), pa.string())
    inner = groups.get("inner", nothing)
    if "quoted" in groups:
        inner = _unquoted(groups["quoted"])
    us = iso_us(groups["iso"]) if "iso" in groups else pa.nulls(len(lines), pa.int64())
    if "day" in groups:
        us = _day_us(groups["day"], zone, written_us)
    host, program, pid = (groups.get(part, nothing) for part in ("host", "program", "pid"))
    return _Parts(inner, host, program, pid, us, name == "syslog")


def _unquoted(words: Any) -> Any:
    r"""What stands between quotes in logfmt, with \" and \\ as they are meant."""
    escapes = pc.replace_substring(words, "\\\\", "\x00")
    for escape, meant in (('\\"', '"'), ("\\n", " "), ("\\t", "\t"), ("\x00", "\\")):
        escapes = pc.replace_substring(escapes, escape, meant)
    return escapes


def _of_json(lines: Any, *, is_journal: bool) -> _Parts:
    told = _json_columns(lines)
    nothing = pa.nulls(len(lines), pa.string())
    if not is_journal:
        inner = pc.replace_substring(pc.utf8_rtrim(told["log"], characters="\r\n"), "\n", " ")
        return _Parts(inner, nothing, nothing, nothing, pa.nulls(len(lines), pa.int64()), False)
    message = pc.replace_substring(pc.utf8_rtrim(told["MESSAGE"], characters="\r\n"), "\n", " ")
    unit = pc.replace_substring_regex(told["_SYSTEMD_UNIT"], r"\.service$", "")
    digits = pc.replace_substring_regex(told["__REALTIME_TIMESTAMP"], r"^(?:\D.*|.{17,}|)$", "")
    us = pc.if_else(pc.equal(digits, ""), None, digits).cast(pa.int64())
    pid = pc.coalesce(told["SYSLOG_PID"], told["_PID"])
    return _Parts(message, told["_HOSTNAME"], pc.coalesce(unit, told["SYSLOG_IDENTIFIER"]), pid, us, True)


def _json_columns(lines: Any) -> dict[str, Any]:
    """The fields that matter; of a line that is damaged, or holds bytes in place of a text, they are null."""
    block = ("\n".join(lines.to_pylist()) + "\n").encode() if len(lines) else b""
    try:
        table = pa.json.read_json(
            pa.BufferReader(block),
            pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            pa.json.ParseOptions(explicit_schema=_OF_JSON, unexpected_field_behavior="ignore"),
        )
        if table.num_rows == len(lines):
            return {name: pa.concat_arrays(table[name].chunks) for name in _FIELDS}
    except pa.ArrowInvalid:
        pass
    rows = [_fields(line) for line in lines.to_pylist()]
    return {name: pa.array([row.get(name) for row in rows], pa.string()) for name in _FIELDS}


def _fields(line: str) -> dict[str, str]:
    """journald writes bytes that are no plain text, colours among them, as a list of numbers."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    message = found.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
        found["MESSAGE"] = bytes(message).decode("utf-8", "backslashreplace")
    return {name: value for name, value in found.items() if name in _FIELDS and isinstance(value, str)}


def _day_us(days: Any, zone: str, written_us: int) -> Any:
    """`Nov  1 11:09:41` of the last such day before the file was written."""
    year = datetime.fromtimestamp(written_us / 1e6, UTC).year
    clean = pc.replace_substring(days, "  ", " ")
    told = {one: local_us(pc.binary_join_element_wise(str(one), clean, " "), _DAY, zone) for one in (year, year - 1)}
    return pc.if_else(pc.greater(told[year], written_us + _DAY_US), told[year - 1], told[year])


def _headed(parts: _Parts) -> Any:
    """The lines, those without a head of their own with one of the wrapper's.

    What another program says is given the level of debugging, which nobody expects to understand.
    """
    if not parts.may_lack_head:
        return parts.inner
    lacks = pc.and_(pc.invert(pc.match_substring_regex(parts.inner, _OWN_HEAD)), pc.is_valid(parts.us))
    ours = pc.match_substring_regex(pc.fill_null(parts.program, ""), _OURS)
    pid = pc.if_else(pc.equal(pc.fill_null(parts.pid, "-"), "-"), "0", parts.pid)
    ms = pc.divide(pc.fill_null(parts.us, 0), 1000).cast(pa.string())
    head = pc.binary_join_element_wise(pid, ms, ":X ")
    made = pc.binary_join_element_wise(head, pc.if_else(ours, "*", "-"), parts.inner, " ")
    return pc.if_else(lacks, made, parts.inner)


def _nodes(parts: _Parts) -> Any:
    """`db1/redis-server`, null where there is no host."""
    return pc.binary_join_element_wise(parts.host, pc.fill_null(parts.program, "?"), "/")
