"""INFO server: the process, its version and its uptime."""

from __future__ import annotations

from typing import Final

from pyrepl import VERSION
from pyrepl.kernels import form
from pyrepl.node.node import Node
from pyrepl.observability.info.field import Section, constant, gauge, text
from pyrepl.observability.version import REDIS_VERSION

DAY_S: Final = 86400
LRU_CLOCK_MASK: Final = (1 << 24) - 1


def uptime_s(node: Node) -> int:
    return int(node.process.now - node.process.started_at)


SERVER: Final = Section(
    "Server",
    (
        constant("redis_version", REDIS_VERSION, "The version of Redis whose behaviour clients may expect."),
        constant("server_name", "pyrepl", "What this server is, as Valkey prints it."),
        constant("pyrepl_version", VERSION, "The version of pyrepl."),
        constant("pyrepl_build", form(), "Whether the hot modules run compiled, or pure as they are written."),
        constant("redis_git_sha1", "00000000", "Zeros: this is no build of Redis."),
        constant("redis_git_dirty", 0, "Zeros: this is no build of Redis."),
        constant("redis_build_id", "0", "Zeros: this is no build of Redis."),
        constant("redis_mode", "standalone", "Neither cluster nor Sentinel."),
        text("os", lambda node: node.process.os, "Operating system, its release and machine."),
        constant("arch_bits", 64, "Bits of a pointer."),
        text("multiplexing_api", lambda node: node.process.loop, "The event loop."),
        text("python_version", lambda node: node.process.python, "The interpreter."),
        gauge("process_id", lambda node: node.process.pid, "Process id."),
        text(
            "process_supervised",
            lambda node: node.process.supervised,
            "systemd if the node tells systemd its state; or no.",
        ),
        text("run_id", lambda node: node.process.run_id, "Random, new at every start; Sentinel tells restarts by it."),
        gauge(
            "tcp_port",
            lambda node: node.process.any_port,
            "TCP port that the node listens on, tls-port if it is the only one; 0 for none.",
        ),
        gauge("server_time_usec", lambda node: node.keyspace.now_ms * 1000, "Unix time.", "us"),
        gauge("uptime_in_seconds", uptime_s, "Time since the node was started.", "s"),
        gauge("uptime_in_days", lambda node: uptime_s(node) // DAY_S, "Time since the node was started.", "d"),
        gauge("hz", lambda node: node.process.hz, "Rounds of background work a second, as they are now.", "1/s"),
        gauge(
            "configured_hz", lambda node: node.settings.hz, "Rounds of background work a second, as configured.", "1/s"
        ),
        gauge(
            "lru_clock",
            lambda node: node.keyspace.now_ms // 1000 & LRU_CLOCK_MASK,
            "The clock that counts how long keys were not used.",
            "s",
        ),
        text("executable", lambda node: node.process.executable, "Path of the program."),
        text("config_file", lambda node: node.process.config_file, "Path of the configuration file; empty for none."),
        constant("io_threads_active", 0, "There are no I/O threads."),
    ),
)
