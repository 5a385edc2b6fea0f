"""The compiled form with AddressSanitizer, in a folder of its own, so that the one beside the sources stays as it is.

It is made by pip, as the usual one is, of a copy of the sources, and only made again when a hot module has changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

from pyrepl.kernels import RECORD, stale_sources

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "build" / "fuzz"
SITE: Final = FOLDER / "site"
"""What is first on the path of the interpreter that runs the sanitized form."""

_TREE: Final = FOLDER / "tree"
_LOG: Final = FOLDER / "build.log"
_PACKAGES: Final = (("pyrepl", "pyrepl"), ("cli", "pyrepl_cli"))
"""Folder of the sources -> installed as."""
_FILES: Final = ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "MANIFEST.in")
_SUFFIXES: Final = (".py", ".pyi", ".pxd", ".typed")
"""The files of a package that the compilers or pip read (`py.typed` among them)."""
_FLAG: Final = "-fsanitize=address"

_MOST_MB: Final = 3000
"""Of memory, for a worker; the sanitizer ends one that takes more, which is a finding."""
_OPTIONS: Final = {
    "detect_leaks": "0",
    "abort_on_error": "1",
    "handle_abort": "1",
    "allocator_may_return_null": "1",
    "hard_rss_limit_mb": str(_MOST_MB),
    "quarantine_size_mb": "64",
    "detect_stack_use_after_return": "0",
}


class NotBuilt(Exception):
    """There is no sanitized form; the text says why and what to do."""


def make() -> None:
    """Bring SITE up to date. Raises NotBuilt."""
    if _library() is None:
        raise NotBuilt("gcc's AddressSanitizer is missing (gcc and libasan on Debian): apt-get install gcc libc6-dev")
    for source, installed in _PACKAGES:
        _copy(ROOT / source, _TREE / source)
        if (SITE / installed).exists():
            _copy(ROOT / source, SITE / installed)
    for name in _FILES:
        shutil.copy2(ROOT / name, _TREE / name)
    if (SITE / "pyrepl" / RECORD).exists() and not stale_sources(SITE / "pyrepl") and not _missing():
        return
    print(f"compiling with {_FLAG} into {FOLDER.relative_to(ROOT)}, which takes some minutes ...", flush=True)
    shutil.rmtree(SITE, ignore_errors=True)
    # What setuptools built before holds modules that are no more, and would be installed again.
    for built in (_TREE / "build").glob("lib*"):
        shutil.rmtree(built)
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    flags = {"CC": compiler, "CFLAGS": f"{_FLAG} -fno-omit-frame-pointer -g1", "LDFLAGS": _FLAG, "PYREPL_PURE": "0"}
    command = [sys.executable, "-m", "pip", "install", "-v", "--disable-pip-version-check", "--no-deps"]
    with _LOG.open("wb") as log:
        done = subprocess.run(
            [*command, "--target", str(SITE), str(_TREE)],
            env=os.environ | flags,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode or _missing():
        raise NotBuilt(f"compiling with {_FLAG} failed; what was said is in {_LOG}")


def environment() -> dict[str, str]:
    """For an interpreter started with -P (nothing of the folder it runs in): it runs the sanitized form."""
    library = _library()
    assert library is not None
    return os.environ | {
        "PYTHONPATH": f"{SITE}{os.pathsep}{ROOT}",
        "PYTHONMALLOC": "malloc",
        "PYTHONFAULTHANDLER": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_PRELOAD": str(library),
        "ASAN_OPTIONS": ":".join(f"{name}={value}" for name, value in _OPTIONS.items()),
    }


def _missing() -> bool:
    """Is a hot module pure? All are if the compiler failed, and one is that became hot since."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    modules = [SITE / name.replace(".", "/") for names in listed.values() for name in names]
    return not all(any(module.parent.glob(f"{module.name}.*.so")) for module in modules)


def _library() -> Path | None:
    """The sanitizer's library, which must be loaded before the interpreter's own."""
    if shutil.which("gcc") is None:
        return None
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip())
    return path.resolve() if path.is_absolute() else None


def _copy(source: Path, target: Path) -> None:
    """The sources of a package, and none that is no more. A file that has not changed keeps its time."""
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.suffix in _SUFFIXES}
    for path in wanted:
        copy = target / path
        data = (source / path).read_bytes()
        if not copy.exists() or copy.read_bytes() != data:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
    for path in [path for path in target.rglob("*.py") if path.relative_to(target) not in wanted]:
        path.unlink()
