"""The charts' library: put together once, used when it is whole, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.analysis.charts import END, library_of_charts
from pyrepl.metrics.report import library


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was put together."""
    found: list[str] = []

    def bundle() -> str:
        found.append(f"draw({len(found)});")
        return found[-1]

    monkeypatch.setattr(library, "bundle", bundle)
    return found


def test_put_together_once(tmp_path: Path, made: list[str]) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    assert library_of_charts(environment) == library_of_charts(environment) == made[0] + END
    assert len(made) == 1


def test_one_that_is_not_whole_is_put_together_anew_and_one_of_another_version_goes(
    tmp_path: Path, made: list[str]
) -> None:
    environment = {"HOME": str(tmp_path)}
    library_of_charts(environment)
    (kept,) = (tmp_path / ".cache" / "pyrepl").iterdir()
    kept.write_text("draw(")
    kept.with_name("charts-0-1.js").write_text("old")
    assert library_of_charts(environment) == made[1] + END == kept.read_text()
    assert list(kept.parent.iterdir()) == [kept]


def test_where_nothing_can_be_kept_it_is_put_together_all_the_same(tmp_path: Path, made: list[str]) -> None:
    (tmp_path / "file").touch()
    for environment in ({}, {"XDG_CACHE_HOME": str(tmp_path / "file")}):
        assert library_of_charts(environment) == made[-1] + END
    assert len(made) == 2
