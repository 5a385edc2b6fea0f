"""The other package called `pyrepl`, beside ours in one environment: whoever came last, pyrepl says what is wrong.

Both are installed by pip into environments of their own, without what they need; ours finds that where the tests run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.house.source import ROOT, tracked
from tests.peers.finder import software

NAMESAKE = "pyrepl==0.11.5"


def pip(*words: str) -> None:
    """pip of the environment that builds, which reaches into others by --python."""
    command = [str(software("packaging")), "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYREPL_PURE": "1"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Ours, in the pure form, and theirs: the paths of two wheels."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for path in tracked():
        if path.relative_to(ROOT).parts[0] in ("pyrepl", "cli", "setup.py", "setup.cfg", "pyproject.toml", "README.md"):
            target = source / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(source))
    pip("download", "-q", "--no-deps", "-d", str(folder), NAMESAKE)
    [ours], [theirs] = folder.glob("pyrepl_server-*.whl"), folder.glob("pyrepl-*.whl")
    return {"ours": str(ours), "theirs": str(theirs)}


class Environment:
    """An environment of Python, as a user has it."""

    def __init__(self, folder: Path, wheels: dict[str, str]) -> None:
        self._bin = folder / "bin"
        self._wheels = wheels
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)

    def pip(self, *words: str) -> None:
        pip("--python", str(self._bin / "python"), *words)

    def install(self, *names: str) -> None:
        for name in names:
            self.pip("install", "-q", "--no-deps", "--no-index", self._wheels[name])

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
        return subprocess.run(
            [str(self._bin / "pyrepl"), *words], capture_output=True, text=True, env=environment, check=False
        )


@pytest.fixture
def environment(tmp_path: Path, wheels: dict[str, str]) -> Environment:
    return Environment(tmp_path / "env", wheels)


def test_ours_alone(environment: Environment) -> None:
    environment.install("ours")
    ended = environment.run("--version")
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout.startswith("pyrepl, version ")
    assert "no other package named pyrepl here" in environment.run("doctor").stdout


def test_theirs_after_ours(environment: Environment) -> None:
    environment.install("ours", "theirs")
    for words in (("--version",), ("doctor",), ("master",)):
        ended = environment.run(*words)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "another package named 'pyrepl' was installed or removed in this environment" in ended.stderr
        assert ended.stderr.count("\n") == 1


def test_ours_after_theirs(environment: Environment) -> None:
    environment.install("theirs", "ours")
    assert environment.run("--version").returncode == 0
    ended = environment.run("doctor")
    assert ended.returncode == 1
    assert "another package named pyrepl is installed in this environment too (version 0.11.5)" in ended.stdout


@pytest.mark.parametrize(
    "order", [("ours", "theirs"), pytest.param(("theirs", "ours"), marks=pytest.mark.matrix)], ids=str
)
def test_the_advice_heals(environment: Environment, wheels: dict[str, str], order: tuple[str, str]) -> None:
    environment.install(*order)
    environment.pip("uninstall", "-q", "-y", "pyrepl")
    ended = environment.run("--version")
    assert ended.returncode == 1 and "pip install --force-reinstall --no-deps pyrepl-server" in ended.stderr
    environment.pip("install", "-q", "--no-index", "--force-reinstall", "--no-deps", wheels["ours"])
    assert environment.run("--version").returncode == 0
    assert "no other package named pyrepl here" in environment.run("doctor").stdout
