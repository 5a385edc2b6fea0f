"""What a node loads to start: nothing that is off unless it is asked for. Each of these would cost every start."""

from __future__ import annotations

import subprocess
import sys

from tests.house.source import ROOT

START = "import sys, pyrepl_cli.main, pyrepl_cli.commands, pyrepl.daemon.loop; print(*sys.modules, sep='\\n')"
"""What `pyrepl master` and `pyrepl replica` import before they listen."""

UNWANTED = {
    # The change streams, their client, and the tables of facts.
    "pyrepl.daemon.changes.server",
    "pyrepl.changes.client",
    "pyrepl.changes.subscription",
    # Mailboxes.
    "pyrepl.daemon.mailbox.server",
    "pyrepl.mailbox",
    "sqlite3",
    "psycopg",
    # The other subcommands and what they are made with.
    "pyrepl.analysis",
    "pyrepl.capture",
    "pyrepl.metrics",
    "pyrepl.topology",
    "rich",
    "pyspark",
    "pyarrow",
    "pandas",
    "numpy",
    "jinja2",
    "prometheus_client",
    # Slow parts of the standard library, wanted once something is wrong or looked at.
    "difflib",
    "http",
    "multiprocessing",
    "unittest",
    "xml",
}


def test_a_start_loads_nothing_that_is_switched_off() -> None:
    done = subprocess.run([sys.executable, "-c", START], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "pyrepl.daemon.app" in loaded
    assert sorted(loaded & UNWANTED) == []
