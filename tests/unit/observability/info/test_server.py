"""INFO server: versions and uptime."""

from __future__ import annotations

import pytest

from pyrepl import VERSION
from pyrepl.kernels import form
from tests.unit.commands.rig import START_MS, Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestServer:
    def test_versions(self, rig: Rig) -> None:
        shown = info(rig, "server")
        assert shown["redis_version"] == "8.2.3"
        assert (shown["server_name"], shown["pyrepl_version"]) == ("pyrepl", VERSION)
        assert shown["pyrepl_build"] == form()

    def test_uptime(self, rig: Rig) -> None:
        rig.pass_s(90_000.5)
        shown = info(rig, "server")
        assert (shown["uptime_in_seconds"], shown["uptime_in_days"]) == ("90000", "1")
        assert shown["server_time_usec"] == str((START_MS + 90_000_500) * 1000)
