"""A block of bytes as an Arrow array of its lines, without copying them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def line_array(block: bytes) -> Any:
    """The lines of a block that ends in a line end, each with its own: an Arrow binary array on the block's memory."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + 1
    offsets = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])


def longest(lines: Any) -> int:
    """The length of the longest, in bytes; 0 when there are none."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return int(np.diff(offsets).max(initial=0))


def joined(lines: Any) -> bytes:
    """The bytes of an array of lines, one behind the other."""
    if not len(lines):
        return b""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return bytes(lines.buffers()[2][int(offsets[0]) : int(offsets[-1])].to_pybytes())
