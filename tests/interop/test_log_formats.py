"""log-format and log-timestamp-format: a line of Valkey 9.1 and the same line of pyrepl have the same shape."""

from __future__ import annotations

import re

import pytest

from tests.peers.lab import Lab

READY = "Ready to accept connections tcp"


def shape(line: str) -> str:
    """The line with other numbers: a process id is one digit, digits of times are nines."""
    line = re.sub(r'^(\{"pid":|pid=|)\d+', r"\g<1>1", line)
    return re.sub(r"\d", "9", line)


@pytest.mark.parametrize("form", ["legacy", "logfmt", "json"])
@pytest.mark.parametrize("timestamp", ["legacy", "iso8601", "milliseconds"])
def test_the_same_line(lab: Lab, form: str, timestamp: str) -> None:
    directives = {"log-format": form, "log-timestamp-format": timestamp}
    shapes = []
    for kind in ("valkey91", "pyrepl"):
        node = lab.start(kind, directives=directives)
        node.wait_log(READY)
        shapes.append([shape(line) for line in node.log().splitlines() if READY in line])
    assert shapes[0] == shapes[1] and len(shapes[0]) == 1
