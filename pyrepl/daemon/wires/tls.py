"""The TLS of a node: the contexts in force, and their renewal when the directives or the files change."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, final

from pyrepl.config.directives import GROUPS
from pyrepl.config.settings import Settings
from pyrepl.config.tls import Tls as Rows
from pyrepl.daemon.service import Service
from pyrepl.daemon.wires.tls_contexts import FileStamp, client_context, file_stamps, server_context
from pyrepl.errors import ConfigError
from pyrepl.observability import events
from pyrepl.observability.event import Event

_ROWS = next(rows for title, rows in GROUPS if title == Rows.__doc__)
_NAMES = frozenset(row.name for row in _ROWS)
_LOOK_EVERY_S = 1.0

HANDSHAKE_S: Final = 10.0
"""Seconds that a handshake may take, on either side."""


class _Sources(NamedTuple):
    """What contexts are made from."""

    files: tuple[FileStamp, ...] | None
    settings: tuple[object, ...]


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
        """For connections that we make; None while none of tls-replication, tls-cluster and
        tls-mailbox is set."""
        self._log = log
        self._made_from: _Sources | None = None
        self._next_look_at = 0.0

    @property
    def for_master(self) -> ssl.SSLContext | None:
        """For connections to our master: None means plain ones. Raises ConnectionError when there should be one and
        cannot: nothing goes out unencrypted instead."""
        return self._for_ours() if self.settings.tls_replication else None

    @property
    def for_migrate(self) -> ssl.SSLContext | None:
        """For connections of MIGRATE: None means plain ones. Raises ConnectionError as `for_master`."""
        return self._for_ours() if self.settings.tls_cluster else None

    @property
    def for_members(self) -> ssl.SSLContext | None:
        """For connections to nodes that keep the same mailboxes, as `for_master`."""
        return self._for_ours() if self.settings.tls_mailbox else None

    def settings_changed(self, names: Collection[str]) -> None:
        if not names or not _NAMES.isdisjoint(names):
            self._make()

    def tick(self, now: float) -> None:
        """Look at the files, every `tls-auto-reload-interval` seconds. Files that cannot be used are told once, and
        leave the former ones in force. Look at the settings too: they go back without a word where another part did not
        take a CONFIG SET."""
        if now < self._next_look_at:
            return
        self._next_look_at = now + (self.settings.tls_auto_reload_interval or _LOOK_EVERY_S)
        if not (self._wants_server or self._wants_client):
            return
        before, present = self._made_from, self._sources()
        if present == before:
            return
        try:
            self._make()
        except ConfigError as error:
            self._made_from = present
            self._log(events.TlsFilesUnusable(str(error)))
        else:
            if before is None or before.files != present.files:
                self._log(events.TlsFilesRenewed())

    def next_deadline(self, now: float) -> float:
        return self._next_look_at

    def _make(self) -> None:
        """Raises ConfigError, and then the former contexts stay."""
        made_from = self._sources()
        server = server_context(self.settings) if self._wants_server else None
        client = client_context(self.settings) if self._wants_client else None
        self.server, self.client, self._made_from = server, client, made_from

    def _for_ours(self) -> ssl.SSLContext:
        if self.client is None:
            try:
                self._make()
            except ConfigError as error:
                raise ConnectionError(str(error)) from None
        assert self.client is not None
        return self.client

    @property
    def _wants_server(self) -> bool:
        settings = self.settings
        return bool(
            settings.tls_port
            or (settings.tls_stream and settings.stream_port)
            or (settings.tls_mailbox and settings.mailbox_port)
        )

    @property
    def _wants_client(self) -> bool:
        return self.settings.tls_replication or self.settings.tls_cluster or self.settings.tls_mailbox

    def _sources(self) -> _Sources:
        """What the contexts depend on. The files count only while somebody wants changed ones to be used."""
        stamps = file_stamps(self.settings) if self.settings.tls_auto_reload_interval else None
        return _Sources(stamps, tuple(self.settings.value_of(row) for row in _ROWS))
