"""Where a connection comes from: the Unix socket, this machine, or elsewhere."""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

_Ip: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_unix(addr: str) -> bool:
    """Did it come by the Unix socket? `addr` is `path:0` there, and no other has port 0."""
    return addr.endswith(":0")


def place_of(addr: str) -> bytes:
    """What stands for one machine: an IPv4 address, the first half of an IPv6 address, as a machine may have any number
    of others that begin alike, and b"" for the Unix socket."""
    if is_unix(addr):
        return b""
    address = _ip_of(addr)
    if address is None:
        return b""
    address = _unmapped(address)
    return address.packed[:8] if isinstance(address, ipaddress.IPv6Address) else address.packed


def is_local(addr: str) -> bool:
    """Does it come from this machine: by the Unix socket, or from a loopback address, any of 127.0.0.0/8 or ::1?

    What Redis 7.2 and later and Valkey 8 mean by it, for protected mode and for `local` in enable-debug-command and
    enable-protected-configs (7.0 knew 127.0.0.1 and ::1 alone).
    """
    address = _ip_of(addr)
    return is_unix(addr) if address is None else address.is_loopback


def is_public(addr: str) -> bool:
    """Does it come from another network than one's own: neither this machine nor addresses that the Internet has none
    of (RFC 1918, 4193, 6598)?"""
    address = _ip_of(addr)
    return address is not None and _unmapped(address).is_global


def _unmapped(address: _Ip) -> _Ip:
    """The IPv4 address that an IPv6 address stands for, if it stands for one."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


def _ip_of(addr: str) -> _Ip | None:
    """The address in `ip:port` or `[ip6%zone]:port`; None if there is none."""
    try:
        return ipaddress.ip_address(addr.rpartition(":")[0].strip("[]").partition("%")[0])
    except ValueError:
        return None
