"""What a batch of a stream is to read, written down before the batch is run, so that it can be run again.

    tables/plan.json   the ranges, and what the manifest has of their files once they are read

A plan is made of a manifest and is good as long as that one is in force. What was read is counted in by replacing the
manifest, so no plan counts twice: neither when its batch is run again, nor when another run has read the logs
meanwhile. What a void plan leaves unread is in the next one.

Which ranges there are is plan.py's; the stream is source.py's and follow.py's.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, final

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.copies import Copy
from pyrepl.metrics.ingest import Read, count_in
from pyrepl.metrics.manifest import MERGE_BYTES, Entry, Manifest
from pyrepl.metrics.places import forget
from pyrepl.metrics.plan import find, plan
from pyrepl.metrics.ranges import Split, Told
from pyrepl.temporary import SHARED, replacing

NAME: Final = "plan.json"


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """`made_of` is the digest of the manifest. `entries` are those that will be new or different in it, `gone` the ids
    of those that will not be in it; `refused` and `copies` are as they will be."""

    name: str
    made_of: str
    ranges: list[Split]
    tails: list[Split]
    entries: list[Entry]
    gone: list[str]
    refused: dict[str, str]
    copies: dict[str, Copy]

    @property
    def splits(self) -> list[Split]:
        """All that is to be read; `tails` are unfinished last lines."""
        return [*self.ranges, *self.tails]

    def changes(self, known: Manifest) -> bool:
        """Will anything be different in the manifest?"""
        about = (self.refused, self.copies) != (known.refused, known.copies)
        return bool(self.splits or self.entries or self.gone) or about

    def apply(self, known: Manifest, missed: Container[str]) -> None:
        """Make the manifest what it is before the ranges are counted in. Files in `missed` were there and could not be
        read, as they were rotated since: they stay as they were, their unfinished last lines too, and the next plan
        finds them."""
        for file_id in self.gone:
            del known.entries[file_id]
        known.entries |= {entry.file_id: entry for entry in self.entries if entry.file_id not in missed}
        known.refused, known.copies = self.refused, self.copies


def make(name: str, logs: Iterable[str], tables: Path) -> Plan | None:
    """Write the plan for what is new in the logs; None, and nothing written, where nothing is.

    Logs that are away for the moment are passed over. Nothing but the plan is touched: a process that plans may outlive
    the killed one that it plans for. Raises ConfigError and OSError.
    """
    made_of, before, known = manifests.in_force(tables), manifests.load(tables), manifests.load(tables)
    ranges, tails = plan(known, find(logs, tables, absent_ok=True), MERGE_BYTES)
    made = Plan(
        name, made_of, ranges, tails,
        entries=[entry for file_id, entry in known.entries.items() if before.entries.get(file_id) != entry],
        gone=[file_id for file_id in before.entries if file_id not in known.entries],
        refused=known.refused, copies=known.copies,
    )  # fmt: skip
    if not made.changes(before):
        return None
    tables.mkdir(parents=True, exist_ok=True)
    rest = {one.name: getattr(made, one.name) for one in fields(made) if one.name != "entries"}
    with replacing(tables / NAME, SHARED) as file:
        file.write(f'{json.dumps(rest).removesuffix("}")}, "entries": '.encode())
        file.writelines(piece.encode() for piece in manifests.as_json(made.entries))
        file.write(b"}")
    return made


def good(tables: Path, name: str | None = None) -> Plan | None:
    """The plan that was made last, if it is good, and the one of that name if one is given."""
    try:
        found = json.loads((tables / NAME).read_bytes(), object_hook=manifests.from_json)
        ranges, tails = ([Split(*split) for split in found.pop(key)] for key in ("ranges", "tails"))
        made = Plan(ranges=ranges, tails=tails, **found)
    except (OSError, ValueError, KeyError, TypeError):
        # Away, or of another version: what it would have read is planned anew.
        return None
    is_it = name in (None, made.name)
    return made if is_it and made.made_of == manifests.in_force(tables) else None


def take_in(tables: Path, told: list[Told]) -> Read:
    """Count in what was read by the last plan, if it is good; nothing otherwise. Parts that no longer count, and those
    of batches that died, are removed."""
    made = good(tables)
    if made is None or _places(told) != _places(made.splits):
        return Read(0, 0, 0, 0)
    known = manifests.load(tables)
    if not known.entries:
        forget(tables)
    missed = {one.file_id for one in told if one.error and not one.read} & known.entries.keys()
    made.apply(known, missed)
    told = sorted((one for one in told if one.file_id not in missed), key=lambda one: (one.file_id, one.start))
    done = count_in(known, told, made.tails, tables)
    manifests.sweep(tables, known)
    return done


def _places(ranges: Iterable[Split | Told]) -> list[tuple[str, int]]:
    return sorted((one.file_id, one.start) for one in ranges)
