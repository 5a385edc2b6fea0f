"""One INFO text as typed facts about a node, whatever wrote it: pyrepl, Redis from 5 on, Valkey, Sentinel.

A field that is missing or makes no sense is None (or empty), never an error: servers differ, and so do versions.
Offsets are cuts, as INFO states them, except `repl_backlog_first_byte_offset`, which counts bytes from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, final

from pyrepl.address import Address

_ABSENT: Final = ("", "?", "no-failover")


class ReplicaRow(NamedTuple):
    """A master's view of one replica: INFO's slave<n>."""

    address: Address
    """Port 0: the replica has not said where it listens, as tools like redis-cli --replica do not."""
    state: str
    """wait_bgsave, send_bulk, online, ..."""
    offset: int
    """The cut that the replica acknowledged."""
    lag_s: int | None
    """Seconds since the acknowledgement."""


class Sync(NamedTuple):
    """A full resync under way, as its replica sees it."""

    read_bytes: int | None
    total_bytes: int | None
    """None or 0: not known, the master sends it without a file."""
    bytes_per_s: int | None
    eta_s: int | None


@final
class Facts(NamedTuple):
    """What a node says of itself."""

    run_id: str
    software: str
    """For people: "redis 8.2.3"."""
    is_sentinel: bool
    watched: tuple[Address, ...]
    """The masters that a sentinel watches; empty for any other node."""
    is_replica: bool
    master: Address | None
    replid: str
    offset: int | None
    """The end of a master's stream; of a replica, the cut up to which it has applied its master's."""
    backlog_bytes: int | None
    """The backlog's capacity; None while no backlog is kept."""
    backlog_held_bytes: int
    backlog_first_byte: int
    link_up: bool
    silence_s: int | None
    """Seconds since the node's master last sent anything."""
    down_s: int | None
    last_error: str
    next_try_s: int | None
    sync: Sync | None
    loading_percent: float | None
    failover: str
    """Empty when none is under way."""
    replicas: tuple[ReplicaRow, ...]
    full_syncs: int | None
    partial_syncs: int | None


def parse_info(text: str) -> dict[str, str]:
    """The `name:value` lines of an INFO; a later one of the same name wins."""
    lines = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, colon, value in lines if colon}


def facts_of(text: str) -> Facts:
    """The facts in one INFO text; in a text that is none, all of them are missing."""
    info = parse_info(text)
    is_replica = info.get("role") == "slave"
    offset = _number(info.get("slave_repl_offset")) if is_replica else None
    failover = info.get("master_failover_state", "")
    return Facts(
        run_id=info.get("run_id", ""),
        software=_software(info),
        is_sentinel="sentinel" in (info.get("redis_mode"), info.get("server_mode")),
        watched=tuple(_watched(info)),
        is_replica=is_replica,
        master=_master(info) if is_replica else None,
        replid=info.get("master_replid", ""),
        offset=_number(info.get("master_repl_offset")) if offset is None else offset,
        backlog_bytes=_number(info.get("repl_backlog_size")) if info.get("repl_backlog_active") == "1" else None,
        backlog_held_bytes=_number(info.get("repl_backlog_histlen")) or 0,
        backlog_first_byte=_number(info.get("repl_backlog_first_byte_offset")) or 0,
        link_up=info.get("master_link_status") == "up",
        silence_s=_span(info.get("master_last_io_seconds_ago")),
        down_s=_span(info.get("master_link_down_since_seconds")),
        last_error=info.get("master_last_sync_error", ""),
        next_try_s=_span(info.get("master_next_try_in_seconds")),
        sync=_sync(info) if info.get("master_sync_in_progress") == "1" else None,
        loading_percent=_loading(info),
        failover="" if failover in _ABSENT else failover,
        replicas=tuple(_replicas(info)),
        full_syncs=_number(info.get("sync_full")),
        partial_syncs=_number(info.get("sync_partial_ok")),
    )


def _number(text: str | None) -> int | None:
    """A whole number, None for anything else."""
    digits = (text or "").removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def _span(text: str | None) -> int | None:
    """Seconds; INFO writes -1 for none."""
    number = _number(text)
    return number if number is not None and number >= 0 else None


def _software(info: Mapping[str, str]) -> str:
    for name, field in (("pyrepl", "pyrepl_version"), ("valkey", "valkey_version"), ("redis", "redis_version")):
        if info.get(field):
            return f"{name} {info[field]}"
    return ""


def _address(host: str | None, port: str | None) -> Address | None:
    number = _number(port)
    return Address(host, number) if host and number is not None and 0 <= number < 65536 else None


def _master(info: Mapping[str, str]) -> Address | None:
    return _address(info.get("master_host"), info.get("master_port"))


def _pairs(value: str) -> dict[str, str]:
    """`ip=1.2.3.4,port=5` as a dict."""
    return {name: part for name, _, part in (word.partition("=") for word in value.split(","))}


def _replicas(info: Mapping[str, str]) -> list[ReplicaRow]:
    """Each replica once; of one that syncs on two connections, the one that carries the stream."""
    found: dict[Address | int, tuple[bool, ReplicaRow]] = {}
    for number in range(len(info)):
        value = info.get(f"slave{number}")
        if value is None:
            break
        fields = _pairs(value)
        address = _address(fields.get("ip"), fields.get("port"))
        if address is None:
            continue
        row = ReplicaRow(address, fields.get("state", ""), _number(fields.get("offset")) or 0, _span(fields.get("lag")))
        is_second = fields.get("type") == "rdb-channel"
        name = address if address.port else number
        if name not in found or found[name][0]:
            found[name] = (is_second, row)
    return [row for _, row in found.values()]


def _watched(info: Mapping[str, str]) -> list[Address]:
    """The masters of a sentinel: `master0:name=m,status=ok,address=127.0.0.1:6379,...`."""
    result = []
    for number in range(len(info)):
        value = info.get(f"master{number}")
        if value is None:
            break
        host, _, port = _pairs(value).get("address", "").rpartition(":")
        address = _address(host, port)
        if address is not None:
            result.append(address)
    return result


def _sync(info: Mapping[str, str]) -> Sync:
    return Sync(
        _number(info.get("master_sync_read_bytes")),
        _span(info.get("master_sync_total_bytes")),
        _span(info.get("master_sync_bytes_per_sec")),
        _span(info.get("master_sync_eta_seconds")),
    )


def _loading(info: Mapping[str, str]) -> float | None:
    if info.get("loading") != "1":
        return None
    try:
        return float(info.get("loading_loaded_perc", "0"))
    except ValueError:
        return 0.0
