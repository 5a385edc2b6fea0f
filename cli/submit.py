"""`pyrepl metrics` for spark-submit, which wants a file: spark-submit [its options] submit.py LOG... --out DIR.

The master and the memory are then spark-submit's.
"""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    # By its installed name: spark-submit runs this file alone, outside its package.
    importlib.import_module("pyrepl_cli.commands").cli(["metrics", *sys.argv[1:]], prog_name="pyrepl")
