"""Thousands of histories of mailboxes: `python -m tests.simulation.mailbox.many --seeds 5000 --first N --workers 2`."""

from __future__ import annotations

import sys

from tests.simulation.driver import main
from tests.simulation.mailbox.history import run

if __name__ == "__main__":
    sys.exit(main(run, "Simulate many seeded histories of mailboxes."))
