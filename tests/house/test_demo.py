"""What newcomers run first needs nothing but the package and what it requires: `make demo` installs no more."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys

from tests.house.source import ROOT

SHOW = """
import importlib, importlib.metadata, sys
importlib.import_module(sys.argv[1])
known = importlib.metadata.packages_distributions()
print(*{name for module in list(sys.modules) for name in known.get(module.partition(".")[0], ())})
"""


def names(listed: str) -> set[str]:
    """Of the distributions in a list of requirements."""
    return set(re.findall(r"^[\w-]+", listed, re.MULTILINE))


def loaded(module: str) -> set[str]:
    """The distributions whose modules are there when `module` is imported, and not by a mere start of Python."""
    found = []
    for name in (module, "sys"):
        command = [sys.executable, "-c", SHOW, name]
        found.append(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    return set(found[0]) - set(found[1])


def of_the_tests() -> set[str]:
    """What the tests need and the package itself does not."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return names(setup["options.extras_require"]["test"]) - names(setup["options"]["install_requires"])


def test_a_package_of_the_tests_is_seen() -> None:
    assert loaded("tests.peers.certificates") & of_the_tests() == {"trustme"}


def test_the_demos_need_none() -> None:
    assert [loaded(module) & of_the_tests() for module in ("bench.demo", "bench.demo_mailboxes")] == [set(), set()]
