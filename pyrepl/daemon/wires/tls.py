"""The TLS of a node: the contexts in force, and their renewal when the directives or the files change."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection
from typing import final

from pyrepl.config.directives import GROUPS
from pyrepl.config.settings import Settings
from pyrepl.config.tls import Tls as Rows
from pyrepl.daemon.service import NEVER, Service
from pyrepl.daemon.wires.tls_contexts import client_context, file_stamps, server_context
from pyrepl.errors import ConfigError
from pyrepl.observability import events
from pyrepl.observability.event import Event

_ROWS = next(rows for title, rows in GROUPS if title == Rows.__doc__)
_NAMES = frozenset(row.name for row in _ROWS)


@final
class Tls(Service):
    """The contexts in force. A connection keeps the one that it began with.

    Invariant: `_made_from` is what `server` and `client` were made from, or what could not be used last.
    """

    def __init__(self, settings: Settings, log: Callable[[Event], None]) -> None:
        self.settings = settings
        self.server: ssl.SSLContext | None = None
        """For connections that come in; None without a port that speaks TLS."""
        self.client: ssl.SSLContext | None = None
        """For connections that we make; None while neither tls-replication nor tls-cluster is set."""
        self._log = log
        self._made_from: object = None
        self._next_look_at = 0.0

    @property
    def for_master(self) -> ssl.SSLContext | None:
        """For connections to our master: None means plain ones."""
        return self.client if self.settings.tls_replication else None

    @property
    def for_migrate(self) -> ssl.SSLContext | None:
        """For connections of MIGRATE: None means plain ones."""
        return self.client if self.settings.tls_cluster else None

    def settings_changed(self, names: Collection[str]) -> None:
        if not names or not _NAMES.isdisjoint(names):
            self._make()

    def tick(self, now: float) -> None:
        """Look at the files, every `tls-auto-reload-interval` seconds. Files that cannot be used are told once, and
        leave the former ones in force."""
        if now < self._next_look_at:
            return
        self._next_look_at = now + self.settings.tls_auto_reload_interval
        present = self._sources()
        if present == self._made_from:
            return
        try:
            self._make()
        except ConfigError as error:
            self._made_from = present
            self._log(events.TlsFilesUnusable(str(error)))
        else:
            self._log(events.TlsFilesRenewed())

    def next_deadline(self, now: float) -> float:
        is_used = self.server is not None or self.client is not None
        return self._next_look_at if is_used and self.settings.tls_auto_reload_interval else NEVER

    def _make(self) -> None:
        """Raises ConfigError, and then the former contexts stay."""
        settings = self.settings
        made_from = self._sources()
        is_port = bool(settings.tls_port or (settings.tls_stream and settings.stream_port))
        server = server_context(settings) if is_port else None
        client = client_context(settings) if settings.tls_replication or settings.tls_cluster else None
        self.server, self.client, self._made_from = server, client, made_from

    def _sources(self) -> object:
        return file_stamps(self.settings), tuple(self.settings.value_of(row) for row in _ROWS)
