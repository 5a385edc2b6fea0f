"""Workers of a cluster: what they lack is told, and this package is sent to those that have it not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import pyrepl
from bench.spark_cluster import cluster
from pyrepl.analysis.needs import INSTALL
from pyrepl.analysis.workers import Seen, look, packed, why_not
from tests.peers import finder

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs" / "text" / "redis7-disk"
SIZE = ("--conf", "spark.executor.memory=700m")


def bare(folder: Path) -> Path:
    """A Python that has all that this one has, but for this package."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "pyrepl" not in path.name:
            (packages / path.name).symlink_to(path)
    return folder / "bin" / "python"


@pytest.fixture(params=["local-cluster", pytest.param("standalone", marks=pytest.mark.matrix)])
def master(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A cluster of one worker: a process beside Spark's, or one that was there before."""
    finder.java()
    with ExitStack() as stack:
        if request.param == "standalone":
            (tmp_path / "cluster").mkdir()
            yield stack.enter_context(cluster(tmp_path / "cluster", 1, python_path=""))
        else:
            yield "local-cluster[1,1,1024]"


@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_workers_without_the_package_are_sent_it(tmp_path: Path, master: str) -> None:
    """And logs that Hadoop alone sees are copied for them."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    python = bare(tmp_path / "bare")
    assert subprocess.run([python, "-c", "import pyrepl"], cwd=tmp_path, capture_output=True, check=False).returncode
    pyrepl_command = str(Path(sys.executable).with_name("pyrepl"))
    done = subprocess.run(
        [pyrepl_command, "metrics", "viewfs://fleet/logs", "--out", "out", "--format", "json", "--master", master,
         *SIZE, "--conf", f"spark.hadoop.fs.viewfs.mounttable.fleet.link./logs={LOGS.as_uri()}"],
        env=environment | {"PYSPARK_PYTHON": str(python)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["syncs"], told["full_ok"], told["partial_ok"]) == (3, 2, 1)
    assert {file["file"] for file in told["tables"]["files"]} == {
        str(tmp_path / "out" / "fetched" / "viewfs" / "fleet" / "logs" / path.name) for path in LOGS.glob("*.log")
    }
    assert "pyrepl metrics: look at the workers" in done.stderr.splitlines()
    assert not list((tmp_path / "out" / "tables").glob(".seen-*"))


def test_what_a_worker_has(tmp_path: Path) -> None:
    (found,) = look(("json", "no_such_module"), (str(tmp_path), str(tmp_path / "none")))(())
    seen = Seen(*found)
    assert seen.missing == ("no_such_module",) and seen.absent == (str(tmp_path / "none"),)
    assert seen.python == sys.executable and len(seen.package) == 64


def test_the_same_package_has_the_same_digest_elsewhere(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with zipfile.ZipFile(packed(tmp_path)) as file:
        file.extractall(copy)
    code = (
        "import sys; from pathlib import Path; exec(Path(sys.argv[1]).read_text()); print(next(look((), ())(()))[-1])"
    )
    source = Path(pyrepl.__file__).parent / "analysis" / "workers.py"
    told = subprocess.run([sys.executable, "-c", code, source], cwd=copy, capture_output=True, text=True, check=True)
    (here,) = look((), ())(())
    assert told.stdout.strip() == Seen(*here).package
    (copy / "pyrepl" / "metrics" / "part.py").write_text("another")
    told = subprocess.run([sys.executable, "-c", code, source], cwd=copy, capture_output=True, text=True, check=True)
    assert told.stdout.strip() != Seen(*here).package


def test_what_is_sent_can_be_imported_as_it_is(tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); from pyrepl.metrics import part, scan; print(part.__file__)"
    path = packed(tmp_path)
    told = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert told.stdout.startswith(f"{path}/pyrepl/metrics/part.py")


def test_what_a_worker_lacks_is_told() -> None:
    fit = Seen("w1", "/usr/bin/python3", (), (), "")
    assert why_not(fit, "/out/tables/.seen-x", Path("/out/tables")) == ""
    assert why_not(fit._replace(missing=("pyarrow", "polars")), "/m", Path("/out")) == (
        "the Python of the worker on w1, /usr/bin/python3, lacks pyarrow and polars: set PYSPARK_PYTHON to one that has"
        f" them ({INSTALL})"
    )
    for absent, path in ((("/out/.seen-x", "/logs/a"), "/out"), (("/logs/a",), "/logs/a")):
        assert why_not(fit._replace(absent=absent), "/out/.seen-x", Path("/out")) == (
            f"the worker on w1 does not see {path}: the logs and the folder of --out must be on storage that all"
            " workers have under the same path"
        )
