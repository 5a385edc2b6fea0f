"""What is written can be read: JSON lines and Parquet."""

from __future__ import annotations

import builtins
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pyrepl.capture.formats import JSON_LINES, PARQUET, open_format, why_not_here
from pyrepl.capture.records import Record, columns_of, record_of
from pyrepl.changes.batches import Row
from pyrepl.changes.rows import Json

ROWS: dict[str, list[Json]] = {
    "keys": [[0, "user:7", "hset"], [15, {"base64": "/w=="}, "del"], [0, None, "flushdb"], [0, "tab\té\u2028", "set"]],
    "commands": [[0, ["set", "a", {"base64": "/w=="}]], [0, ["flushall"]]],
    "caches": [["f", ["k", 5], 1490197670513], ["f", None, 1]],
    "orders": [{"id": 1}, None, 5, "x"],
}


def records(stream: str) -> list[Record]:
    return [record_of(Row(stream, "", 54, part, data), columns_of(stream)) for part, data in enumerate(ROWS[stream])]


@pytest.mark.parametrize("stream", ROWS)
def test_json_lines(stream: str) -> None:
    file = io.BytesIO()
    form = open_format(JSON_LINES, columns_of(stream), file)
    form.write(records(stream), 100)
    form.finish()
    assert [json.loads(line) for line in file.getvalue().split(b"\n")[:-1]] == records(stream)
    assert form.size_bytes() == len(file.getvalue())


@pytest.mark.parametrize("stream", ROWS)
def test_parquet(stream: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with path.open("wb") as file:
        form = open_format(PARQUET, columns_of(stream), file)
        form.write(records(stream)[:1], 10)
        form.write(records(stream)[1:], 10)
        form.finish()
    table = pyarrow.parquet.read_table(path)
    as_text = {column.name for column in columns_of(stream) if column.kind == "json"}
    found = [
        {name: json.loads(value) if name in as_text and value is not None else value for name, value in record.items()}
        for record in table.to_pylist()
    ]
    assert found == records(stream)
    assert table.schema.names == [column.name for column in columns_of(stream)]


def test_a_surrogate_alone_does_not_stop_it() -> None:
    file = io.BytesIO()
    form = open_format(JSON_LINES, columns_of("orders"), file)
    form.write([{"token": 1, "part": 0, "row": "\ud800"}], 10)
    assert json.loads(file.getvalue())["row"] == "\ud800"


def test_parquet_holds_little(tmp_path: Path) -> None:
    with (tmp_path / "x.parquet").open("wb") as file:
        form = open_format(PARQUET, columns_of("keys"), file)
        row: Record = {"token": 1, "part": 0, "db": 0, "key": "k" * 1000, "key_base64": None, "command": "set"}
        most = 0
        for _ in range(100):
            form.write([row] * 1000, 1_000_000)
            most = max(most, len(vars(form)["_held"]))
        form.finish()
    assert most < 10_000
    assert pyarrow.parquet.ParquetFile(tmp_path / "x.parquet").metadata.num_rows == 100_000


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, globals: Mapping[str, object] | None = None, locals: Mapping[str, object] | None = None,
                fromlist: Sequence[str] = (), level: int = 0) -> Any:  # fmt: skip
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    assert why_not_here(PARQUET) == (
        "Parquet needs pyarrow: pip install 'pyrepl-server[parquet]', or take --format json"
    )
    assert why_not_here(JSON_LINES) is None
