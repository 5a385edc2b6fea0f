"""HOTKEYS beside Redis 8.6: errors, the shape of the answer, and which keys are hot."""

from __future__ import annotations

from typing import Any

from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Wire

LINES = (
    "GET|STOP|RESET|START|START METRICS|START METRICS 1|START METRICS 1 X|START METRICS 0|START METRICS x|"
    "START METRICS 3 CPU NET CPU|START METRICS 2 CPU CPU|START METRICS 2 CPU|START METRICS 1 CPU COUNT 0|"
    "START METRICS 1 CPU COUNT 65|START METRICS 1 CPU COUNT x|START METRICS 1 CPU DURATION -1|"
    "START METRICS 1 CPU SAMPLE 0|START METRICS 1 CPU SLOTS 1 5|START METRICS 1 CPU FOO|START COUNT 5|"
    "START METRICS 2 NET CPU COUNT 5|START METRICS 1 CPU|RESET|STOP|STOP|START METRICS 1 NET DURATION 100 SAMPLE 7|"
    "STOP|RESET|GET"
)


def asked(wire: Wire, line: str) -> Any:
    try:
        return wire.call("HOTKEYS", *line.split())
    except ErrorReply as error:
        return str(error)


def test_answers_and_errors_are_those_of_redis(lab: Lab) -> None:
    ours, theirs = (
        [(line, asked(node.connect(), line)) for line in LINES.split("|")]
        for node in (lab.start(kind) for kind in ("pyrepl", "redis86"))
    )
    assert ours == theirs


def collected(node: Node) -> dict[bytes, Any]:
    wire = node.connect()
    wire.call("HOTKEYS", "START", "METRICS", 2, "CPU", "NET", "COUNT", 3)
    for number in range(50):
        wire.call("SET", "big", "x" * 1000)
        wire.call("GET", "big")
        wire.call("MSET", "m1", "a" * 100, "m2", "b" * 100)
        wire.call("SET", f"k{number}", "v")
    wire.call("MULTI")
    wire.call("SET", "big", "x" * 1000)
    wire.call("EXEC")
    wire.call("HOTKEYS", "STOP")
    flat = wire.call("HOTKEYS", "GET")[0]
    return dict(zip(flat[::2], flat[1::2], strict=True))


def test_the_same_keys_are_hot(lab: Lab) -> None:
    ours, theirs = (collected(lab.start(kind)) for kind in ("pyrepl", "redis86"))
    assert list(ours) == list(theirs)
    assert ours[b"selected-slots"] == theirs[b"selected-slots"]
    for found in (ours, theirs):
        assert found[b"by-net-bytes"][0] == b"big"
        assert sorted(found[b"by-net-bytes"][2::2]) == [b"m1", b"m2"]
    for index in (1, 3, 5):
        # Redis counts some bytes of EXEC.
        assert abs(ours[b"by-net-bytes"][index] - theirs[b"by-net-bytes"][index]) < 60
