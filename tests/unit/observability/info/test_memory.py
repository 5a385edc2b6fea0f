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
        process.rss_bytes, process.peak_rss_bytes = 3 << 20, 4 << 20
        shown = info(rig, "memory")
        assert (shown["used_memory"], shown["used_memory_human"]) == (str(3 << 20), "3.00M")
        assert (shown["used_memory_peak_human"], shown["used_memory_peak_perc"]) == ("4.00M", "75.00%")

    def test_backlog(self, rig: Rig) -> None:
        assert info(rig, "memory")["mem_total_replication_buffers"] == "0"
        rig.stream()
        rig.run("SET", "a", b"x" * 1000)
        shown = info(rig, "memory")
        assert int(shown["mem_total_replication_buffers"]) >= int(shown["mem_replication_backlog"]) > 1000

    def test_the_peak_is_never_below_the_present(self, rig: Rig) -> None:
        rig.node.process.rss_bytes = 5 << 20
        assert info(rig, "memory")["used_memory_peak_human"] == "5.00M"
