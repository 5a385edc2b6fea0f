"""Text log lines become events: the head of a line is taken apart, then its message by the rows of sentences.py.

Works on whole arrays of lines with Arrow's kernels, never line by line. Forms: Redis's `pid:role time level message`,
and those of Valkey and pyrepl: other timestamps (`log-timestamp-format`), and `log-format` logfmt and json. Not here:
cutting a file into lines (blocks.py), the event log's JSON (jsonlines.py).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyrepl.metrics.arrow import days, schema, shaped
from pyrepl.metrics.column import Kind
from pyrepl.metrics.noise import NOISE, SPEAKS
from pyrepl.metrics.ranges import UTC
from pyrepl.metrics.sentences import SENTENCES, SPEAKERS, Sentence
from pyrepl.metrics.stamps import local_us
from pyrepl.metrics.tables import EVENTS

_TIME: Final = (
    r"(?:(?P<legacy>\d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2})\.(?P<legacy_ms>\d{3})"
    r"|(?P<iso>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.(?P<iso_ms>\d{3})(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})"
    r"|(?P<unix_ms>\d{13}))"
)
_HEADS: Final = (
    rf"^(?P<pid>\d+):(?P<role>[XCSM]) {_TIME} (?P<level>[.*#-]) (?P<message>.*)$",
    rf'^pid=(?P<pid>\d+) role=(?P<role>\S+) timestamp="{_TIME}" level=(?P<level>\w+) message="(?P<message>.*)"$',
    rf'^\{{"pid":(?P<pid>\d+),"role":"(?P<role>[^"]+)","timestamp":"{_TIME}","level":"(?P<level>\w+)",'
    r'"message":"(?P<message>.*)"\}$',
)
_FORMS: Final = ("text", "logfmt", "text_json")
_AS_JSON: Final = '{"pid":'
"""How a line in the form json begins; the event log's begin with another field."""
_ESCAPES: Final = (("\\\\", "\x00"), ('\\"', '"'), ("\\t", "\t"), ("\\n", " "), ("\x00", "\\"))
"""JSON's escapes and what they stand for, in this order: a backslash may stand before any letter."""
_SIGNAL: Final = r"^(?P<pid>\d+):signal-handler \((?P<unix_s>\d+)\) (?P<message>.*)$"
_DECORATION: Final = r"^\s*$|^\s{2,}|^ [`'_.|-]"
"""The start-up banner that Redis prints without a head, and empty lines."""
_ROLES: Final = {"M": "master", "primary": "master", "S": "replica"}
_TOLD: Final = pa.array(["*", "#", "notice", "warning"])
"""The levels of what operators are told."""
_MB: Final = 1 << 20
_LETTERS: Final = 12
"""By so many first letters it is looked up which sentences are in a log."""
_IN_MB: Final = frozenset({"private_bytes"})
_NUMBERS: Final = {column.name: column.kind for column in EVENTS.columns if column.kind is not Kind.TEXT}


class Parsed(NamedTuple):
    """What an array of lines gave: events, how many lines mean nothing here, the places of those that are no log lines,
    and of those that speak of replication in words that nobody knows."""

    events: Any
    ignored: int
    unparsed: list[int]
    unknown: list[int]


def parse(lines: Any, zone: str = UTC, nodes: Any = None) -> Parsed:
    """Take apart an Arrow array of strings without line ends. `zone` is that of timestamps which do not name theirs;
    `nodes`, an array as long, says whose each line is."""
    events: list[Any] = []
    unknown: list[int] = []
    rest = pa.array(range(len(lines)), pa.int64())
    understood = 0
    for form, pattern in zip(_FORMS, _HEADS):
        hit, heads = _take(lines, rest, pattern)
        if len(hit):
            if form == "text_json":
                heads = heads | {"message": _unescaped(heads["message"])}
            understood += len(hit)
            rest = _without(rest, hit)
            made, strange = _events(_with_nodes(heads, nodes, hit), _at_us(heads, zone), form)
            events += made
            unknown += hit.take(strange).to_pylist()
    hit, heads = _take(lines, rest, _SIGNAL)
    if len(hit):
        understood += len(hit)
        rest = _without(rest, hit)
        at_us = pc.multiply(heads["unix_s"].cast(pa.int64()), 1_000_000)
        events += _events(_with_nodes(heads, nodes, hit), at_us, "text")[0]
    plain = pc.match_substring_regex(lines.take(rest), _DECORATION)
    decoration = pc.sum(plain).as_py() or 0
    # Whoever takes it further would look at each column of each batch.
    told = pa.Table.from_batches(events, schema=schema(EVENTS)).combine_chunks()
    ignored = understood + decoration - told.num_rows - len(unknown)
    return Parsed(told, ignored, rest.filter(pc.invert(plain)).to_pylist(), sorted(unknown))


def in_json(lines: Any) -> Any:
    """Which of these lines, strings or bytes, are of a text log in the form json, by how they begin."""
    return pc.starts_with(lines, pattern=_AS_JSON)


def _unescaped(messages: Any) -> Any:
    for escape, meant in _ESCAPES:
        messages = pc.replace_substring(messages, escape, meant)
    return messages


def _with_nodes(heads: dict[str, Any], nodes: Any, hit: Any) -> dict[str, Any]:
    return heads if nodes is None else heads | {"node": nodes.take(hit)}


def _take(lines: Any, rest: Any, pattern: str) -> tuple[Any, dict[str, Any]]:
    """Which of `rest` match, and their named groups; a group that took no part is null."""
    if not len(rest):
        return rest, {}
    found = pc.extract_regex(lines.take(rest), pattern)
    return rest.filter(pc.is_valid(found)), _groups(found.drop_null())


def _groups(found: Any) -> dict[str, Any]:
    names = [field.name for field in found.type]
    return {name: pc.if_else(pc.equal(part, ""), None, part) for name, part in zip(names, found.flatten())}


def _without(rest: Any, hit: Any) -> Any:
    return rest.filter(pc.invert(pc.is_in(rest, value_set=hit)))


def _at_us(heads: dict[str, Any], zone: str) -> Any:
    """Unix microseconds of each line, by the form that its time has."""
    legacy = _seconds(heads["legacy"], "%d %b %Y %H:%M:%S", zone, heads["legacy_ms"])
    east = pc.add(pc.multiply(_int(heads["hours"]), 3600), pc.multiply(_int(heads["minutes"]), 60))
    east = pc.if_else(pc.equal(heads["sign"], "-"), pc.negate(east), east)
    iso = pc.subtract(_seconds(heads["iso"], "%Y-%m-%dT%H:%M:%S", UTC, heads["iso_ms"]), pc.multiply(east, 1_000_000))
    return pc.coalesce(legacy, iso, pc.multiply(_int(heads["unix_ms"]), 1000))


def _seconds(words: Any, form: str, zone: str, ms: Any) -> Any:
    return pc.add(local_us(words, form, zone), pc.multiply(_int(ms), 1000))


def _int(words: Any) -> Any:
    return words.cast(pa.int64())


def _events(heads: dict[str, Any], at_us: Any, form: str) -> tuple[list[Any], Any]:
    """One batch per sentence that occurs, and the places of those that nobody knows."""
    messages = pc.fill_null(heads["message"], "")
    for speaker, instead in SPEAKERS:
        messages = pc.replace_substring_regex(messages, speaker, instead, max_replacements=1)
    timed = pc.is_valid(at_us)
    rest = pa.array(range(len(messages)), pa.int64()).filter(timed)
    made: list[Any] = []
    for row in _which_occur(messages):
        if not len(rest):
            break
        begun = rest.filter(pc.starts_with(messages.take(rest), row.begins))
        if not len(begun):
            continue
        hit, groups = _take(messages, begun, f"^(?:{row.pattern})$")
        if len(hit):
            rest = _without(rest, hit)
            made.append(
                _batch(row, groups, {name: part.take(hit) for name, part in heads.items()}, at_us.take(hit), form)
            )
    return made, rest.filter(_is_unknown(messages.take(rest), heads, rest))


def _which_occur(messages: Any) -> list[Sentence]:
    """The rows of SENTENCES that may be among the messages, in their order, by the first letters: a log has few of
    them, and to look for each of the others takes longer than to read a small log."""
    first = set(pc.unique(pc.utf8_slice_codeunits(messages, 0, _LETTERS)).to_pylist())
    return [
        row for row in SENTENCES
        if row.begins[:_LETTERS] in first
        or (len(row.begins) < _LETTERS and any(letters.startswith(row.begins) for letters in first))
    ]  # fmt: skip


def _is_unknown(messages: Any, heads: dict[str, Any], places: Any) -> Any:
    """Which of these messages, no sentences, speak of replication. Lines below notice are for who writes servers."""
    if "level" not in heads:
        return pa.repeat(False, len(messages))
    told = pc.is_in(heads["level"].take(places), value_set=_TOLD)
    speaks = pc.and_(told, pc.match_substring_regex(messages, SPEAKS))
    return pc.and_(speaks, pc.invert(pc.match_substring_regex(messages, NOISE)))


def _batch(row: Sentence, groups: dict[str, Any], heads: dict[str, Any], at_us: Any, form: str) -> Any:
    rows = len(at_us)
    columns = {
        "at_us": at_us,
        "day": days(at_us),
        "run": heads["pid"],
        "event": pa.repeat(row.event, rows),
        "form": pa.repeat(form, rows),
        "role": _roles(heads.get("role"), rows),
    }
    if "node" in heads:
        columns["node"] = heads["node"]
    columns |= {name: pa.repeat(value, rows) for name, value in row.plus.items()}
    columns |= {name: _typed(name, words, row.less_one) for name, words in groups.items()}
    if row.event == "child_memory":
        columns["child_pid"] = heads["pid"].cast(pa.int64())
    return shaped(EVENTS, columns, rows)


def _typed(name: str, words: Any, less_one: tuple[str, ...]) -> Any:
    if name not in _NUMBERS:
        return words
    numbers = words.cast(pa.int64())
    if name in less_one:
        return pc.subtract(numbers, 1)
    return pc.multiply(numbers, _MB) if name in _IN_MB else numbers


def _roles(marks: Any, rows: int) -> Any:
    if marks is None:
        return pa.nulls(rows, pa.string())
    known = pa.array(list(_ROLES), pa.string())
    names = pa.array(list(_ROLES.values()), pa.string())
    found = pc.index_in(marks, value_set=known)
    return pc.coalesce(names.take(found), pc.if_else(pc.equal(marks, "replica"), "replica", None))
