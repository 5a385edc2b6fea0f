"""MEMORY. The sizes are estimates, so the tests hold them to bounds and to order."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import OK, Verbatim
from tests.unit.commands.rig import Rig

MB = 1024 * 1024


@pytest.fixture
def rig() -> Rig:
    return Rig()


def usage(rig: Rig, words: str) -> int:
    reply = rig.say(f"MEMORY USAGE {words}")
    assert isinstance(reply, int)
    return reply


class TestUsage:
    def test_of_nothing(self, rig: Rig) -> None:
        assert rig.say("MEMORY USAGE nosuch") is None

    def test_of_a_string(self, rig: Rig) -> None:
        rig.run("SET", "a", b"x" * 10_000)
        assert 10_000 < usage(rig, "a") < 10_500

    @pytest.mark.parametrize(
        "line", ["RPUSH k {}", "SADD k {}", "HSET k {} 1", "ZADD k 1 {}", "XADD k * field {}", "HSET k f{} value"]
    )
    def test_of_collections_grows_with_them(self, rig: Rig, line: str) -> None:
        for number in range(100):
            rig.say(line.format(f"element-{number:06d}"))
        small = usage(rig, "k")
        for number in range(100, 400):
            rig.say(line.format(f"element-{number:06d}"))
        assert 2.5 * small < usage(rig, "k") < 6 * small

    def test_samples(self, rig: Rig) -> None:
        rig.run("RPUSH", "k", *[b"x" * 1000] * 5, *[b"y"] * 995)
        assert usage(rig, "k SAMPLES 5") > 1_000_000
        assert usage(rig, "k SAMPLES 0") < 100_000
        assert usage(rig, "k") == usage(rig, "k samples 5")

    def test_of_groups(self, rig: Rig) -> None:
        rig.say("XADD s 1-1 f v")
        before = usage(rig, "s")
        rig.say("XGROUP CREATE s g 0")
        rig.say("XREADGROUP GROUP g consumer STREAMS s >")
        assert usage(rig, "s") > before

    def test_an_expired_key_has_none(self, rig: Rig) -> None:
        rig.say("SET a 1 PX 1")
        rig.pass_s(1)
        assert rig.say("MEMORY USAGE a") is None

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            ("a SAMPLES", "ERR syntax error"),
            ("a foo 1", "ERR syntax error"),
            ("a SAMPLES -1", "ERR syntax error"),
            ("a SAMPLES x", "ERR value is not an integer or out of range"),
        ],
    )
    def test_errors(self, rig: Rig, words: str, text: str) -> None:
        assert rig.error(f"MEMORY USAGE {words}") == text


class TestStats:
    def test_adds_up(self, rig: Rig) -> None:
        process = rig.node.process
        process.startup_bytes, process.rss_bytes, process.peak_used_bytes = 10 * MB, 30 * MB, 40 * MB
        rig.say("SET a 1")
        rig.say("SELECT 3")
        rig.say("SET b 1")
        stats = rig.say("MEMORY STATS")
        assert isinstance(stats, dict)
        assert stats[b"keys.count"] == 2
        assert 0 < stats[b"dataset.bytes"] < 1000
        assert stats[b"overhead.total"] + stats[b"dataset.bytes"] == stats[b"total.allocated"]
        assert 10 * MB <= stats[b"total.allocated"] < 10.01 * MB
        assert stats[b"fragmentation.bytes"] == 30 * MB - stats[b"total.allocated"]
        assert 25.0 <= stats[b"peak.percentage"] < 25.1
        assert {b"db.0", b"db.3"} <= set(stats)


class TestDoctor:
    def diagnosis(self, rig: Rig) -> str:
        reply = rig.say("MEMORY DOCTOR")
        assert isinstance(reply, Verbatim)
        return reply.text.decode()

    def test_little_memory(self, rig: Rig) -> None:
        assert "nothing to examine" in self.diagnosis(rig)

    def test_health(self, rig: Rig) -> None:
        rig.node.process.startup_bytes = rig.node.process.peak_used_bytes = 50 * MB
        assert "can't find any" in self.diagnosis(rig)

    def test_a_peak(self, rig: Rig) -> None:
        rig.node.process.startup_bytes, rig.node.process.peak_used_bytes = 50 * MB, 100 * MB
        assert "Peak memory" in self.diagnosis(rig)

    def test_a_client_that_does_not_read(self, rig: Rig) -> None:
        rig.node.process.startup_bytes = rig.node.process.peak_used_bytes = 50 * MB
        rig.client.output_bytes = 10 * MB
        assert "Big client buffers" in self.diagnosis(rig)


def test_the_rest(rig: Rig) -> None:
    assert rig.say("MEMORY PURGE") == OK
    assert rig.say("MEMORY MALLOC-STATS") == Verbatim(b"Stats not supported for the current allocator")
    assert b"+STATS\r\n" in rig.wire("MEMORY HELP")
