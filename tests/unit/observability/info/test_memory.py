"""INFO memory: sizes, for machines and for people."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestMemory:
    def test_sizes(self, rig: Rig) -> None:
        process = rig.node.process
        process.startup_bytes, process.rss_bytes, process.peak_used_bytes = 2 << 20, 3 << 20, 4 << 20
        shown = info(rig, "memory")
        assert 2 << 20 <= int(shown["used_memory"]) < 2.01 * (1 << 20) and shown["used_memory_human"] == "2.00M"
        assert (shown["used_memory_rss"], shown["mem_fragmentation_ratio"]) == (str(3 << 20), "1.50")
        assert shown["used_memory_peak_human"] == "4.00M" and shown["used_memory_peak_perc"].startswith("50.")

    def test_what_is_freed_a_slice_at_a_time(self, rig: Rig) -> None:
        def shown() -> tuple[str, str]:
            memory = info(rig, "memory")
            return memory["lazyfree_pending_objects"], memory["lazyfreed_objects"]

        rig.run("SADD", "s", *[b"%d" % number for number in range(6000)])
        rig.say("UNLINK s")
        assert shown() == ("1", "0")
        rig.node.keyspace.disposal.run(4000)
        assert shown() == ("1", "0")
        rig.node.keyspace.disposal.run(4000)
        assert shown() == ("0", "1")
        rig.say("MSET a 1 b 2")
        rig.say("FLUSHALL")
        assert shown() == ("0", "3")
        rig.say("CONFIG RESETSTAT")
        assert info(rig, "memory")["lazyfreed_objects"] == "0"

    def test_what_the_append_only_file_has_not_taken_yet(self, rig: Rig) -> None:
        rig.node.persistence.aof.buffer_bytes = 7
        assert info(rig, "memory")["mem_aof_buffer"] == "7"

    def test_backlog(self, rig: Rig) -> None:
        assert info(rig, "memory")["mem_total_replication_buffers"] == "0"
        rig.stream()
        rig.run("SET", "a", b"x" * 1000)
        shown = info(rig, "memory")
        assert int(shown["mem_total_replication_buffers"]) >= int(shown["mem_replication_backlog"]) > 1000

    def test_the_peak_is_never_below_the_present(self, rig: Rig) -> None:
        rig.node.process.startup_bytes, rig.node.process.peak_used_bytes = 5 << 20, 4 << 20
        assert info(rig, "memory")["used_memory_peak_human"] == "5.00M"
