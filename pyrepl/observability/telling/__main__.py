"""`python -m pyrepl.observability.telling` prints the page of words about mailboxes: docs/mailbox-words.md."""

from __future__ import annotations

import sys

from pyrepl.observability.telling.mailbox_words import page

if __name__ == "__main__":
    sys.stdout.write(page())
