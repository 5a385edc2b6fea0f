"""Thousands of histories of mailboxes: `python -m tests.simulation.mailbox.many --seeds 5000 --first N --workers 2`."""

from __future__ import annotations

import sys

from tests.simulation.driver import main
from tests.simulation.mailbox.history import run_either

if __name__ == "__main__":
    sys.exit(main(run_either, "Simulate many seeded histories of mailboxes."))
