"""What is given as a log: paths, patterns and file: URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.errors import ConfigError
from pyrepl.metrics.given import is_elsewhere, place, why_absent
from pyrepl.metrics.plan import find, node_of


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("a/redis-1.log", "a/redis-2.log", "b/redis-1.log", "b/other.log", "b/c/redis-3.log", "a b/x [1].log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def names(folder: Path, log: str) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in place(log).paths]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/redis-*.log", ["a/redis-1.log", "a/redis-2.log", "b/redis-1.log"]),
        ("**/redis-*.log", ["a/redis-1.log", "a/redis-2.log", "b/c/redis-3.log", "b/redis-1.log"]),
        ("a/redis-[!1].log", ["a/redis-2.log"]),
        ("b/{other,redis-?}.log", ["b/other.log", "b/redis-1.log"]),
        ("{a,b/{c,d}}/*", ["a/redis-1.log", "a/redis-2.log", "b/c/redis-3.log"]),
        ("[ab]", ["a", "b"]),
        ("*/none-*", []),
    ],
)
def test_patterns(logs: Path, pattern: str, expected: list[str]) -> None:
    assert names(logs, f"{logs}/{pattern}") == expected
    assert names(logs, f"file://{logs}/{pattern}") == expected


def test_what_is_there_is_no_pattern(logs: Path) -> None:
    assert names(logs, f"{logs}/a b/x [1].log") == ["a b/x [1].log"]


@pytest.mark.parametrize("begin", ["file:", "file://", "file://localhost"])
def test_urls(logs: Path, begin: str) -> None:
    assert names(logs, f"{begin}{logs}/a") == ["a"]
    assert names(logs, f"{begin}{logs}/a%20b/x%20%5B1%5D.log") == ["a b/x [1].log"]
    assert names(logs, f"{begin}{logs}/a b") == ["a b"]


def test_relative_to_where_one_is(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs / "b")
    assert names(logs, "*.log") == ["b/other.log", "b/redis-1.log"]
    assert place(Path("c")).paths == [logs / "b" / "c"]


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("gone.log", "no such file or folder"),
        ("file:/gone.log", "no such file or folder"),
        ("gone-*.log", "no file matches"),
    ],
)
def test_what_is_not_there(logs: Path, monkeypatch: pytest.MonkeyPatch, log: str, why: str) -> None:
    monkeypatch.chdir(logs)
    assert why_absent(log) == why
    with pytest.raises(ConfigError) as raised:
        find(["a", log])
    assert str(raised.value) == f"{log}: {why}"
    assert len(find(["a", log], absent_ok=True)) == 2


def test_what_is_elsewhere(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs)
    assert all(map(is_elsewhere, ("hdfs://namenode:8020/logs", "s3a://bucket/*.log", "hdfs:/logs", "abfss://a@b/c")))
    assert not any(map(is_elsewhere, ("file:/logs", "logs", "a/b:c", "C:/logs", str(logs))))
    (logs / "x:").mkdir()
    (logs / "x:" / "y").touch()
    assert not is_elsewhere("x:/y")


def test_what_is_there_needs_no_reason(logs: Path) -> None:
    assert why_absent(f"{logs}/*/redis-*.log") == why_absent(f"file:{logs}/a") == why_absent(str(logs)) == ""


def test_nodes_of_a_pattern_are_named_from_where_it_begins(logs: Path) -> None:
    """However many match: with more of them later the names are the same."""
    for pattern in ("a/redis-1*", "*/redis-1.log", "{a,b}/redis-*.log"):
        found = find([f"{logs}/{pattern}"])
        assert node_of(logs / "a" / "redis-1.log", found[logs / "a" / "redis-1.log"]) == (
            "redis-1" if pattern.startswith("a/") else "a/redis-1"
        )
