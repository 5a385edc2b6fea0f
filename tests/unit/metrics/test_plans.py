"""A plan counts once: whoever runs its batch again, and whatever was read meanwhile."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics import plans
from pyrepl.metrics.ingest import Read
from pyrepl.metrics.part import read_split
from pyrepl.metrics.ranges import Told
from tests.unit.metrics import inline

LINE = b"1:M 21 Nov 2026 11:09:41.858 * Ready to accept connections %03d\n"
NOTHING = Read(0, 0, 0, 0)


def log(folder: Path, first: int, last: int, name: str = "a.log") -> None:
    folder.mkdir(exist_ok=True)
    with (folder / name).open("ab") as file:
        file.write(b"".join(LINE % number for number in range(first, last)))


def made(name: str, logs: Path, tables: Path) -> plans.Plan:
    plan = plans.make(name, [str(logs)], tables)
    assert plan is not None and plans.good(tables, name) == plan
    return plan


def told(plan: plans.Plan, tables: Path) -> list[Told]:
    return [read_split(split, str(tables), "UTC") for split in plan.splits]


def lines(tables: Path) -> int:
    return sum(row["lines"] for row in manifests.load(tables).file_rows())


def test_a_batch_that_is_run_again_finds_its_plan_void(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    read = told(made("1", logs, tables), tables)
    assert plans.take_in(tables, read).lines == 50
    assert plans.good(tables, "1") is None and plans.take_in(tables, read) == NOTHING
    assert lines(tables) == 50 and plans.make("2", [str(logs)], tables) is None


def test_one_that_died_while_it_read_reads_the_same_ranges_again(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    told(made("1", logs, tables), tables)
    log(logs, 50, 60)
    again = plans.good(tables, "1")
    assert again is not None and plans.take_in(tables, told(again, tables)).lines == 50
    assert plans.take_in(tables, told(made("2", logs, tables), tables)).lines == 60, (
        "as one range with what came behind"
    )
    assert lines(tables) == 60


def test_what_another_run_has_read_meanwhile_does_not_count_again(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    plans.take_in(tables, told(made("1", logs, tables), tables))
    log(logs, 50, 70)
    read = told(made("2", logs, tables), tables)
    log(logs, 70, 80)
    inline.read(logs, tables)
    assert plans.take_in(tables, read) == NOTHING
    assert lines(tables) == 80


def test_rows_of_another_plan_do_not_count(tmp_path: Path) -> None:
    """As when a batch is run again that had one before this."""
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    made("1", logs, tables)
    assert plans.good(tables, "0") is None and plans.take_in(tables, []) == NOTHING
    assert plans.take_in(tables, told(made("2", logs, tables), tables)).lines == 50


def test_a_file_that_is_rotated_before_its_range_is_read_loses_nothing_meanwhile(tmp_path: Path) -> None:
    """Its unfinished last line, which is read again with the rest of it, counts until then."""
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    with (logs / "a.log").open("ab") as file:
        file.write(LINE[:20])
    assert plans.take_in(tables, told(made("1", logs, tables), tables)).lines == 51
    with (logs / "a.log").open("ab") as file:
        file.write(LINE[20:] % 50)
    plan = made("2", logs, tables)
    (logs / "a.log").rename(logs / "a.log.1")
    log(logs, 51, 60)
    assert plans.take_in(tables, told(plan, tables)) == NOTHING
    assert lines(tables) == 51
    plans.take_in(tables, told(made("3", logs, tables), tables))
    assert lines(tables) == 60


def test_names_that_change_are_counted_in_though_nothing_is_read(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50)
    log(logs, 50, 90, "b.log")
    plans.take_in(tables, told(made("1", logs, tables), tables))
    (logs / "a.log").rename(logs / "a.log.1")
    (logs / "copy.log").write_bytes((logs / "b.log").read_bytes())
    (logs / "binary.log").write_bytes(bytes(range(256)))
    plan = made("2", logs, tables)
    assert not plan.splits and plans.take_in(tables, []) == NOTHING
    rows = {Path(row["file"]).name: (row["lines"], row["form"]) for row in manifests.load(tables).file_rows()}
    assert rows == {
        "a.log.1": (50, "text"), "b.log": (40, "text"), "copy.log": (0, "copy"), "binary.log": (0, "unreadable"),
    }  # fmt: skip
    assert plans.make("3", [str(logs)], tables) is None


def test_a_file_that_turns_out_to_be_a_copy_counts_no_more(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    log(logs, 0, 50, "long.log")
    plans.take_in(tables, told(made("1", logs, tables), tables))
    log(logs, 0, 50, "b.log")
    plan = made("2", logs, tables)
    plans.take_in(tables, told(plan, tables))
    assert lines(tables) == 50


def test_a_damaged_plan_and_logs_that_are_away_are_no_fault(tmp_path: Path) -> None:
    logs, tables = tmp_path / "logs", tmp_path / "tables"
    assert plans.make("1", [str(logs)], tables) is None and plans.good(tables) is None
    log(logs, 0, 50)
    made("1", logs, tables)
    for content in ("{", "{}", '{"ranges": [], "tails": [], "entries": [], "more": 1}'):
        (tables / plans.NAME).write_text(content)
        assert plans.good(tables) is None
    assert made("2", logs, tables).splits
