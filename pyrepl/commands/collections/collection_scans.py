"""HSCAN, SSCAN and ZSCAN: going through one collection in pieces. The walk itself is `keys.scan.scan_elements`.

As in Redis 7.0, a missing key is answered before the options are parsed, so wrong options are then no error. Scores are
sent as text in RESP2 and in RESP3.

A large collection must be put in order before its first piece can be answered. That is done in slices
(`engine.slices.ElementsJob`), so that other clients need not wait.
"""

from __future__ import annotations

from collections.abc import Callable

from pyrepl.commands.engine.arguments import cursor_argument, scan_options
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import InSlices
from pyrepl.commands.engine.slices import ElementsJob
from pyrepl.commands.engine.table import FIRST_ARG, READONLY, command
from pyrepl.commands.keys.scan import scan_elements
from pyrepl.commands.zsets.replies import flat_scores
from pyrepl.keyspace import hash_verbs, set_verbs, zset_verbs
from pyrepl.keyspace.collection_scan import ElementScan
from pyrepl.resp.reply import Reply

ScanReply = list[bytes | list[bytes]]
"""[next cursor, elements]; a next cursor of 0 means that the scan is complete."""


def _in_slices(call: Call, scan: ElementScan, answer: Callable[[], Reply | Effect]) -> Effect:
    """Make the order of a large collection in slices, then answer."""
    return InSlices(ElementsJob(call.keyspace.scans, scan.order_making(), answer))


@command("HSCAN", arity=-3, flags=READONLY, keys=FIRST_ARG, group="hash", since="2.8.0")
def hscan(call: Call, key: bytes, cursor: bytes, *options: bytes) -> ScanReply | Effect:
    """Go through the fields of a hash and their values; the fields alone with NOVALUES (Redis 7.4)."""
    return _hscan(call, key, cursor, options)


def _hscan(call: Call, key: bytes, cursor: bytes, options: tuple[bytes, ...]) -> ScanReply | Effect:
    place = cursor_argument(cursor)
    fields = hash_verbs.scan(call.db, key)
    if fields is None:
        return [b"0", []]
    shared, names_only = _without_flag(options, b"NOVALUES")
    chosen = scan_options(shared)
    if fields.is_far(place, chosen.count):
        return _in_slices(call, fields, lambda: _hscan(call, key, cursor, options))
    next_cursor, names = scan_elements(fields, place, chosen)
    if names_only:
        return [next_cursor, names]
    return [next_cursor, [part for name in names for part in (name, fields.content(name))]]


def _without_flag(options: tuple[bytes, ...], flag: bytes) -> tuple[list[bytes], bool]:
    """The options without `flag` (upper case), and whether `flag` was among them. All other options come in pairs."""
    pairs: list[bytes] = []
    found = False
    i = 0
    while i < len(options):
        if options[i].upper() == flag:
            found = True
            i += 1
        else:
            pairs.extend(options[i : i + 2])
            i += 2
    return pairs, found


@command("SSCAN", arity=-3, flags=READONLY, keys=FIRST_ARG, group="set", since="2.8.0")
def sscan(call: Call, key: bytes, cursor: bytes, *options: bytes) -> ScanReply | Effect:
    """Go through the members of a set."""
    return _sscan(call, key, cursor, options)


def _sscan(call: Call, key: bytes, cursor: bytes, options: tuple[bytes, ...]) -> ScanReply | Effect:
    place = cursor_argument(cursor)
    everyone = set_verbs.scan(call.db, key)
    if everyone is None:
        return [b"0", []]
    chosen = scan_options(options)
    if everyone.is_far(place, chosen.count):
        return _in_slices(call, everyone, lambda: _sscan(call, key, cursor, options))
    next_cursor, members = scan_elements(everyone, place, chosen)
    return [next_cursor, members]


@command("ZSCAN", arity=-3, flags=READONLY, keys=FIRST_ARG, group="sorted-set", since="2.8.0")
def zscan(call: Call, key: bytes, cursor: bytes, *options: bytes) -> ScanReply | Effect:
    """Go through the members of a sorted set and their scores."""
    return _zscan(call, key, cursor, options)


def _zscan(call: Call, key: bytes, cursor: bytes, options: tuple[bytes, ...]) -> ScanReply | Effect:
    place = cursor_argument(cursor)
    scores = zset_verbs.scan(call.db, key)
    if scores is None:
        return [b"0", []]
    chosen = scan_options(options)
    if scores.is_far(place, chosen.count):
        return _in_slices(call, scores, lambda: _zscan(call, key, cursor, options))
    next_cursor, members = scan_elements(scores, place, chosen)
    return [next_cursor, flat_scores([(scores.content(member), member) for member in members])]
