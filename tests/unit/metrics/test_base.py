"""A base and what came in addition are as all of it merged at once."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.base import MANY, Base, Frames, added_to, is_worth_it, merged
from pyrepl.metrics.parts import Sources, load, pieces, sources
from pyrepl.metrics.rollup import of_events, rollup
from pyrepl.metrics.samples import widened, width
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.tables import EVENTS, SAMPLES
from tests.unit.metrics.conftest import LOGS
from tests.unit.metrics.inline import read

SOURCE = LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl"
LINES = SOURCE.read_bytes().splitlines(keepends=True)


def grown(folder: Path, *cuts: int) -> Path:
    """Tables of one log, read as it was cut."""
    (folder / "logs").mkdir(parents=True)
    for cut in (*cuts, len(LINES)):
        (folder / "logs" / "master.jsonl").write_bytes(b"".join(LINES[:cut]))
        read(folder / "logs", folder / "tables")
    return folder / "tables"


def asked(tables: Path) -> Sources:
    return sources(pieces(manifests.load(tables)), (None, None), frozenset())


def same(one: Frames, other: Frames) -> None:
    """But for `drawn`, and for smaller values of what has only a largest."""
    assert sorted(one) == sorted(other)
    for name, rows in one.items():
        if name != "drawn":
            mine, theirs = (_largest(each) if name == "values" else each for each in (rows, other[name]))
            assert_frame_equal(mine, theirs.select(mine.columns), check_row_order=False)


def _largest(values: pl.DataFrame) -> pl.DataFrame:
    largest = pl.col("what") == "output_max"
    key = ["node", "peer", "what"]
    most = values.filter(largest).group_by(key).agg(pl.col("value").max(), times=pl.lit(1, pl.Int64))
    return pl.concat([values.filter(~largest), most.select(values.columns)])


def drawn(frames: Frames) -> list[tuple[object, ...]]:
    rows = frames["drawn"]
    return widened(rows, width(*_span(rows))).sort("node", "peer", "at_us").rows()


def _span(rows: pl.DataFrame) -> tuple[int, int]:
    times = rows["at_us"].to_list()
    return min(times), max(times)


def test_going_on_is_as_from_the_beginning(tmp_path: Path) -> None:
    once = load(tmp_path / "once" / "tables", asked(grown(tmp_path / "once")))
    tables = grown(tmp_path / "steps", 10, 11, 20)
    first = load(tables, asked(tables))
    assert first.base is not None and first.base.made_of
    again = load(tables, asked(tables), first.base)
    assert again.base is None, "the base still does"
    same(first.tables, again.tables)
    assert drawn(first.tables) == drawn(again.tables) == drawn(once.tables)


def test_what_may_be_given_up_is_in_no_base(tmp_path: Path) -> None:
    wanted = asked(grown(tmp_path, 10, 20))
    base = load(tmp_path / "tables", wanted).base
    assert base is not None
    passing = {path for _, path in wanted.passing}
    assert {path for _, path, _ in base.made_of} | passing == {path for _, paths, _ in wanted.kept for path in paths}
    assert base.made_of and passing and not {path for _, path, _ in base.made_of} & passing


def test_of_a_small_log_that_may_be_given_up_as_a_whole_there_is_one(tmp_path: Path) -> None:
    wanted = asked(grown(tmp_path))
    base = load(tmp_path / "tables", wanted).base
    assert base is not None and {(node, path) for _, path, node in base.made_of} == wanted.passing


def test_nodes_of_which_a_file_was_given_up_are_taken_out() -> None:
    rows = pl.DataFrame({"node": ["m", "n"], "value": [1, 2]})
    units = frozenset({("values", "values/1", "m"), ("values", "values/1", "n"), ("values", "values/2", "n")})
    base = Base(units, {"values": rows})
    assert base.within(units) is base and base.files == 2
    left = base.within(units - {("values", "values/2", "n")})
    assert left.made_of == {("values", "values/1", "m")} and left.tables["values"].rows() == [("m", 1)]


def test_a_base_of_what_is_no_longer_wanted_is_not_taken(tmp_path: Path) -> None:
    tables = grown(tmp_path, 10, 20)
    wanted = asked(tables)
    wrong = Base(
        frozenset({("halves", "halves/gone.parquet", "n")}),
        {"halves": of_events(pl.DataFrame(schema=schema(EVENTS))).tables["halves"]},
    )
    loaded = load(tables, wanted, wrong)
    same(loaded.tables, load(tables, wanted).tables)
    assert loaded.base is not None and wrong.made_of.isdisjoint(loaded.base.made_of)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_any_steps(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    cuts = sorted(rng.sample(range(1, len(LINES)), 6))
    tables = grown(tmp_path, *cuts)
    every = [(name, pl.read_parquet(tables / path)) for name, paths, _ in asked(tables).kept for path in paths]
    whole = merged({name: [rows for other, rows in every if other == name] for name, _ in every})
    rng.shuffle(every)
    base = Base()
    for name, rows in every:
        base = added_to(base, base.made_of, {name: [rows]})
    same(whole, base.tables)
    assert drawn(base.tables) == drawn(whole)


def test_spans_are_no_wider_than_those_of_the_whole() -> None:
    rows = {"node": ["n"] * 3, "peer": [None] * 3, "at_us": [0, 500, 1000], "event": ["sample"] * 3}
    frame = pl.DataFrame(rows).select(
        pl.col(name).cast(kind) if name in rows else pl.lit(None, kind).alias(name)
        for name, kind in schema(SAMPLES).items()
    )
    found = merged({"drawn": [rollup(SAMPLES, frame).tables["drawn"]]})["drawn"]
    assert len(found) == 3 and width(0, 1000) <= 8


def of(rows: int, files: int) -> Base:
    units = frozenset(("values", f"values/{number}", node) for node in "nm" for number in range(files))
    return Base(units, {"values": pl.DataFrame({"value": range(rows)})})


@pytest.mark.parametrize(
    ("old", "renewed", "worth"),
    [
        (Base(), of(1, 1), True),
        (of(100, 5), of(125, 6), False),
        (of(100, 5), of(126, 6), True),
        (of(100, 5), of(101, 4 + MANY), False),
        (of(100, 5), of(101, 5 + MANY), True),
        (Base(), Base(), False),
    ],
)
def test_written_again_when_much_came_in_addition(old: Base, renewed: Base, worth: bool) -> None:
    assert is_worth_it(old, renewed) is worth
