"""The parts of a node: made without a trace, and each that lives stands in the one list of services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrepl.config.settings import Settings
from pyrepl.daemon.app import App
from pyrepl.daemon.service import Service
from tests.peers.ports import free_port
from tests.unit.daemon.mailbox.mail_rig import members, settings_of
from tests.unit.daemon.rig import in_loop, open_fds


def app(folder: Path) -> App:
    mailboxes = settings_of(folder.parent / "mailboxes", "a", members("ab"))
    return App(Settings(dir=str(folder), port=free_port(), stream_port=free_port(), **mailboxes), None)


def open_sockets() -> set[str]:
    return {fd for fd in open_fds() if "socket:" in fd}


def services_of(part: Any) -> set[Service]:
    return {value for value in vars(part).values() if isinstance(value, Service)}


@in_loop
async def test_to_make_a_node_leaves_no_trace(tmp_path: Path) -> None:
    before, here = open_sockets(), Path.cwd()
    made = app(tmp_path)
    # Sockets of tests before this one may be collected just now.
    assert open_sockets() <= before and Path.cwd() == here and list(tmp_path.iterdir()) == []
    assert made.node.process.tcp_port == 0


@in_loop
async def test_every_part_that_lives_is_a_service_of_the_node(tmp_path: Path) -> None:
    made = app(tmp_path)
    listed = list(made.services)
    assert len(set(listed)) == len(listed) and {type(one).__module__.split(".")[1] for one in listed} == {"daemon"}
    kinds = {kind for kind in Service.__subclasses__() if kind.__module__.startswith("pyrepl.")}
    assert {type(service) for service in listed} == kinds
    assert services_of(made) <= set(listed)


@in_loop
async def test_what_others_stand_on_stops_after_them(tmp_path: Path) -> None:
    made = app(tmp_path)
    order = list(made.services)
    assert made.streams is not None
    for first, second in ((made.saver, made.aof), (made.aof, made.roles), (made.roles, made.streams)):
        assert order.index(first) < order.index(second)
