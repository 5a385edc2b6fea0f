"""What an analysis needs of this machine: modules that the daemon does without, and Java, which Spark runs on."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

NEEDED: Final = ("pyspark", "pyarrow", "polars", "jinja2", "prometheus_client", "vl_convert")
"""Modules of the extra `metrics`, which the daemon does without."""
INSTALL: Final = "pip install 'pyrepl-server[metrics]'"
INSTALL_DELTA: Final = "pip install 'pyrepl-server[delta]'"
NO_JAVA: Final = (
    "Spark runs on Java, 17 or later, and there is none here. Install it:\n"
    "  Debian, Ubuntu   apt-get install default-jre-headless\n"
    "  Fedora, RHEL     dnf install java-21-openjdk-headless\n"
    "  macOS            brew install openjdk@21\n"
    "or set JAVA_HOME to where it is."
)
LEAST_JAVA: Final = 17


def why_not() -> str:
    """What this machine lacks for an analysis and how to install it, as a sentence; empty if nothing is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return f"needs more than the daemon does, {', '.join(missing)} is missing here. Install it: {INSTALL}"
    return "" if java() else NO_JAVA


def why_no_delta() -> str:
    """What this machine lacks for tables of Delta Lake, as `why_not`."""
    if importlib.util.find_spec("deltalake") is not None:
        return ""
    return f"--delta needs deltalake, which is missing here. Install it: {INSTALL_DELTA}"


def java() -> str:
    """Path of the Java that Spark would run: that of JAVA_HOME if it is set, else the one in PATH; empty if there is
    none."""
    home = os.environ.get("JAVA_HOME", "")
    if home:
        program = Path(home) / "bin" / "java"
        return str(program) if os.access(program, os.X_OK) else ""
    return shutil.which("java") or ""


def java_version(program: str) -> int:
    """The major version of this Java; 0 if it cannot be run within 20 s or does not say."""
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(match[1]) if match else 0
