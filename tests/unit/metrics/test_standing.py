"""Results that stand give the report that they were written from; any change in what they are made of is noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyrepl.metrics import manifest, parquet
from pyrepl.metrics.ingest import news
from pyrepl.metrics.report.model import Report
from pyrepl.metrics.run import answer
from pyrepl.metrics.standing import made_of, standing
from pyrepl.metrics.wanted import Steps, Wanted
from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS

SOURCES = (LOGS / "events" / "pyrepl-output-buffer" / "master.jsonl", LOGS / "text" / "redis7-output-buffer")


class Written:
    """Results of some logs, and what they were written from."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.link = folder / "logs", folder / "results"
        self.logs.mkdir()
        for source in SOURCES:
            for path in [source] if source.is_file() else source.iterdir():
                (self.logs / f"{source.name}-{path.name}").write_bytes(path.read_bytes())
        (self.logs / "junk.log").write_bytes(b"nobody understands\nhalf a li")
        self.wanted = Wanted((str(self.logs),), folder / "tables")
        inline.read(self.logs, self.wanted.tables)
        spark = inline.session()
        self.report = answer(spark, self.wanted, steps(), 1)
        parquet.write(self.report, spark, self.link, made_of(manifest.in_force(self.wanted.tables), self.wanted))

    def standing(self, wanted: Wanted | None = None) -> Report | None:
        found = news(self.wanted.logs, self.wanted.tables)
        return standing(self.link, found.manifest, wanted or self.wanted, steps(), 2)


def steps() -> Steps:
    return Steps(lambda _: None, lambda: 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("standing"))


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_the_report_is_the_one_that_was_written(whole: Written) -> None:
    found = whole.standing()
    assert found is not None and found.made_at_us == 2 and found.cut == whole.report.cut
    assert found.tables.keys() == whole.report.tables.keys()
    assert all(list(rows) == list(whole.report.rows(name)) for name, rows in found.tables.items())
    assert len(found.rows("syncs")) > 1 and len(found.rows("unparsed")) == 2


@pytest.mark.parametrize("change", [{"since_us": 1}, {"until_us": 1}, {"zone": "Europe/Berlin"}])
def test_another_question(whole: Written, change: dict[str, object]) -> None:
    assert whole.standing(replace(whole.wanted, **change)) is None  # type: ignore[arg-type]


def test_a_log_that_has_another_name_now(written: Written) -> None:
    (written.logs / "junk.log").rename(written.logs / "other.log")
    assert written.standing() is None


def test_a_log_that_can_be_read_no_more(written: Written) -> None:
    (written.logs / "binary.log").write_bytes(bytes(range(256)))
    assert written.standing() is None


@pytest.mark.parametrize("content", [None, b"", b"PAR1 cut short"])
def test_a_damaged_file(written: Written, content: bytes | None) -> None:
    (path,) = (written.link / "nodes").iterdir()
    path.unlink() if content is None else path.write_bytes(content)
    assert written.standing() is None


def test_results_that_nobody_signed(written: Written) -> None:
    parquet.write(written.report, None, written.link)
    assert written.standing() is None
