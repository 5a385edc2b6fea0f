"""Fixtures for tests that run real processes. Pure rooms' tests need none of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pyrepl.kernels import form, why_not_fresh
from tests.peers.lab import Lab

TESTS = Path(__file__).parent

# How long an example takes says how busy the machine is, nothing of the code. Each run tries the same examples, so that
# it fails by what was changed alone; `--hypothesis-profile explore` tries others (make matrix does).
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("steady", settings.get_profile("explore"), derandomize=True)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Tests of compiled modules that no longer are what their sources say would prove nothing."""
    config.addinivalue_line("markers", "spark: starts Spark, or asks what one session has found for all of its tests")
    config.addinivalue_line("markers", "long: takes a minute or more")
    complaint = why_not_fresh()
    if complaint is not None:
        raise pytest.UsageError(complaint)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first: it would run alone at the end, and others wait for what they have of Spark.

    Behind it files of tests that mostly wait, for servers, stand evenly between those that compute, and each simulation
    for itself, as it computes for seconds. So at any time some workers (make test) wait and some compute, and the
    processor is busy until the end.
    """
    first = [item for item in items if _begins_first(item)]
    rest = [item for item in items if not _begins_first(item)]
    simulated = [item for item in rest if _room(item.path) == "simulation"]
    waiting = [item.path for item in rest if _room(item.path) in ("fault", "interop")]
    computing = [item.path for item in rest if _room(item.path) not in ("fault", "interop", "simulation")]
    places = _places(waiting) | _places(computing)
    alone = {item: (number + 0.5) / len(simulated) for number, item in enumerate(simulated)}
    items[:] = first + sorted(rest, key=lambda item: alone.get(item, places.get(item.path, 0.0)))


def _begins_first(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None or item.get_closest_marker("long") is not None


def _room(path: Path) -> str:
    return path.relative_to(TESTS).parts[0]


def _places(paths: list[Path]) -> dict[Path, float]:
    """The file of each test -> where the middle of its tests is, if all are laid from 0 to 1 in this order."""
    places, before = {}, 0
    for path, count in Counter(paths).items():
        places[path] = (before + count / 2) / len(paths)
        before += count
    return places


def pytest_report_header() -> str:
    """Which form the run is about."""
    return f"pyrepl: {form()}"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Nodes for one test; all ended after it. The ends of their logs are shown when the test failed."""
    with Lab(tmp_path) as lab:
        yield lab
    for node in lab.nodes:
        print(f"--- {node.name}, port {node.port}, ended with {node.process.returncode}\n{node.tail()}")


@pytest.fixture(scope="session")
def dumps(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of real dump.rdb files, one for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "dumps"
    folder.mkdir(exist_ok=True)
    return folder
