"""`python -m pyrepl.observability.eventlog` prints the reference page: docs/event-log.md is made with it."""

from __future__ import annotations

import sys

from pyrepl.observability.eventlog.reference import reference

if __name__ == "__main__":
    sys.stdout.write(reference())
