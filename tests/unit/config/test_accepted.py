"""What real servers know and default to, captured with CONFIG GET *, against our rows and the accepted names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.config.accepted import ACCEPTED, DEFAULTS, REFUSED, is_off
from pyrepl.config.directives import ALIASES, ROWS
from pyrepl.config.settings import Settings

CAPTURED = sorted((Path(__file__).parent / "captured").glob("*.txt"))

OURS = {
    "enable-debug-command": "local, as DEBUG DIGEST is how two ends are compared",
    "lua-memory-limit": "not in Redis",
    "user": "not among the directives that CONFIG GET knows",
    "commandlog-request-larger-than": "Valkey 8.1's, but off, as measuring costs speed",
    "commandlog-reply-larger-than": "Valkey 8.1's, but off, as measuring costs speed",
    "commandlog-large-request-max-len": "Valkey 8.1's",
    "commandlog-large-reply-max-len": "Valkey 8.1's",
    "commandlog-execution-slower-than": "Valkey 8.1's",
    "commandlog-slow-execution-max-len": "Valkey 8.1's",
    "import-mode": "Valkey 8.1's",
    "log-format": "Valkey 8.1's, and json Valkey 9.1's",
    "log-timestamp-format": "Valkey 8.1's",
    "maxclients-reserve": "not in Redis",
    "tls-auth-clients-user": "Valkey 9.0's",
    "tls-auto-reload-interval": "Valkey 9.1's, but on, as files that nobody reads expire",
    "tls-check-name": "not in Redis",
    "tls-stream": "not in Redis",
    "tls-mailbox": "not in Redis",
    "rdb-version": "not in Redis",
    "replica-ignore-unknown-commands": "not in Redis",
    "repl-rdb-channel": "hidden in Redis",
    "repl-sync-max-bytes-per-second": "not in Redis",
    "repl-max-concurrent-syncs": "not in Redis",
    "event-log": "not in Redis",
    "event-log-max-bytes": "not in Redis",
    "event-log-keep": "not in Redis",
    "event-log-sample-period": "not in Redis",
    "event-log-node": "not in Redis",
    "huge-pages": "not in Redis",
    "snapshot-nice": "not in Redis",
    "key-load-delay": "hidden in Redis",
    "rdb-key-save-delay": "hidden in Redis",
    "loading-process-events-interval-bytes": "hidden in Redis",
    "stream-port": "not in Redis",
    "stream-bind": "not in Redis",
    "stream-name": "not in Redis",
    "stream-maxclients": "not in Redis",
    "stream-line-limit": "not in Redis",
    "stream-row-limit": "not in Redis",
    "stream-output-buffer-limit": "not in Redis",
    "stream-cache-rule": "not in Redis",
    "stream-facts": "not in Redis",
    "stream-sync-rows": "not in Redis",
    **{name: "not in Redis" for name in ROWS if name.startswith("mailbox-")},
    "rdb-version-check": "Valkey 9's",
    "stream-idmp-duration": "new in Redis 8.6",
    "stream-idmp-maxsize": "new in Redis 8.6",
    "rename-command": "never shown",
    "dir": "the capture had its own",
    "port": "the capture had its own",
    "save": "the capture had its own",
}
"""Directives whose default no captured server shows, and why."""


def captured(path: Path) -> dict[str, str]:
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# CONFIG GET *")
    return {name: value for name, _, value in (line.partition(" ") for line in lines[1:])}


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_every_directive_of_a_real_server_is_known(path: Path) -> None:
    names = set(captured(path))
    assert len(names) > 150
    assert names <= ROWS.keys() | ALIASES.keys() | ACCEPTED.keys() | REFUSED.keys()


def test_our_defaults_are_those_of_a_real_server_or_explained() -> None:
    assert len(CAPTURED) == 3
    servers = [captured(path) for path in CAPTURED]
    settings = Settings()
    differing = set()
    for name in [*ROWS, *ALIASES]:
        shown = settings.get(name)
        assert shown is not None
        if shown.decode() not in {server[name] for server in servers if name in server}:
            differing.add(name)
    assert differing == set(OURS)


def test_every_name_of_redis_that_means_something_without_a_cluster_is_shown() -> None:
    server = captured(CAPTURED[0].parent / "redis-8.2.3.txt")
    shown = {name.decode(): text.decode() for name, text in Settings().matching(b"*").items()}
    left_out = server.keys() - shown.keys()
    assert all("cluster" in name for name in left_out)
    assert "cluster-enabled" not in left_out
    assert {name: shown[name] for name in DEFAULTS} == {name: server[name] for name in DEFAULTS}


def test_tables_agree() -> None:
    assert DEFAULTS.keys() <= ACCEPTED.keys() | REFUSED.keys()
    assert not DEFAULTS.keys() & (ROWS.keys() | ALIASES.keys())
    assert all(name == name.lower() for name in ACCEPTED.keys() | REFUSED.keys())
    assert ACCEPTED and REFUSED


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_no_default_of_a_real_server_is_refused(path: Path) -> None:
    for name, value in captured(path).items():
        assert name not in REFUSED or is_off(value.encode()), name
