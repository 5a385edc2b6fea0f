"""The kinds of value a directive can have: words to a Python value, and the value to text.

Which directive has which kind stands in directives.py. Each kind raises ConfigError with the reason alone, in the words
of Redis 7.0's CONFIG SET; who calls adds the directive, the file and the line.

Words are bytes, as they come from a client or a file; texts are str, bytes that are not UTF-8 kept as surrogates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar, final

from pyrepl.errors import ConfigError
from pyrepl.units import parse_memory
from pyrepl.words import from_text, to_text

T = TypeVar("T")

INT_MAX: Final = 2**31 - 1
INT_MIN: Final = -(2**31)
LONG_MAX: Final = 2**63 - 1

_ONE_WORD: Final = "wrong number of arguments"


class Kind(ABC, Generic[T]):
    """How one kind of value is read and written."""

    many_words = False
    """CONFIG SET's one argument is split at spaces (Redis's MULTI_ARG_CONFIG)."""

    @abstractmethod
    def parse(self, words: Sequence[bytes], current: T) -> T:
        """The value that `words` mean; `current` is what a partial setting is merged into. Raises ConfigError."""

    @abstractmethod
    def text(self, value: T) -> bytes:
        """The value as CONFIG GET shows it."""

    def again(self, words: Sequence[bytes], current: T) -> T:
        """The value after a further line of the same directive in a configuration; usually the last line wins."""
        return self.parse(words, current)

    def lines(self, value: T) -> list[list[bytes]]:
        """The value as redis.conf lines, each the words behind the name; [] if the absence of a line says it."""
        return [[self.text(value)]]


def _only(words: Sequence[bytes]) -> bytes:
    if len(words) != 1:
        raise ConfigError(_ONE_WORD)
    return words[0]


@final
class YesNo(Kind[bool]):
    """`yes` or `no`, in any case."""

    def parse(self, words: Sequence[bytes], current: bool) -> bool:
        word = _only(words).lower()
        if word not in (b"yes", b"no"):
            raise ConfigError("argument must be 'yes' or 'no'")
        return word == b"yes"

    def text(self, value: bool) -> bytes:
        return b"yes" if value else b"no"


def _check_range(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise ConfigError(f"argument must be between {low} and {high} inclusive")
    return number


@final
class Integer(Kind[int]):
    """A decimal number; both bounds are inclusive."""

    def __init__(self, low: int = 0, high: int = INT_MAX) -> None:
        self.low: Final = low
        self.high: Final = high

    def parse(self, words: Sequence[bytes], current: int) -> int:
        word = _only(words)
        digits = word.removeprefix(b"-")
        if not digits.isdigit() or len(digits) > 19 or b"%d" % int(word) != word:
            raise ConfigError("argument couldn't be parsed into an integer")
        return _check_range(int(word), self.low, self.high)

    def text(self, value: int) -> bytes:
        return b"%d" % value


@final
class Memory(Kind[int]):
    """A size in bytes, with or without a unit; both bounds are inclusive."""

    def __init__(self, low: int = 0, high: int = LONG_MAX) -> None:
        self.low: Final = low
        self.high: Final = high

    def parse(self, words: Sequence[bytes], current: int) -> int:
        try:
            number = parse_memory(to_text(_only(words)))
        except ValueError:
            raise ConfigError("argument must be a memory value") from None
        return _check_range(number, self.low, self.high)

    def text(self, value: int) -> bytes:
        return b"%d" % value

    def lines(self, value: int) -> list[list[bytes]]:
        return [[shortest_memory(value)]]


def shortest_memory(size_bytes: int) -> bytes:
    """A size as CONFIG REWRITE writes it: in the largest binary unit that divides it (`256mb`, `1000`)."""
    for shift, suffix in ((30, b"gb"), (20, b"mb"), (10, b"kb")):
        if size_bytes and size_bytes % (1 << shift) == 0:
            return b"%d%b" % (size_bytes >> shift, suffix)
    return b"%d" % size_bytes


@final
class OctalMode(Kind[int]):
    """File permissions in octal, 0 to 777; 0 means: leave them to the umask."""

    def parse(self, words: Sequence[bytes], current: int) -> int:
        word = _only(words)
        if not word or word.strip(b"01234567") or len(word) > 20:
            raise ConfigError("argument couldn't be parsed as an octal number")
        mode = int(word, 8)
        if mode > 0o777:
            raise ConfigError("argument must be between 0 and 777 inclusive")
        return mode

    def text(self, value: int) -> bytes:
        return b"%o" % value


@final
class Text(Kind[str]):
    """Any text, also none unless `needed`. With `path` False it must not contain a slash."""

    def __init__(self, *, path: bool = True, needed: bool = False) -> None:
        self.path: Final = path
        self.needed: Final = needed

    def parse(self, words: Sequence[bytes], current: str) -> str:
        text = to_text(_only(words))
        if "\0" in text:
            raise ConfigError("argument must not contain a zero byte")
        if not self.path and "/" in text:
            raise ConfigError("dbfilename can't be a path, just a filename")
        if self.needed and not text:
            raise ConfigError("argument must not be empty")
        return text

    def text(self, value: str) -> bytes:
        return from_text(value)

    def lines(self, value: str) -> list[list[bytes]]:
        return [[from_text(value)]] if value else []


@final
class Secret(Kind[bytes]):
    """A password, a user name or an address with one in it, as bytes; empty, unless `needed`, means there is none."""

    def __init__(self, *, needed: bool = False) -> None:
        self.needed: Final = needed

    def parse(self, words: Sequence[bytes], current: bytes) -> bytes:
        word = _only(words)
        if self.needed and not word:
            raise ConfigError("argument must not be empty")
        if len(word) > 512:
            raise ConfigError("argument must be no longer than 512 bytes")
        return word

    def text(self, value: bytes) -> bytes:
        return value

    def lines(self, value: bytes) -> list[list[bytes]]:
        return [[value]] if value else []


@final
class Choice(Kind[str]):
    """One of several words, in any case."""

    def __init__(self, *options: str) -> None:
        self.options: Final = options

    def parse(self, words: Sequence[bytes], current: str) -> str:
        word = to_text(_only(words)).lower()
        if word not in self.options:
            raise ConfigError("argument(s) must be one of the following: " + ", ".join(self.options))
        return word

    def text(self, value: str) -> bytes:
        return value.encode()


@final
class RdbVersion(Kind[int | None]):
    """`auto` (None) or the number of an RDB version that can be written."""

    def __init__(self, *versions: int) -> None:
        self.versions: Final = versions

    def parse(self, words: Sequence[bytes], current: int | None) -> int | None:
        word = to_text(_only(words)).lower()
        if word == "auto":
            return None
        for version in self.versions:
            if word == str(version):
                return version
        raise ConfigError("argument(s) must be one of the following: auto, " + ", ".join(map(str, self.versions)))

    def text(self, value: int | None) -> bytes:
        return b"auto" if value is None else b"%d" % value


@final
class Addresses(Kind[tuple[str, ...]]):
    """Up to 16 addresses; `-` before one: it may be missing on this machine. None at all: no TCP port is opened."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[str, ...]) -> tuple[str, ...]:
        if not words:
            raise ConfigError(_ONE_WORD)
        if len(words) > 16:
            raise ConfigError("Too many bind addresses specified.")
        addresses = tuple(to_text(word) for word in words if word)
        if "-" in addresses:
            raise ConfigError("'-' must be followed by an address")
        return addresses

    def text(self, value: tuple[str, ...]) -> bytes:
        return from_text(" ".join(value))

    def lines(self, value: tuple[str, ...]) -> list[list[bytes]]:
        return [[from_text(address) for address in value] or [b""]]


class SavePoint(NamedTuple):
    """Save when this many seconds have passed and at least this many writes were made."""

    seconds: int
    changes: int


@final
class SavePoints(Kind[tuple[SavePoint, ...]]):
    """Pairs of seconds and changes. An empty word means none; the lines of a file add up."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[SavePoint, ...]) -> tuple[SavePoint, ...]:
        if not words or list(words) == [b""]:
            return ()
        if len(words) % 2:
            raise ConfigError("Invalid save parameters")
        points = []
        for seconds, changes in zip(words[::2], words[1::2]):
            point = SavePoint(_save_number(seconds), _save_number(changes))
            if point.seconds < 1:
                raise ConfigError("Invalid save parameters")
            points.append(point)
        return tuple(points)

    def again(self, words: Sequence[bytes], current: tuple[SavePoint, ...]) -> tuple[SavePoint, ...]:
        points = self.parse(words, current)
        return current + points if points else ()

    def text(self, value: tuple[SavePoint, ...]) -> bytes:
        return b" ".join(b"%d %d" % point for point in value)

    def lines(self, value: tuple[SavePoint, ...]) -> list[list[bytes]]:
        return [[b"%d" % point.seconds, b"%d" % point.changes] for point in value] or [[b""]]


def _save_number(word: bytes) -> int:
    if not word.isdigit() or len(word) > 18:
        raise ConfigError("Invalid save parameters")
    return int(word)


@final
class Percentiles(Kind[tuple[float, ...]]):
    """Numbers from 0 to 100, both inclusive. An empty word means that there are none."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[float, ...]) -> tuple[float, ...]:
        if not words or list(words) == [b""]:
            return ()
        try:
            numbers = tuple(map(float, words))
        except ValueError:
            raise ConfigError("Invalid latency-tracking-info-percentiles parameters") from None
        if not all(0 <= number <= 100 for number in numbers):
            raise ConfigError("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
        return numbers

    def text(self, value: tuple[float, ...]) -> bytes:
        return b" ".join(self.lines(value)[0])

    def lines(self, value: tuple[float, ...]) -> list[list[bytes]]:
        return [[repr(number).removesuffix(".0").encode() for number in value] or [b""]]


class CacheRule(NamedTuple):
    """Keys that match `pattern` are keys of the cache of this name."""

    pattern: bytes
    cache: bytes


@final
class CacheRules(Kind[tuple[CacheRule, ...]]):
    """Pairs of a pattern and a name. An empty word means none; the lines of a file add up."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[CacheRule, ...]) -> tuple[CacheRule, ...]:
        if not words or list(words) == [b""]:
            return ()
        if len(words) % 2 or not all(words):
            raise ConfigError("argument must be pairs of a pattern of keys and the name of a cache")
        return tuple(CacheRule(pattern, cache) for pattern, cache in zip(words[::2], words[1::2]))

    def again(self, words: Sequence[bytes], current: tuple[CacheRule, ...]) -> tuple[CacheRule, ...]:
        rules = self.parse(words, current)
        return current + rules if rules else ()

    def text(self, value: tuple[CacheRule, ...]) -> bytes:
        return b" ".join(b"%b %b" % rule for rule in value)

    def lines(self, value: tuple[CacheRule, ...]) -> list[list[bytes]]:
        return [list(rule) for rule in value]


class Rename(NamedTuple):
    """A command and its new name; empty: none, nobody can call it."""

    name: bytes
    new_name: bytes


class Renames(Kind[tuple[Rename, ...]]):
    """Pairs of a command and its new name, in order. A lone empty word means none; the lines of a file add up."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[Rename, ...]) -> tuple[Rename, ...]:
        if not words or list(words) == [b""]:
            return ()
        if len(words) % 2 or not all(words[::2]):
            raise ConfigError('argument must be a command and its new name, or "" to take it from everybody')
        return tuple(Rename(name, new_name) for name, new_name in zip(words[::2], words[1::2]))

    def again(self, words: Sequence[bytes], current: tuple[Rename, ...]) -> tuple[Rename, ...]:
        return current + self.parse(words, current)

    def text(self, value: tuple[Rename, ...]) -> bytes:
        return b" ".join(word or b'""' for rename in value for word in rename)

    def lines(self, value: tuple[Rename, ...]) -> list[list[bytes]]:
        return [list(rename) for rename in value]


class BufferLimit(NamedTuple):
    """When a client with unread replies is cut: at once above `hard_bytes`, or `soft_seconds` above `soft_bytes`.

    0 means no limit.
    """

    hard_bytes: int
    soft_bytes: int
    soft_seconds: int


class BufferLimits(NamedTuple):
    """The limits of the three classes of clients."""

    normal: BufferLimit
    replica: BufferLimit
    pubsub: BufferLimit


_CLASSES: Final[dict[bytes, str]] = {
    b"normal": "normal",
    b"slave": "replica",
    b"replica": "replica",
    b"pubsub": "pubsub",
}


@final
class OutputBufferLimits(Kind[BufferLimits]):
    """Groups of class, hard limit, soft limit, soft seconds; classes that are not named keep what they have."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: BufferLimits) -> BufferLimits:
        if not words or len(words) % 4:
            raise ConfigError("Wrong number of arguments in buffer limit configuration.")
        limits = current._asdict()
        for at in range(0, len(words), 4):
            name = _CLASSES.get(words[at].lower())
            if name is None:
                raise ConfigError("Invalid client class specified in buffer limit configuration.")
            limits[name] = self._parse_limit(words[at + 1 : at + 4])
        return BufferLimits(**limits)

    def _parse_limit(self, words: Sequence[bytes]) -> BufferLimit:
        hard, soft, seconds = words
        try:
            limit = BufferLimit(parse_memory(to_text(hard)), parse_memory(to_text(soft)), int(seconds))
        except ValueError:
            limit = None
        if limit is None or limit.soft_seconds < 0:
            raise ConfigError("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
        return limit

    def text(self, value: BufferLimits) -> bytes:
        return b" ".join(
            b"%b %d %d %d" % (name, *limit)
            for name, limit in ((b"normal", value.normal), (b"slave", value.replica), (b"pubsub", value.pubsub))
        )

    def lines(self, value: BufferLimits) -> list[list[bytes]]:
        return [
            [name, shortest_memory(limit.hard_bytes), shortest_memory(limit.soft_bytes), b"%d" % limit.soft_seconds]
            for name, limit in ((b"normal", value.normal), (b"replica", value.replica), (b"pubsub", value.pubsub))
        ]


class MasterAddress(NamedTuple):
    """Where the master listens."""

    host: str
    port: int


@final
class ReplicaOf(Kind[MasterAddress | None]):
    """`host port`; `no one` for None: this node is a master."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: MasterAddress | None) -> MasterAddress | None:
        if len(words) != 2:
            raise ConfigError(_ONE_WORD)
        host, port = words
        if host.lower() == b"no" and port.lower() == b"one":
            return None
        if not host or not port.isdigit() or len(port) > 5 or not 0 < int(port) <= 65535:
            raise ConfigError("Invalid master port")
        return MasterAddress(to_text(host), int(port))

    def text(self, value: MasterAddress | None) -> bytes:
        return b"" if value is None else from_text(f"{value.host} {value.port}")

    def lines(self, value: MasterAddress | None) -> list[list[bytes]]:
        return [] if value is None else [[from_text(value.host), b"%d" % value.port]]


_EVENT_CLASSES: Final = "g$lshzxetd"
"""The classes that `A` stands for."""
_EVENT_ORDER: Final = "nocKEm"


@final
class KeyspaceEvents(Kind[str]):
    """Classes of keyspace notifications; kept in the order in which Redis prints them, `A` for all of its classes.

    Beside `A`, Redis 8.2 does not print n, o and c, and loses them by CONFIG REWRITE; here they stay.
    """

    def parse(self, words: Sequence[bytes], current: str) -> str:
        flags = to_text(_only(words))
        if any(flag not in "A" + _EVENT_CLASSES + _EVENT_ORDER for flag in flags):
            raise ConfigError("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
        everything = "A" in flags or all(flag in flags for flag in _EVENT_CLASSES)
        classes = "A" if everything else "".join(flag for flag in _EVENT_CLASSES if flag in flags)
        return classes + "".join(flag for flag in _EVENT_ORDER if flag in flags)

    def text(self, value: str) -> bytes:
        return value.encode()
