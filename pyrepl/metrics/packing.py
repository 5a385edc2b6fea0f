"""Frames as bytes: as they travel from a task to the driver, and are kept."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import polars as pl

Packed = dict[str, bytes]
Frames = dict[str, pl.DataFrame]


def packed(frames: Mapping[str, pl.DataFrame]) -> Packed:
    """Each frame by itself, in Arrow's form, compressed."""
    found = {}
    for name, rows in frames.items():
        buffer = BytesIO()
        rows.write_ipc(buffer, compression="lz4")
        found[name] = buffer.getvalue()
    return found


def unpacked(found: Mapping[str, bytes]) -> Frames:
    """The frames that were packed. Raises what Polars raises for what they were not."""
    return {name: pl.read_ipc(BytesIO(data)) for name, data in found.items()}
