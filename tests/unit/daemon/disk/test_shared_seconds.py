"""A number that a child sees change."""

from __future__ import annotations

import os

from pyrepl.daemon.disk.shared_seconds import SharedSeconds


def test_a_child_that_runs_sees_what_its_parent_sets() -> None:
    span = SharedSeconds(60.0)
    assert span.seconds == 60.0
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(told, 1)
        os._exit(int(span.seconds))
    span.seconds = 4.0
    os.write(tell, b"\n")
    _, status = os.waitpid(child, 0)
    for fd in (told, tell):
        os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 4
