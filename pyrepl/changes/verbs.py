"""The commands of the line protocol, one class per verb: what each holds, who may send it, its words on the wire.

Not here: lines and bytes (codec.py), and what a side does about a command (subscription.py, client.py).

| verb | server | client | words |
|---|---|---|---|
| SERVER | x | | name |
| RDATA | x | | stream [writer] token row |
| POSITION | x | | stream token, or stream writer previous new |
| ERROR | x | x | text |
| PING | x | x | any text, as a rule Unix ms |
| HISTORY | x | x | replid; from a client nothing |
| REMOTE_SERVER_UP | x | x | server name |
| SYNC | x | x | text, which is echoed |
| NAME | | x | name [password] |
| AUTH | | x | password |
| REPLICATE | | x | nothing; or stream token [replid]; or stream writer token; or ALL NOW |
| USER_SYNC | | x | [instance] user state ms |
| CLEAR_USER_SYNC | | x | instance |
| USER_IP | | x | user data |
| FEDERATION_ACK | | x | [instance] token |
| REMOVE_PUSHER | | x | app key user |
| INVALIDATE_CACHE | | x | cache keys |

Each class has VERB, SENDERS, `parse(words)` from what stands behind the verb (raises PeerError) and `words()`, its
inverse. A row is JSON text and is not looked into here; it may hold spaces, but no line end.

ALL and NOW are read in any case, as a person types them; verbs in upper case only.

Ours beyond the published protocol: AUTH; HISTORY, which a client has to ask for, since others close at a verb that they
do not know; the replid of REPLICATE, which says whose token it is; `REPLICATE stream writer token` for the missing rows
of one writer.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias, final

from pyrepl.changes.tokens import (
    ALL,
    BATCH,
    NOW,
    is_all,
    is_now,
    is_token,
    parse_token,
    shown,
    why_not_stream,
    why_not_writer,
)
from pyrepl.errors import PeerError


class Side(enum.Enum):
    """An end of a connection."""

    SERVER = "server"
    CLIENT = "client"


_SERVER: Final = frozenset({Side.SERVER})
_CLIENT: Final = frozenset({Side.CLIENT})
_BOTH: Final = frozenset(Side)


class _Text:
    """A verb followed by one piece of text, up to the end of the line."""

    VERB: ClassVar[str]
    text: str

    __slots__ = ()

    def words(self) -> str:
        return self.text


@final
@dataclass(frozen=True, slots=True)
class Server:
    """Which node this is. Nothing may stand behind the name: clients compare the rest of the line with the name that
    they expect."""

    name: str
    VERB: ClassVar[str] = "SERVER"
    SENDERS: ClassVar[frozenset[Side]] = _SERVER

    @classmethod
    def parse(cls, words: str) -> Server:
        return cls(_needed(words, "the name of a node"))

    def words(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class History:
    """Under which replid the node's tokens are valid; empty in a client's question, and while a node keeps no history.

    A node answers at once, and says it again whenever the history gets another name, as at a promotion: from there on a
    token is one of the new replid.
    """

    replid: str = ""
    VERB: ClassVar[str] = "HISTORY"
    SENDERS: ClassVar[frozenset[Side]] = _BOTH

    @classmethod
    def parse(cls, words: str) -> History:
        return cls(words)

    def words(self) -> str:
        return self.replid


@final
@dataclass(frozen=True, slots=True)
class Rdata:
    """One row of a stream. `token` None: more rows of the same token follow, a position is not moved yet.

    `row` is JSON text. With `writer` it is the form for streams of several writers.
    """

    stream: str
    token: int | None
    row: str
    writer: str | None = None
    VERB: ClassVar[str] = "RDATA"
    SENDERS: ClassVar[frozenset[Side]] = _SERVER

    @classmethod
    def parse(cls, words: str) -> Rdata:
        stream, _, rest = words.partition(" ")
        first, _, row = rest.partition(" ")
        writer = None
        if not (first == BATCH or is_token(first)):
            writer = _writer(first)
            first, _, row = row.partition(" ")
        token = None if first == BATCH else parse_token(first)
        if not row:
            raise PeerError("expected RDATA <stream> [<writer>] <token> <row>, got no row")
        return cls(_stream(stream), token, row, writer)

    def words(self) -> str:
        token = BATCH if self.token is None else str(self.token)
        where = f"{self.stream} {token}" if self.writer is None else f"{self.stream} {self.writer} {token}"
        return f"{where} {self.row}"


@final
@dataclass(frozen=True, slots=True)
class Position:
    """Everything of the stream up to `token` has been sent.

    With `writer` it is the form for streams of several writers, and says that nothing of this writer lies between
    `previous` (exclusive) and `token` but what was sent: a reader that holds less than `previous` lacks rows.
    """

    stream: str
    token: int
    writer: str | None = None
    previous: int | None = None
    VERB: ClassVar[str] = "POSITION"
    SENDERS: ClassVar[frozenset[Side]] = _SERVER

    def __post_init__(self) -> None:
        assert (self.writer is None) == (self.previous is None)

    @classmethod
    def parse(cls, words: str) -> Position:
        parts = words.split()
        if len(parts) == 2:
            return cls(_stream(parts[0]), parse_token(parts[1]))
        if len(parts) == 4:
            stream, writer, previous, new = parts
            return cls(_stream(stream), parse_token(new), _writer(writer), parse_token(previous))
        raise PeerError("expected POSITION <stream> <token> or POSITION <stream> <writer> <previous> <new>")

    def words(self) -> str:
        if self.writer is None:
            return f"{self.stream} {self.token}"
        return f"{self.stream} {self.writer} {self.previous} {self.token}"


@final
@dataclass(frozen=True, slots=True)
class Error(_Text):
    """What is wrong; the sender closes."""

    text: str
    VERB: ClassVar[str] = "ERROR"
    SENDERS: ClassVar[frozenset[Side]] = _BOTH

    @classmethod
    def parse(cls, words: str) -> Error:
        return cls(words)


@final
@dataclass(frozen=True, slots=True)
class Ping(_Text):
    """A sign of life; from the first one received on, silence ends the connection. Any text: we send Unix ms."""

    text: str
    VERB: ClassVar[str] = "PING"
    SENDERS: ClassVar[frozenset[Side]] = _BOTH

    @classmethod
    def parse(cls, words: str) -> Ping:
        return cls(words)


@final
@dataclass(frozen=True, slots=True)
class RemoteServerUp(_Text):
    """Another server may be reachable again; a node hands it on to its other subscribers."""

    text: str
    VERB: ClassVar[str] = "REMOTE_SERVER_UP"
    SENDERS: ClassVar[frozenset[Side]] = _BOTH

    @classmethod
    def parse(cls, words: str) -> RemoteServerUp:
        return cls(_needed(words, "the name of a server"))


@final
@dataclass(frozen=True, slots=True)
class Sync(_Text):
    """For tests: a node sends it back, behind everything it was sent for before."""

    text: str
    VERB: ClassVar[str] = "SYNC"
    SENDERS: ClassVar[frozenset[Side]] = _BOTH

    @classmethod
    def parse(cls, words: str) -> Sync:
        return cls(words)


@final
@dataclass(frozen=True, slots=True)
class Name(_Text):
    """Who the client is, for people. Where a password is asked for, it may stand behind the name."""

    text: str
    VERB: ClassVar[str] = "NAME"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> Name:
        return cls(_needed(words, "a name"))


@final
@dataclass(frozen=True, slots=True)
class Auth:
    """A login: a user of the node, and its password, which may hold spaces where the user is named.

    | on the wire | user |
    |---|---|
    | `AUTH <password>` | empty: the user `default` |
    | `AUTH <user> <password>` | <user> |
    """

    user: str
    password: str
    VERB: ClassVar[str] = "AUTH"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> Auth:
        first, _, rest = _needed(words, "a password").partition(" ")
        return cls(first, rest) if rest else cls("", first)

    def words(self) -> str:
        if self.user or " " in self.password:
            return f"{self.user or 'default'} {self.password}"
        return self.password

    def __repr__(self) -> str:
        return f"Auth({self.user!r}, ...)"


@final
@dataclass(frozen=True, slots=True)
class Replicate:
    """A subscription.

    | on the wire | stream | token | writer | replid |
    |---|---|---|---|---|
    | `REPLICATE` | None | None | | | every stream and writer, from now on, in the form for several writers
    | `REPLICATE ALL NOW` | None | None | | | every stream from now on (`is_bare` False)
    | `REPLICATE keys NOW` | keys | None | | | from now on
    | `REPLICATE keys 5021` | keys | 5021 | | | the rows after 5021, then live
    | `REPLICATE keys 5021 <replid>` | keys | 5021 | | <replid> | and the token is one of this history
    | `REPLICATE orders node-b 7` | orders | 7 | node-b | | the rows of one writer after 7, then live
    """

    stream: str | None = None
    token: int | None = None
    writer: str | None = None
    replid: str = ""
    is_bare: bool = False
    VERB: ClassVar[str] = "REPLICATE"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> Replicate:
        parts = words.split()
        if not parts:
            return cls(is_bare=True)
        if len(parts) == 2 and is_all(parts[0]):
            if not is_now(parts[1]):
                raise PeerError(f"{ALL} can be followed from {NOW} only: name a stream to go on at a token")
            return cls()
        if len(parts) not in (2, 3):
            raise PeerError("expected REPLICATE <stream> <token> or REPLICATE <stream> <writer> <token>")
        stream = _stream(parts[0])
        if is_now(parts[1]) and len(parts) == 2:
            return cls(stream)
        if is_token(parts[1]) or len(parts) == 2:
            return cls(stream, parse_token(parts[1]), replid=parts[2] if len(parts) == 3 else "")
        return cls(stream, parse_token(parts[2]), writer=_writer(parts[1]))

    def words(self) -> str:
        if self.stream is None:
            return "" if self.is_bare else f"{ALL} {NOW}"
        if self.token is None:
            return f"{self.stream} {NOW}"
        if self.writer is not None:
            return f"{self.stream} {self.writer} {self.token}"
        return f"{self.stream} {self.token} {self.replid}" if self.replid else f"{self.stream} {self.token}"


@final
@dataclass(frozen=True, slots=True)
class UserSync:
    """A user has started or stopped syncing (`is_syncing`), last at Unix ms.

    `instance` is the client's process that says so; clients of older versions leave it out: empty.
    """

    user: str
    is_syncing: bool
    last_sync_ms: int
    instance: str = ""
    VERB: ClassVar[str] = "USER_SYNC"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> UserSync:
        parts = words.split()
        if len(parts) not in (3, 4) or parts[-2] not in ("start", "end"):
            raise PeerError(f"expected USER_SYNC [<instance>] <user> start|end <ms>, got {shown(words)}")
        return cls(parts[-3], parts[-2] == "start", parse_token(parts[-1]), parts[0] if len(parts) == 4 else "")

    def words(self) -> str:
        said = f"{self.user} {'start' if self.is_syncing else 'end'} {self.last_sync_ms}"
        return f"{self.instance} {said}" if self.instance else said


@final
@dataclass(frozen=True, slots=True)
class ClearUserSync:
    """A process of the client ends: none of its users syncs any more."""

    instance: str
    VERB: ClassVar[str] = "CLEAR_USER_SYNC"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> ClearUserSync:
        return cls(_needed(words, "the name of an instance"))

    def words(self) -> str:
        return self.instance


@final
@dataclass(frozen=True, slots=True)
class UserIp:
    """A user was seen: `data` is JSON text, as a rule [access token, ip, user agent, device, Unix ms]."""

    user: str
    data: str
    VERB: ClassVar[str] = "USER_IP"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> UserIp:
        user, _, data = words.partition(" ")
        if not data:
            raise PeerError(f"expected USER_IP <user> <data as JSON>, got {shown(words)}")
        return cls(user, data)

    def words(self) -> str:
        return f"{self.user} {self.data}"

    def __repr__(self) -> str:
        return f"UserIp(user={self.user!r}, ...)"


@final
@dataclass(frozen=True, slots=True)
class FederationAck:
    """Data up to this token has arrived; `instance` as in USER_SYNC."""

    token: int
    instance: str = ""
    VERB: ClassVar[str] = "FEDERATION_ACK"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> FederationAck:
        instance, _, token = words.rpartition(" ")
        return cls(parse_token(token), instance)

    def words(self) -> str:
        return f"{self.instance} {self.token}" if self.instance else str(self.token)


@final
@dataclass(frozen=True, slots=True)
class RemovePusher:
    """A pusher is to be removed; the user is the rest of the line."""

    app: str
    key: str
    user: str
    VERB: ClassVar[str] = "REMOVE_PUSHER"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> RemovePusher:
        parts = words.split(" ", 2)
        if len(parts) != 3 or not all(parts):
            raise PeerError(f"expected REMOVE_PUSHER <app> <key> <user>, got {shown(words)}")
        return cls(*parts)

    def words(self) -> str:
        return f"{self.app} {self.key} {self.user}"


@final
@dataclass(frozen=True, slots=True)
class InvalidateCache:
    """Entries of a cache are to be dropped: `keys` is JSON text, a list of strings, or null for the whole cache."""

    cache: str
    keys: str
    VERB: ClassVar[str] = "INVALIDATE_CACHE"
    SENDERS: ClassVar[frozenset[Side]] = _CLIENT

    @classmethod
    def parse(cls, words: str) -> InvalidateCache:
        cache, _, keys = words.partition(" ")
        if not keys:
            raise PeerError(f"expected INVALIDATE_CACHE <cache> <keys as JSON, or null>, got {shown(words)}")
        return cls(cache, keys)

    def words(self) -> str:
        return f"{self.cache} {self.keys}"


LineCommand: TypeAlias = (
    Server
    | History
    | Rdata
    | Position
    | Error
    | Ping
    | RemoteServerUp
    | Sync
    | Name
    | Auth
    | Replicate
    | UserSync
    | ClearUserSync
    | UserIp
    | FederationAck
    | RemovePusher
    | InvalidateCache
)

VERBS: Final[tuple[type[LineCommand], ...]] = (
    Server,
    History,
    Rdata,
    Position,
    Error,
    Ping,
    RemoteServerUp,
    Sync,
    Name,
    Auth,
    Replicate,
    UserSync,
    ClearUserSync,
    UserIp,
    FederationAck,
    RemovePusher,
    InvalidateCache,
)


def _needed(word: str, what: str) -> str:
    if not word:
        raise PeerError(f"expected {what}, got nothing")
    return word


def _stream(word: str) -> str:
    refusal = why_not_stream(word)
    if refusal is not None:
        raise PeerError(f"bad name of a stream: {refusal}")
    return word


def _writer(word: str) -> str:
    refusal = why_not_writer(word)
    if refusal is not None:
        raise PeerError(f"bad name of a writer: {refusal}")
    return word
