"""`pyrepl metrics` for spark-submit, which wants a file: spark-submit [its options] submit.py LOG... --out DIR.

The master and the memory are then spark-submit's; the workers need this package in the Python that they run.
"""

from __future__ import annotations

import sys

from pyrepl_cli.commands import cli

if __name__ == "__main__":
    cli(["metrics", *sys.argv[1:]], prog_name="pyrepl")
