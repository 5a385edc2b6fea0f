"""Which tests are run on the pure form besides the compiled one: `python -m tests.forms` prints their files.

On the compiled form all tests are run. A second run as the modules are written proves something where a module that is
compiled is at work, and nothing elsewhere: what is the same Python in both runs says the same twice. So a file is left
out that imports no such module, whatever it imports by way of others, and starts no process, which might.

Of the daemon's modules, which run around sockets and disks what is tested on both forms without them, there are those
that are compiled themselves. Of the tests with processes there are the chains with real servers, in which a node stands
between new ones and others, and those in FOLDERS; not the faults and the other conversations, whose servers are slower
without saying anything else. Of the metrics there are the tests in SCAN alone, which compare what is compiled there
line by line with a JSON reader: whatever starts Spark is run once. Commands are compared with a real server group by
group once, and in MIXED, where all groups are, twice: what computes their answers has unit tests on both forms. Of the
tests of the house there are those that ask which form there is, and what a start loads; the others say the same of both
forms.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.house.imports import module_of, targets
from tests.house.source import ROOT, python, shown

FOLDERS: Final = ("tests/unit/", "tests/property/", "tests/scenario/", "tests/fuzz/")
HOUSE: Final = ("tests/house/test_kernels.py", "tests/house/test_start.py")
COMPARED: Final = "tests/property/test_differential"
MIXED: Final = (f"{COMPARED}.py", f"{COMPARED}_mixed.py")
CHAINS: Final = ("tests/interop/test_chain.py",)
METRICS: Final = (
    "tests/unit/metrics/",
    "tests/unit/analysis/",
    "tests/unit/cli/metrics/",
    "tests/property/test_metrics_",
)
DAEMON: Final = "tests/unit/daemon/"
SCAN: Final = tuple(f"tests/unit/metrics/test_{name}.py" for name in ("scan", "quicklines", "part"))

DOORS: Final = frozenset({"subprocess", "importlib", "pkgutil", "runpy"})
"""Where one of these is imported by a test or a helper of tests, more may run than the imports name."""

NO_NODE: Final = frozenset({"tests.house.source", "tests.peers.debian", "tests.peers.finder", "tests.peers.postgres"})
"""Helpers whose processes are git, package managers and databases."""


def kernels() -> frozenset[str]:
    """The modules that are compiled."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyrepl"]["kernels"]
    return frozenset(name for names in tools.values() for name in names)


class Imports:
    """Who imports what, of all these files."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files: Mapping[str, Path] = {module_of(path): path for path in files}
        self._named: dict[str, frozenset[str]] = {}

    def named(self, module: str) -> frozenset[str]:
        """What its statements name, and the packages of that: modules, names in them, and what is not ours."""
        if module not in self._named:
            names = targets(self._files[module])
            self._named[module] = frozenset(part for name in names for part in _with_packages(name))
        return self._named[module]

    def reached(self, module: str) -> frozenset[str]:
        """It, and the modules of ours that it imports itself or by way of others."""
        found: set[str] = set()
        waiting = {module}
        while waiting:
            here = waiting.pop()
            found.add(here)
            waiting |= (self.named(here) & self._files.keys()) - found
        return frozenset(found)


def _with_packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def says_more_on_the_pure_form(module: str, imports: Imports, compiled: frozenset[str]) -> bool:
    """Is a compiled module among what a module of tests reaches, or a door to one?"""
    reached = imports.reached(module)
    helpers = (name for name in reached - NO_NODE if name.startswith("tests."))
    return bool(reached & compiled) or any(imports.named(name) & DOORS for name in helpers)


def _own(kernel: str) -> str:
    """The file of a module's own tests."""
    *rooms, name = kernel.split(".")[1:]
    return "/".join(("tests/unit", *rooms, f"test_{name}.py"))


def _is_run_once(path: str, own: Collection[str]) -> bool:
    """`own`: the own tests of compiled modules."""
    if path.startswith(DAEMON):
        return path not in own
    return (path.startswith(METRICS) and path not in SCAN) or (path.startswith(COMPARED) and path not in MIXED)


def chosen() -> list[str]:
    """The files of tests, as paths from the root."""
    imports, compiled = Imports(python("pyrepl", "cli", "bench", "tests")), kernels()
    tests = [path for path in python("tests") if path.name.startswith("test_")]
    own = frozenset(map(_own, compiled))
    wanted = [path for path in tests if shown(path).startswith((*FOLDERS, *HOUSE, *CHAINS))]
    return [
        shown(path)
        for path in wanted
        if not _is_run_once(shown(path), own) and says_more_on_the_pure_form(module_of(path), imports, compiled)
    ]


if __name__ == "__main__":
    print(*chosen(), sep="\n")
