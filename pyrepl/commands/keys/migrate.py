"""MIGRATE: move keys to another server, or with COPY copy them there.

The node sends each key as RESTORE, and deletes those that the other server took. The node waits for the answers, so no
client sees a key at both places or at none. `node.migrating` is the way to the other server. Redis sends keys, password
and database in one go, so that keys which nobody asked for may stay where it was refused; we wait for the welcome.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import MOVABLE_KEYS, WRITE, Keys, command
from pyrepl.commands.keys.dump import payload_of
from pyrepl.commands.session.connection import redact
from pyrepl.errors import CommandError
from pyrepl.resp.encoder import encode_command
from pyrepl.resp.reply import OK, Reply, Simple

NOKEY: Final = Simple(b"NOKEY")
_DEFAULT_TIMEOUT_MS: Final = 1000
"""For a timeout of 0 or less (Redis)."""
_FIRST_OPTION: Final = 6
_SECRETS: Final = {b"AUTH": 1, b"AUTH2": 2}
"""Options with words that nobody may see: how many."""


def _keys_of(argv: list[bytes]) -> list[int]:
    """The word at 3, or if it is empty all words behind KEYS; none if there are both, which is an error."""
    at = _place_of_keys(argv)
    if at is None:
        return [3]
    return [] if argv[3] else list(range(at + 1, len(argv)))


def _place_of_keys(argv: list[bytes]) -> int | None:
    """Where KEYS stands as an option; a user or password of that name is none."""
    at = _FIRST_OPTION
    while at < len(argv):
        word = argv[at].upper()
        if word == b"KEYS":
            return at
        at += 1 + _SECRETS.get(word, 0)
    return None


@command("MIGRATE", arity=-6, flags=WRITE | MOVABLE_KEYS, keys=Keys(3, 3, 1, _keys_of), group="generic", since="2.6.0")
def migrate(call: Call, host: bytes, port: bytes, key: bytes, database: bytes, timeout: bytes, *words: bytes) -> Reply:
    """Move keys to another server

    `timeout`, in ms, bounds each wait for the network; 0 or less stands for 1000. The replicas get a DEL of what was
    moved. Keys are deleted one by one as the other server takes them: an error may come when some have moved.
    """
    options = _Options(call, words, key)
    timeout_ms = integer_argument(timeout)
    index = integer_argument(database)
    restores = _restores(call, options.keys, replace=options.replace)
    if restores is None:
        return NOKEY
    welcome, replies, failure = call.node.target.exchange(
        host.decode("utf-8", "replace"),
        _port(port),
        [*options.login, encode_command([b"SELECT", b"%d" % index])],
        [restore.request for restore in restores],
        timeout_ms if timeout_ms > 0 else _DEFAULT_TIMEOUT_MS,
    )
    refusals = [reply for reply in (*welcome, *replies) if isinstance(reply, CommandError)]
    if not options.copies:
        answered = zip(restores, replies, strict=False)
        _delete(call, [restore.key for restore, reply in answered if not isinstance(reply, CommandError)])
    if refusals:
        return _error(call, f"ERR Target instance replied with error: {refusals[0]}")
    return _error(call, f"IOERR error or timeout {failure}") if failure else OK


class _Restore(NamedTuple):
    key: bytes
    request: bytes


def _restores(call: Call, keys: tuple[bytes, ...], *, replace: bool) -> list[_Restore] | None:
    """A RESTORE for each key that is there, in order; None if none is."""
    restores: list[_Restore] = []
    for key in keys:
        kept = call.db.read_kept(key)
        if kept is not None:
            expires_ms = call.db.expiry_of(key)
            ttl_ms = 0 if expires_ms is None else max(expires_ms - call.now_ms, 1)
            words = [b"RESTORE", key, b"%d" % ttl_ms, payload_of(call, kept), *([b"REPLACE"] if replace else [])]
            restores.append(_Restore(key, encode_command(words)))
    return restores or None


def _delete(call: Call, keys: list[bytes]) -> None:
    """Delete the keys that were moved, and propagate that; a key that was named twice is gone already."""
    deleted = [key for key in keys if call.db.delete(key)]
    for key in deleted:
        call.db.changed(key)
    if deleted:
        call.rewrite(b"DEL", *deleted)


def _error(call: Call, text: str) -> CommandError:
    """The error as a reply. It is not raised: some keys may be gone, and that must be propagated."""
    error = CommandError(text)
    if call.propagated is None:
        raise error
    call.node.stats.count_error(text)
    return error


def _port(word: bytes) -> int:
    """A port; 0, which cannot be reached, for a word that is no number (Redis takes what its digits say)."""
    return int(word) if word.isdigit() else 0


@final
class _Options:
    """COPY (`copies`), REPLACE, AUTH and AUTH2 (`login`, the encoded AUTH, if any), KEYS. Raises CommandError.

    Passwords are taken out of what the slow log and MONITOR show.
    """

    __slots__ = ("copies", "keys", "login", "replace")

    def __init__(self, call: Call, words: tuple[bytes, ...], key: bytes) -> None:
        self.copies = self.replace = False
        self.login: tuple[bytes, ...] = ()
        self.keys: tuple[bytes, ...] = (key,)
        _hide_passwords(call, words)
        at = 0
        while at < len(words):
            word = words[at].upper()
            left = len(words) - at - 1
            if word == b"COPY":
                self.copies = True
            elif word == b"REPLACE":
                self.replace = True
            elif word in _SECRETS and left >= _SECRETS[word]:
                count = _SECRETS[word]
                self.login = (encode_command([b"AUTH", *words[at + 1 : at + 1 + count]]),)
                at += count
            elif word == b"KEYS":
                if key:
                    raise CommandError(
                        "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
                    )
                self.keys = words[at + 1 :]
                return
            else:
                raise syntax_error()
            at += 1


def _hide_passwords(call: Call, words: tuple[bytes, ...]) -> None:
    """Take passwords out of what the slow log and MONITOR show, also those of a MIGRATE that is refused."""
    for at, word in enumerate(words):
        if word.upper() == b"KEYS":
            return
        first = _FIRST_OPTION + at + 1
        redact(call, *range(first, first + _SECRETS.get(word.upper(), 0)))
