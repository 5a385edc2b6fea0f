"""Frames come out of bytes as they went in."""

from __future__ import annotations

import polars as pl
import pytest

from pyrepl.metrics.packing import packed, unpacked


def test_there_and_back() -> None:
    frames = {
        "some": pl.DataFrame({"name": ["a", None], "count": [1, 2], "ok": [True, None], "ms": [0.5, float("nan")]}),
        "none": pl.DataFrame(schema={"name": pl.String, "labels": pl.List(pl.String)}),
    }
    back = unpacked(packed(frames))
    assert list(back) == list(frames)
    assert all(back[name].equals(rows) and back[name].schema == rows.schema for name, rows in frames.items())


@pytest.mark.parametrize("data", [b"", b"no frame", packed({"x": pl.DataFrame({"a": [1]})})["x"][:40]])
def test_what_is_no_frame_raises(data: bytes) -> None:
    with pytest.raises((pl.exceptions.PolarsError, OSError)):
        unpacked({"x": data})
