"""What each fact of the machine means for a node, and what to do: one function for each, listed in RULES.

OK is worth no more than a look; ADVICE costs speed or safety some day; a PROBLEM stops a node, or breaks it under load.
The same matters to Redis, which warns of some of it at its start: overcommit, huge pages, somaxconn, clock source.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final, NamedTuple

from pyrepl.host.facts import Host, Wants
from pyrepl.units import format_memory

SLOW_CLOCKS: Final = ("hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies", "pit")
"""Clock sources that the kernel must ask a device or a hypervisor for, at each look."""
SWAPS_FROM: Final = 20
"""More than this part of memory (one in so many) in use as swap is worth a word."""
_LITTLE_BYTES: Final = 1 << 30


class Verdict(enum.Enum):
    """How much a finding matters."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


class Finding(NamedTuple):
    """One fact of the machine: what was found, what it means, what to do. The last two are empty where all is well."""

    about: str
    verdict: Verdict
    found: str
    means: str = ""
    to_do: str = ""


def findings(host: Host, wants: Wants) -> list[Finding]:
    """What there is to say, in the order of RULES; nothing of what the system does not tell."""
    return [found for rule in RULES if (found := rule(host, wants)) is not None]


def is_in_order(found: list[Finding]) -> bool:
    """No PROBLEM among them."""
    return all(one.verdict is not Verdict.PROBLEM for one in found)


def _ok(about: str, found: str) -> Finding:
    return Finding(about, Verdict.OK, found)


def _advice(about: str, found: str, means: str, to_do: str) -> Finding:
    return Finding(about, Verdict.ADVICE, found, means, to_do)


def _problem(about: str, found: str, means: str, to_do: str) -> Finding:
    return Finding(about, Verdict.PROBLEM, found, means, to_do)


def _sysctl(name: str, value: int) -> str:
    return f"sysctl {name}={value}, and the line {name} = {value} in /etc/sysctl.d/60-pyrepl.conf, to keep it"


def overcommit(host: Host, wants: Wants) -> Finding | None:
    """A snapshot is written by a fork, which the kernel counts as if all memory were needed twice."""
    about, value = "overcommit", host.overcommit
    if value is None:
        return None
    found = f"vm.overcommit_memory is {value}"
    to_do = _sysctl("vm.overcommit_memory", 1)
    if value == 1:
        return _ok(about, found)
    if value == 2:
        return _problem(
            about, found, "the fork that writes a snapshot is refused once the data takes half of CommitLimit", to_do
        )
    return _advice(
        about, found, "some kernels refuse the fork that writes a snapshot when the data is large and memory low", to_do
    )


def huge_pages(host: Host, wants: Wants) -> Finding | None:
    """The compiled form asks for huge pages by itself, for small objects alone (`madvise`, directive huge-pages)."""
    about, value = "huge pages", host.huge_pages
    if value is None:
        return None
    found = f"transparent huge pages: {value}"
    to_do = "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled, at each start of the machine"
    if value == "always":
        return _advice(
            about,
            found,
            "all programs get huge pages for all memory: a write during a snapshot then copies 2 MB of it",
            to_do,
        )
    if value == "never" and wants.huge_pages and host.is_compiled:
        return _advice(about, found, "the directive huge-pages has no effect: forks take ten times as long", to_do)
    return _ok(about, found)


def somaxconn(host: Host, wants: Wants) -> Finding | None:
    """The kernel lowers the queue of a listening socket to net.core.somaxconn without a word."""
    about, value = "connection queue", host.somaxconn
    if value is None:
        return None
    found = f"net.core.somaxconn is {value}, tcp-backlog {wants.tcp_backlog}"
    if value >= wants.tcp_backlog:
        return _ok(about, found)
    return _advice(
        about,
        found,
        f"only {value} connections can wait to be accepted; when more come at once, clients wait a second or longer",
        _sysctl("net.core.somaxconn", wants.tcp_backlog),
    )


def open_files(host: Host, wants: Wants) -> Finding | None:
    """Each connection takes a descriptor. A node raises the soft limit by itself, but not beyond the hard one."""
    about, limit = "open files", host.open_files
    if limit is None:
        return _ok(about, "no limit here")
    found = f"{limit} here at most, {wants.descriptors_liked} wanted"
    to_do = f"LimitNOFILE={wants.descriptors_liked} in the systemd unit, or ulimit -Hn {wants.descriptors_liked}"
    if limit >= wants.descriptors_liked:
        return _ok(about, found)
    if limit >= wants.descriptors:
        return _advice(about, found, "too few for maxclients-reserve and for handshakes of TLS", to_do)
    return _problem(about, found, "the node will lower maxclients to what fits", f"{to_do}; or set a lower maxclients")


def clock(host: Host, wants: Wants) -> Finding | None:
    """Keys expire at a time of the clock, which is sent to replicas as it is."""
    about = "clock"
    if host.is_clock_set is None:
        return None
    if host.is_clock_set:
        return _ok(about, "kept right")
    return _advice(
        about,
        "the kernel says that no program keeps it right",
        "keys expire by the clock: on a replica whose clock differs, too early or too late; and logs of"
        " several nodes cannot be compared",
        "apt-get install chrony, or systemd-timesyncd; in a container: on its host",
    )


def clock_source(host: Host, wants: Wants) -> Finding | None:
    """A node looks at the clock for each batch of commands."""
    about, value = "clock source", host.clock_source
    if value is None:
        return None
    if value not in SLOW_CLOCKS:
        return _ok(about, value)
    path = "/sys/devices/system/clocksource/clocksource0"
    return _advice(
        about,
        value,
        "each look at the clock is a call into the kernel, and a node looks at each batch of commands",
        f"choose tsc, if {path}/available_clocksource has it: echo tsc >{path}/current_clocksource",
    )


def memory(host: Host, wants: Wants) -> Finding | None:
    """What `maxmemory` allows must be there, and a part again for buffers and a snapshot's copies."""
    about, value = "memory", host.memory_bytes
    if value is None:
        return None
    limit = wants.maxmemory_bytes
    found = f"{format_memory(value)}, maxmemory {format_memory(limit) if limit else 'not set'}"
    if limit <= value * 3 // 4:
        return _ok(about, found)
    return _problem(
        about,
        found,
        "buffers of replicas, and what is written during a snapshot, need memory too: the kernel may kill the node",
        f"maxmemory {value * 3 // 4} or less, or more memory",
    )


def swap(host: Host, wants: Wants) -> Finding | None:
    """A key in swap is read from disk."""
    about = "swap"
    if host.swap_bytes is None or host.swap_used_bytes is None or host.memory_bytes is None:
        return None
    if host.swap_bytes == 0:
        return _ok(about, "none")
    found = f"{format_memory(host.swap_used_bytes)} used of {format_memory(host.swap_bytes)}"
    if host.swap_used_bytes <= host.memory_bytes // SWAPS_FROM:
        return _ok(about, found)
    return _advice(
        about,
        found,
        "the machine is short of memory: a key that lies in swap is read from disk, and all wait for it",
        "look with free -h and top which programs take memory; then set a lower maxmemory, run fewer"
        " programs, or add memory",
    )


def namesake(host: Host, wants: Wants) -> Finding | None:
    """Both packages have a folder `pyrepl` in site-packages: each installation overwrites files of the other."""
    about = "namesake"
    if host.namesake is None:
        return _ok(about, "no other package named pyrepl here")
    return _problem(
        about,
        f"another package named pyrepl is installed in this environment too (version {host.namesake})",
        "both have a folder pyrepl: to install or remove one of them breaks the other",
        "pip uninstall pyrepl pyrepl-server, then an environment for each: pipx install pyrepl-server",
    )


def form(host: Host, wants: Wants) -> Finding | None:
    """Compiled, the same modules run several times as fast. Compiled from other sources, no command of pyrepl runs
    (`pyrepl.kernels`), nor would this."""
    about = "form"
    if host.is_compiled:
        return _ok(about, "compiled, from the sources that are here")
    if host.why_not_compilable is not None:
        return _advice(
            about,
            f"plain Python: {host.why_not_compilable}",
            "a node serves several times fewer commands",
            "install with a usual CPython, 3.11 to 3.14",
        )
    return _advice(
        about,
        "plain Python",
        "a node serves several times fewer commands, and a snapshot takes far longer",
        "apt-get install gcc python3-dev, then install again: pip install --force-reinstall --no-deps pyrepl-server",
    )


def folder(host: Host, wants: Wants) -> Finding | None:
    """A snapshot is written beside the last one, and takes its name when it is whole."""
    about, place = "dir", wants.folder
    if place is None:
        return None
    if place.trouble is not None:
        return _problem(
            about,
            f"{place.path}: {place.trouble}",
            "the node cannot write its snapshots and files",
            "make the folder, for the user that the node runs as; or set `dir` to another",
        )
    found = f"{place.path}: {format_memory(place.free_bytes)} free"
    to_do = "make room, or set `dir` to a folder on a larger disk"
    if place.free_bytes < place.snapshot_bytes:
        return _problem(
            about,
            f"{found}, the last snapshot has {format_memory(place.snapshot_bytes)}",
            "the next snapshot does not fit beside the last one: saving and syncs to a file fail",
            to_do,
        )
    if place.free_bytes < max(_LITTLE_BYTES, wants.maxmemory_bytes):
        return _advice(about, found, "when the data grows, a snapshot may not fit", to_do)
    return _ok(about, found)


RULES: Final[tuple[Callable[[Host, Wants], Finding | None], ...]] = (
    overcommit,
    huge_pages,
    somaxconn,
    open_files,
    clock,
    clock_source,
    memory,
    swap,
    namesake,
    form,
    folder,
)
