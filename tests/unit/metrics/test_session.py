"""The session's settings: quiet, local, with rough files of its own. That it works, all other tests here show."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.session import settings


def test_no_page_and_no_progress_and_files_below_its_folder(tmp_path: Path) -> None:
    found = settings("local[2]", "1g", str(tmp_path))
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.ui.showConsoleProgress"] == "false"
    assert found["spark.local.dir"] == str(tmp_path)


def test_a_local_session_listens_on_loopback_alone(tmp_path: Path) -> None:
    assert settings("local[*]", "1g", str(tmp_path))["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.host" not in settings("spark://h:7077", "1g", str(tmp_path))


def test_a_quick_session_has_java_compile_once(tmp_path: Path) -> None:
    def java(quick: bool) -> str:
        return settings("local[2]", "1g", str(tmp_path), quick=quick)["spark.driver.extraJavaOptions"]

    assert java(True) == f"{java(False)} -XX:TieredStopAtLevel=1"


def test_further_options_of_java_come_last(tmp_path: Path) -> None:
    found = settings("local[2]", "1g", str(tmp_path), java="-Xshare:auto")
    assert found["spark.driver.extraJavaOptions"].endswith("-XX:+UseParallelGC -Xshare:auto")
