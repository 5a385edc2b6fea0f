"""The list of compiled modules: it names modules that there are, and a compiled form is complete and fresh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

import pytest

from pyrepl import kernels
from tests.house.source import ROOT


def _listed() -> list[str]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    return [name for tool in ("mypyc", "mailbox", "cython") for name in tools[tool]]


def test_the_list_is_sorted_and_true() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    assert set(tools) == {"mypyc", "mailbox", "cython"}
    for names in tools.values():
        assert names == sorted(set(names))
    assert [name for name in _listed() if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []


def test_all_are_compiled_or_none() -> None:
    origins = {name: str(spec.origin) for name in _listed() if (spec := find_spec(name)) is not None}
    compiled = [name for name, origin in origins.items() if origin.endswith(tuple(EXTENSION_SUFFIXES))]
    assert compiled == (_listed() if kernels.form() == kernels.COMPILED else [])


def test_what_is_compiled_is_what_is_written() -> None:
    assert kernels.why_not_fresh() is None
    assert (ROOT / "pyrepl" / kernels.RECORD).exists() == (kernels.form() == kernels.COMPILED)


@pytest.mark.parametrize(
    ("doctored", "words"),
    [
        ("import sysconfig; sysconfig.get_config_vars(); sys.abiflags = 't'", "free-threaded"),
        ("sys.getobjects = lambda limit: []", "traces references"),
    ],
)
def test_setup_compiles_for_no_other_layout(tmp_path: Path, doctored: str, words: str) -> None:
    """One sentence, and the pure form; what was compiled before is gone."""
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "pyrepl", tmp_path / "pyrepl", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp_path / "pyrepl" / "resp" / "parser.so").touch()
    program = (
        f"import runpy, sys\n{doctored}\nsys.argv = ['setup.py', 'build_ext', '--inplace']\nrunpy.run_path('setup.py')"
    )
    # Whoever asks for the pure form is not told why there is no other.
    env = {name: value for name, value in os.environ.items() if name != "PYREPL_PURE"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("pyrepl: ")]
    assert len(said) == 1 and words in said[0] and said[0].endswith("which does the same more slowly")
    assert list(tmp_path.rglob("*.so")) == [] and not (tmp_path / "build" / "pyrepl").exists()
