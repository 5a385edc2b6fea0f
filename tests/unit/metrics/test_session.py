"""The session's settings: quiet, local, with rough files of its own. That it works, all other tests here show."""

from __future__ import annotations

from pathlib import Path

from pyrepl.metrics.session import is_local, settings


def test_no_page_and_no_progress_and_files_below_its_folder(tmp_path: Path) -> None:
    found = settings("local[2]", "1g", str(tmp_path))
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.ui.showConsoleProgress"] == "false"
    assert found["spark.local.dir"] == str(tmp_path)


def test_a_local_session_listens_on_loopback_alone(tmp_path: Path) -> None:
    assert settings("local[*]", "1g", str(tmp_path))["spark.driver.bindAddress"] == "127.0.0.1"
    cluster = settings("spark://h:7077", "1g", str(tmp_path))
    assert not {"spark.driver.host", "spark.local.dir"} & cluster.keys(), "its workers have disks of their own"


def test_what_is_local() -> None:
    assert all(map(is_local, ("local", "local[2]", "local[*]", "local[2,3]")))
    assert not any(map(is_local, ("local-cluster[1,1,1024]", "spark://h:7077", "yarn", "")))


def test_a_quick_session_has_java_compile_once(tmp_path: Path) -> None:
    def java(quick: bool) -> str:
        return settings("local[2]", "1g", str(tmp_path), quick=quick)["spark.driver.defaultJavaOptions"]

    assert java(True) == f"{java(False)} -XX:TieredStopAtLevel=1"


def test_queries_are_interpreted_where_that_is_wanted(tmp_path: Path) -> None:
    for wanted in (False, True):
        found = settings("local[2]", "1g", str(tmp_path), quick=True, interpreted=wanted)
        assert (found.get("spark.sql.codegen.factoryMode") == "NO_CODEGEN") == wanted


def test_workers_of_this_machine_are_forked_by_our_daemon(tmp_path: Path) -> None:
    name = "spark.python.daemon.module"
    assert settings("local[2]", "1g", str(tmp_path), daemon="some.module")[name] == "some.module"
    assert name not in settings("local[2]", "1g", str(tmp_path))
    assert name not in settings("spark://h:7077", "1g", str(tmp_path), daemon="some.module")


def test_further_options_of_java_come_last(tmp_path: Path) -> None:
    found = settings("local[2]", "1g", str(tmp_path), java="-Xshare:auto")
    assert found["spark.driver.defaultJavaOptions"].endswith("-XX:+UseParallelGC -Xshare:auto")


def test_nothing_is_set_that_the_user_has_set(tmp_path: Path) -> None:
    every = settings("local[2]", "1g", str(tmp_path))
    for name in every:
        assert settings("local[2]", "1g", str(tmp_path), theirs={name: "x"}).keys() == every.keys() - {name}


def test_java_is_given_one_collector(tmp_path: Path) -> None:
    chosen = {"spark.driver.extraJavaOptions": "-Xss2m -XX:+UseG1GC"}
    assert "-XX:+Use" not in settings("local", "1g", str(tmp_path), theirs=chosen)["spark.driver.defaultJavaOptions"]
