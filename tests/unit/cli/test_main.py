"""The console script: finds our package, or says that its namesake hides it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cli.main import why_not_ours

ROOT = Path(__file__).parents[3]


def run(*words: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The script, with `path` before ours on the import path, and then without site-packages, where we may be too."""
    code = f"import sys; sys.path.append({str(ROOT)!r}); from cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(path) if path is not None else ""}
    return subprocess.run(
        [sys.executable, *(["-S"] if path else []), "-c", code, *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=path or ROOT,
    )


def test_ours() -> None:
    assert why_not_ours() is None
    result = run("--version")
    assert result.returncode == 0 and result.stdout.startswith("pyrepl, version ")


def test_hidden_by_a_package(tmp_path: Path) -> None:
    (tmp_path / "pyrepl").mkdir()
    (tmp_path / "pyrepl" / "__init__.py").write_text("")
    result = run("--version", path=tmp_path)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("pyrepl: another package named 'pyrepl' hides this one (found at ")
    assert str(tmp_path / "pyrepl" / "__init__.py") in result.stderr
    assert result.stderr.endswith("pipx install pyrepl-server\n") and result.stderr.count("\n") == 1


def test_hidden_by_a_module(tmp_path: Path) -> None:
    (tmp_path / "pyrepl.py").write_text("")
    ended = run("--version", path=tmp_path)
    assert ended.returncode == 1 and "hides this one" in ended.stderr and ended.stderr.count("\n") == 1


def test_overwritten_by_a_package(tmp_path: Path) -> None:
    """Its `__init__` stands among our modules. With none left there: tests/interop/software/test_namesake.py."""
    (tmp_path / "pyrepl" / "daemon").mkdir(parents=True)
    (tmp_path / "pyrepl" / "daemon" / "app.py").write_text("")
    init = tmp_path / "pyrepl" / "__init__.py"
    init.write_text("__version__ = '0.11.5'\n")
    ended = run("--version", path=tmp_path)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert f"took a file of this one with it ({init})" in ended.stderr
    assert ended.stderr.endswith("pip install --force-reinstall --no-deps pyrepl-server\n")
