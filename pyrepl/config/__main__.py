"""`python -m pyrepl.config` prints the commented sample of all directives (conf/all.conf)."""

from __future__ import annotations

import sys

from pyrepl.config.render import sample

if __name__ == "__main__":
    sys.stdout.buffer.write(sample())
