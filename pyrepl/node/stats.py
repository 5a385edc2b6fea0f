"""Counters of a node: what INFO stats, commandstats, latencystats and errorstats show. CONFIG RESETSTAT clears them."""

from __future__ import annotations

from typing import Final, final

from pyrepl.node.latencies import Latencies

MAX_ERROR_KINDS: Final = 128
"""Redis 7.2 stops counting new error words at this many, so that a client cannot fill memory with invented ones."""


@final
class CommandStats:
    """One row of INFO commandstats; `seconds` is time spent executing."""

    __slots__ = ("calls", "failed_calls", "latencies", "rejected_calls", "seconds")

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.rejected_calls = 0
        self.failed_calls = 0
        self.latencies = Latencies()


@final
class RateMeter:
    """Events per second over the last sixteen samples, as Redis's instantaneous_* fields are computed.

    `sample(total, now)` is due about every 100 ms; `now` is monotonic seconds.
    """

    __slots__ = ("_index", "_last_at", "_last_total", "_samples")

    def __init__(self) -> None:
        self._samples: list[float] = [0.0] * 16
        self._index = 0
        self._last_total = 0
        self._last_at = 0.0

    def sample(self, total: int, now: float) -> None:
        elapsed = now - self._last_at
        if elapsed <= 0:
            return
        if self._last_at:
            self._samples[self._index] = max(0, total - self._last_total) / elapsed
            self._index = (self._index + 1) % len(self._samples)
        self._last_total = total
        self._last_at = now

    @property
    def per_second(self) -> float:
        return sum(self._samples) / len(self._samples)


@final
class Stats:
    """Counters since the start or the last CONFIG RESETSTAT. Hits, misses and expired keys live in the keyspace."""

    def __init__(self) -> None:
        self.commands: dict[str, CommandStats] = {}
        self.ops = RateMeter()
        self.input = RateMeter()
        self.output = RateMeter()
        self.repl_input = RateMeter()
        self.repl_output = RateMeter()
        self.reset()

    def reset(self) -> None:
        """As CONFIG RESETSTAT: rows of commands stay in place, since executors hold them."""
        for row in self.commands.values():
            row.calls = row.rejected_calls = row.failed_calls = 0
            row.seconds = 0.0
            row.latencies.clear()
        self.errors: dict[str, int] = {}
        self.total_error_replies = 0
        self.total_connections_received = 0
        self.rejected_connections = 0
        self.tls_handshakes_failed = 0
        self.total_commands_processed = 0
        self.total_net_input_bytes = 0
        self.total_net_output_bytes = 0
        self.total_net_repl_input_bytes = 0
        self.total_net_repl_output_bytes = 0
        self.client_query_buffer_limit_disconnections = 0
        self.client_output_buffer_limit_disconnections = 0
        self.total_forks = 0
        self.latest_fork_usec = 0
        self.total_reads_processed = 0
        self.total_writes_processed = 0
        self.unexpected_error_replies = 0
        self.unknown_replicated_commands = 0
        self.evicted_keys = 0
        self.evicted_clients = 0

    def of(self, wire_name: str) -> CommandStats:
        """The row of a command, made at its first mention."""
        row = self.commands.get(wire_name)
        if row is None:
            row = self.commands[wire_name] = CommandStats()
        return row

    def count_error(self, text: str) -> None:
        """Count an error reply under its first word."""
        self.total_error_replies += 1
        word = text.partition(" ")[0]
        if word in self.errors:
            self.errors[word] += 1
        elif len(self.errors) < MAX_ERROR_KINDS:
            self.errors[word] = 1
