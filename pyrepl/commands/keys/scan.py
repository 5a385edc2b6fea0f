"""SCAN over the keys of a database, and the walk that HSCAN, SSCAN and ZSCAN share.

`store.key_order` defines the cursors of SCAN, `keyspace.scan` those of the others.
"""

from __future__ import annotations

from pyrepl.commands.engine.arguments import ScanOptions, cursor_argument, scan_options
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effect import Effect
from pyrepl.commands.engine.effects import InSlices
from pyrepl.commands.engine.slices import OrderJob, is_order_far
from pyrepl.commands.engine.table import ARBITRARY_KEYS, READONLY, command
from pyrepl.glob import Glob
from pyrepl.keyspace.collection_scan import ElementScan
from pyrepl.keyspace.packed import kept_type_name

ScanReply = list[bytes | list[bytes]]
"""[next cursor, keys]; a next cursor of 0 means that the scan is complete."""


@command("SCAN", arity=-2, flags=READONLY | ARBITRARY_KEYS, group="generic", since="2.8.0")
def scan(call: Call, cursor: bytes, *arguments: bytes) -> ScanReply | Effect:
    """The next keys of an iteration over the database: [cursor, keys]; cursor 0 starts and ends one."""
    place = cursor_argument(cursor)
    options = scan_options(arguments, with_type=True)
    if is_order_far(call.db):
        return InSlices(OrderJob(call.db, lambda: _scan(call, place, options)))
    return _scan(call, place, options)


def _scan(call: Call, place: int, options: ScanOptions) -> ScanReply:
    next_cursor, keys = call.db.scan(place, options.count)
    if options.pattern is not None:
        keys = list(filter(Glob(options.pattern).matches, keys))
    return [b"%d" % next_cursor, [key for key in keys if _is_wanted(call, key, options)]]


def _is_wanted(call: Call, key: bytes, options: ScanOptions) -> bool:
    """Does the key exist, not expired, and is it of the type that TYPE names? Without TYPE every type is wanted."""
    if options.type_name is None or not call.db.holds(key):
        return call.db.find_kept(key) is not None
    value = call.db.read_kept(key)
    return value is not None and options.type_name == kept_type_name(value).encode()


def scan_elements(scan: ElementScan, cursor: int, options: ScanOptions) -> tuple[bytes, list[bytes]]:
    """(next cursor, the next elements that match MATCH) of one collection.

    `cursor` comes from `cursor_argument`, `options` from `scan_options`. An element that was removed since the scan
    began is not returned.
    """
    next_cursor, found = scan.window(cursor, options.count)
    if options.pattern is not None:
        found = list(filter(Glob(options.pattern).matches, found))
    return b"%d" % next_cursor, found
