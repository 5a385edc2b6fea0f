"""The users of a node at the start, and the file that keeps them: `aclfile`, ACL LOAD and ACL SAVE.

Not here: what the lines mean (`acl.users`).
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Final, final

from pyrepl.acl.users import Change, UsersError
from pyrepl.commands.engine import effects
from pyrepl.commands.engine.call import Call
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.disk.config_files import remove_unfinished, replace_file
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.service import Service
from pyrepl.errors import CommandError, ConfigError
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.resp.reply import OK, Reply
from pyrepl.temporary import PRIVATE
from pyrepl.words import to_text

BOTH: Final = (
    "Configuring Redis with users defined in redis.conf and at the same setting an ACL file path is invalid. This "
    "setup is very likely to lead to configuration errors and security holes, please define either an ACL file or "
    "declare users directly in your redis.conf, but not both."
)
NOT_SAVED: Final = "ERR There was an error trying to save the ACLs. Please check the server logs for more information"


@final
class UserFile(Service):
    """Makes the users that the configuration or the user file names."""

    def __init__(self, node: Node, clients: Clients, log: Log) -> None:
        self._node = node
        self._clients = clients
        self._log = log

    @property
    def deeds(self) -> Deeds:
        return {
            effects.LoadUsers: self._load,
            effects.SaveUsers: self._save,
            effects.MakePassword: self._make_password,
        }

    def settings_changed(self, names: Collection[str]) -> None:
        """At the start, make the users. They can be changed by ACL alone afterwards."""
        if names:
            return
        settings, users = self._node.settings, self._node.users
        if settings.aclfile and settings.user:
            raise ConfigError(BOTH)
        try:
            for name in users.define(settings.user):
                self._log(events.UserIsOff(to_text(name)))
            if settings.aclfile:
                remove_unfinished(Path(settings.aclfile))
                self._read()
        except UsersError as error:
            raise ConfigError(f"Aborting Redis startup because of ACL errors: {error}") from None

    def _read(self) -> Change:
        """Take the users from the file. Raises UsersError."""
        path = self._node.settings.aclfile
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise UsersError(f"Error loading ACLs, opening file '{path}': {error.strerror}") from None
        return self._node.users.replace(content.split(b"\n"), path)

    def _load(self, call: Call, effect: effects.LoadUsers) -> Reply:
        try:
            change = self._read()
        except UsersError as error:
            raise CommandError(f"ERR {error}") from None
        ended = self._node.clients_to_end(change)
        if call.client in ended:
            call.client.close_after_reply()
        self._clients.kill(tuple(client.id for client in ended if client is not call.client))
        return OK

    def _save(self, call: Call, effect: effects.SaveUsers) -> Reply:
        path = Path(self._node.settings.aclfile)
        try:
            # It holds hashes of passwords, so only its owner may read it.
            replace_file(path, b"".join(line + b"\n" for line in self._node.users.lines()), PRIVATE)
        except OSError as error:
            self._log(events.UsersNotSaved(str(path), error.strerror or str(error)))
            raise CommandError(NOT_SAVED) from None
        return OK

    def _make_password(self, call: Call, effect: effects.MakePassword) -> Reply:
        return secrets.token_hex((effect.digits + 1) // 2)[: effect.digits].encode()
