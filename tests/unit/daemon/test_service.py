"""Services go through the node's life in their order, and end in the reverse one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from pyrepl.daemon.service import NEVER, Service, Services
from pyrepl.errors import ConfigError


class Told(Service):
    """Notes what it is told."""

    def __init__(self, name: str, told: list[str]) -> None:
        self._name = name
        self._told = told

    def begin(self) -> None:
        self._told.append(f"{self._name} begins")

    def settings_changed(self, names: Collection[str]) -> None:
        self._told.append(f"{self._name} hears of {', '.join(names)}")
        if "bad" in names:
            raise ConfigError(self._name)

    def stop(self) -> None:
        self._told.append(f"{self._name} stops")

    async def finish(self) -> None:
        self._told.append(f"{self._name} finishes")


def test_in_order_and_back() -> None:
    told: list[str] = []
    services = Services(Told("a", told), Told("b", told))
    services.begin()
    services.settings_changed(("x", "y"))
    services.stop()
    asyncio.run(services.finish())
    began = ["a begins", "b begins", "a hears of x, y", "b hears of x, y"]
    assert told == [*began, "b stops", "a stops", "b finishes", "a finishes"]


def test_one_that_refuses_settings_is_the_last_to_hear_of_them() -> None:
    told: list[str] = []
    with pytest.raises(ConfigError, match="a"):
        Services(Told("a", told), Told("b", told)).settings_changed(("bad",))
    assert told == ["a hears of bad"]


def test_what_a_service_does_not_need_it_does_not_write() -> None:
    quiet = Service()
    services = Services(quiet)
    services.begin()
    services.settings_changed(())
    services.stop()
    asyncio.run(services.finish())
    quiet.tick(1.0)
    assert quiet.next_deadline(1.0) == NEVER > 1e300
    assert list(services) == [quiet]
