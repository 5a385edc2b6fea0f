"""The command table: one row per command, from which COMMAND, arity and flag checks, keys and propagation derive.

A family module writes its commands as functions under `@command(...)`; the decorator turns each into a `Command` row,
and `Table` gathers the rows of the modules it is given. `dispatch` executes a row.

Rules on the numbers are Redis's (COMMAND INFO, 7.0): arity counts the command's own name, a negative one is a minimum;
key positions count from the name at 0, a negative last one counts from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, final

from pyrepl.commands.describe.docstrings import first_line
from pyrepl.errors import CommandError

if TYPE_CHECKING:
    from pyrepl.commands.engine.call import Call

WRITE: Final = 1 << 0
"""May change the keyspace; propagated if it did."""
READONLY: Final = 1 << 1
"""Reads the keyspace and never changes it."""
DENYOOM: Final = 1 << 2
"""May need more memory; refused while used memory is over maxmemory and nothing can be evicted."""
ADMIN: Final = 1 << 3
"""For operators; not shown by MONITOR."""
PUBSUB: Final = 1 << 4
NOSCRIPT: Final = 1 << 5
"""Not allowed in scripts."""
LOADING: Final = 1 << 6
"""Allowed while the data set loads."""
STALE: Final = 1 << 7
"""Allowed on a replica whose link is down when replica-serve-stale-data is no."""
FAST: Final = 1 << 8
"""Takes O(1) or O(log n); shown to clients, without effect here."""
NO_AUTH: Final = 1 << 9
"""Allowed before AUTH."""
NO_MULTI: Final = 1 << 10
"""Not allowed between MULTI and EXEC."""
NO_MONITOR: Final = 1 << 11
"""Not shown by MONITOR."""
NO_SLOWLOG: Final = 1 << 12
"""Not put into the slow log (EXEC, whose queued commands are put there themselves)."""
MAY_REPLICATE: Final = 1 << 13
"""Goes to the replicas although it writes no key (PUBLISH)."""
BLOCKING: Final = 1 << 14
NOW_IN_MULTI: Final = 1 << 15
"""Executed at once between MULTI and EXEC (EXEC, DISCARD, MULTI, WATCH, QUIT, RESET)."""
MOVABLE_KEYS: Final = 1 << 16
"""Its arguments decide where the keys stand; clients must ask COMMAND GETKEYS."""
ARBITRARY_KEYS: Final = 1 << 17
"""Looks at keys that it does not name. The keys that it finds expired do not depend on each other, so their deletions
are propagated one by one (Redis 7.2, TOUCHES_ARBITRARY_KEYS, which COMMAND does not show)."""
IN_STREAM: Final = 1 << 18
"""May stand in a master's stream although it writes no key (SELECT, PING, MULTI)."""
ALLOW_BUSY: Final = 1 << 19
"""Allowed while a script runs for longer than busy-reply-threshold."""
NO_MANDATORY_KEYS: Final = 1 << 20
"""It may be called without any key, so COMMAND GETKEYS answers an empty list and no error."""
STREAM_HOLDS: Final = WRITE | MAY_REPLICATE | IN_STREAM
"""Commands that a replication stream and an append-only file may hold. No correct master sends other commands, so they
are not executed."""

FLAG_NAMES: Final[tuple[tuple[int, str], ...]] = (
    (WRITE, "write"),
    (READONLY, "readonly"),
    (DENYOOM, "denyoom"),
    (ADMIN, "admin"),
    (PUBSUB, "pubsub"),
    (NOSCRIPT, "noscript"),
    (BLOCKING, "blocking"),
    (LOADING, "loading"),
    (STALE, "stale"),
    (NO_MONITOR, "skip_monitor"),
    (NO_SLOWLOG, "skip_slowlog"),
    (FAST, "fast"),
    (NO_AUTH, "no_auth"),
    (NO_MANDATORY_KEYS, "no_mandatory_keys"),
    (NO_MULTI, "no_multi"),
    (ALLOW_BUSY, "allow_busy"),
    (MOVABLE_KEYS, "movablekeys"),
)
"""Redis's spelling of each flag that COMMAND prints, in its order. Those that decide nothing here are in
`describe/shown.py`."""

KeysOf = Callable[[list[bytes]], list[int]]
"""Returns the positions of the keys in a whole command; for commands whose arguments decide where the keys stand."""


@final
class Keys:
    """Where a command's keys stand: first, last and step as COMMAND INFO shows them, or a function."""

    __slots__ = ("first", "last", "of", "step")

    def __init__(self, first: int, last: int, step: int, of: KeysOf | None = None) -> None:
        self.first = first
        self.last = last
        self.step = step
        self.of = of

    @property
    def is_empty(self) -> bool:
        """Does the command name no keys, whatever its arguments are?"""
        return self.of is _no_positions if self.of is not None else self.first == 0

    def positions(self, argv: list[bytes]) -> list[int]:
        """Indices of the keys in `argv`, which holds the command's name at 0 (for a subcommand both names, 0 and 1)."""
        if self.of is not None:
            return self.of(argv)
        if self.first == 0:
            return []
        last = self.last if self.last >= 0 else len(argv) + self.last
        return list(range(self.first, last + 1, self.step))


NO_KEYS: Final = Keys(0, 0, 0)
FIRST_ARG: Final = Keys(1, 1, 1)
SECOND_ARG: Final = Keys(2, 2, 1)
FIRST_TWO: Final = Keys(1, 2, 1)
ALL_ARGS: Final = Keys(1, -1, 1)
ALL_BUT_LAST: Final = Keys(1, -2, 1)
EVERY_SECOND: Final = Keys(1, -1, 2)


def _no_positions(argv: list[bytes]) -> list[int]:
    return []


SHARD_CHANNEL: Final = Keys(1, 1, 1, _no_positions)
SHARD_CHANNELS: Final = Keys(1, -1, 1, _no_positions)
"""Shard channels stand where keys would: COMMAND INFO shows the place, since a cluster sends the command to the slot of
the channel. They are no keys."""


def numkeys_at(position: int, *, leading: int = 0, step: int = 1) -> Keys:
    """Keys counted by an argument at `position` (`ZUNIONSTORE dst 2 a b`); `leading` is 1 when a key stands at 1 too.

    `step` is 2 where a value follows each key.

    If the count is no number, or larger than the number of arguments allows, only the leading key is found; the command
    itself then returns an error.
    """

    def positions(argv: list[bytes]) -> list[int]:
        keys = [1] if leading else []
        if position < len(argv) and argv[position].isdigit():
            count = int(argv[position])
            if position + step * count < len(argv):
                keys.extend(range(position + 1, position + 1 + step * count, step))
        return keys

    return Keys(1 if leading else 0, 1 if leading else 0, 1 if leading else 0, positions)


COUNTED_PAIRS: Final = numkeys_at(1, step=2)
"""Keys with their values, counted by the first argument (MSETEX)."""


class Words:
    """The fast form of a hot command: it takes the list of words as it came, which saves spreading them into arguments.

    The dispatcher calls `run` directly. The row's function names the arguments for readers, and calls `run` too.
    """

    __slots__ = ()

    def run(self, call: Call, argv: list[bytes]) -> object:
        """The reply to `argv`, the name included, whose number of words fits the row. Raises CommandError."""
        raise NotImplementedError


@final
class Command:
    """One row: a command or a subcommand (`CLIENT|LIST`).

    `fn(call, *arguments)` gets the arguments after the name (after both names for a subcommand) and returns a reply.
    `words`, if it is not None, does the same from the whole list of words.
    """

    __slots__ = ("arity", "flags", "fn", "group", "keys", "name", "since", "subcommands", "words")

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        arity: int,
        flags: int,
        keys: Keys,
        group: str,
        since: str,
        words: Words | None = None,
    ) -> None:
        self.name = name
        self.fn = fn
        self.arity = arity
        self.flags = flags
        self.keys = keys
        self.group = group
        self.since = since
        self.words = words
        self.subcommands: dict[bytes, Command] = {}

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return first_line(self.fn)

    @property
    def wire_name(self) -> str:
        """As errors and commandstats print it: `client|list`; in upper case for what is a module's command in Redis."""
        return self.name if self.group == "module" else self.name.lower()

    def flag_names(self) -> list[str]:
        return [word for bit, word in FLAG_NAMES if self.flags & bit]

    def why_not_arity(self, size: int) -> str | None:
        """The error text when a call of `size` words (names included) is too short or too long, or None."""
        if size == self.arity or (self.arity < 0 and size >= -self.arity):
            return None
        return f"ERR wrong number of arguments for '{self.wire_name}' command"


def command(
    name: str,
    *,
    arity: int,
    flags: int = 0,
    keys: Keys = NO_KEYS,
    group: str,
    since: str = "1.0.0",
    words: Words | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Turn a function into the row of command `name` (`"GET"`, or `"CLIENT|LIST"` for a subcommand).

    The first line of the docstring is the summary that COMMAND DOCS prints.
    """

    def make(fn: Callable[..., Any]) -> Command:
        return Command(name, fn, arity, flags, keys, group, since, words)

    return make


def container(name: str, *, group: str, since: str = "1.0.0", summary: str = "") -> Command:
    """The row of a command that only has subcommands (`CLIENT`); `Table` hangs them below it."""

    def refuse(call: object, *arguments: bytes) -> None:
        raise CommandError(f"ERR wrong number of arguments for '{name.lower()}' command")

    refuse.__doc__ = summary or f"A container for {name.lower()} commands"
    return Command(name, refuse, -2, 0, NO_KEYS, group, since)


@final
class Table:
    """The rows of some modules, by name.

    A name is looked up as the client sent it, in any mixture of upper and lower case.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        """Raises ValueError when a name is given twice or a subcommand has no container."""
        self.rows: dict[bytes, Command] = {}
        """Top-level commands by their names for clients, in upper case, after rename-command."""
        self.renamed: dict[bytes, Command] = {}
        """Commands that rename-command has taken a name from, by that old name, which streams and files may use."""
        subcommands: list[Command] = []
        for module in modules:
            for row in vars(module).values():
                if not isinstance(row, Command) or row.fn.__module__ not in (module.__name__, __name__):
                    continue
                if "|" in row.name:
                    subcommands.append(row)
                else:
                    self._add(self.rows, row.name.encode(), row)
        for row in subcommands:
            parent, _, child = row.name.partition("|")
            if parent.encode() not in self.rows:
                raise ValueError(f"{row.name} has no container row {parent}")
            self._add(self.rows[parent.encode()].subcommands, child.encode(), row)

    @staticmethod
    def _add(rows: dict[bytes, Command], name: bytes, row: Command) -> None:
        if rows.get(name, row) is not row:
            raise ValueError(f"the command {row.name} stands in the table twice")
        rows[name] = row

    def rename(self, name: bytes, new_name: bytes) -> str | None:
        """Let clients find the command only as `new_name`, or not at all if that is empty; both in upper case.

        Returns Redis's error text if there is no such command or the new name is taken, else None.
        """
        if name not in self.rows:
            return "No such command in rename-command"
        if new_name and new_name != name and new_name in self.rows:
            return "Target command name already exists"
        row = self.rows.pop(name)
        if row.name.encode() == name:
            self.renamed[name] = row
        if new_name:
            self.rows[new_name] = row
        return None

    def find_in_stream(self, name: bytes) -> Command | None:
        """As `find`, for a master's stream and for files, which may use the old name of a renamed command too."""
        return self.find(name) or self.renamed.get(name.upper())

    def find(self, name: bytes) -> Command | None:
        """The row of a top-level command, whatever the case of `name`."""
        return self.rows.get(name) or self.rows.get(name.upper())

    def resolve_in_stream(self, argv: list[bytes]) -> Command:
        """The row, or the subcommand's row, that executes `argv` of a stream or a file.

        Raises CommandError, with Redis's text, when there is none.
        """
        row = self.find_in_stream(argv[0])
        if row is None:
            raise unknown_command(argv)
        if row.subcommands:
            if len(argv) < 2:
                raise CommandError(f"ERR wrong number of arguments for '{row.wire_name}' command")
            child = row.subcommands.get(argv[1].upper())
            if child is None:
                raise unknown_subcommand(argv)
            row = child
        complaint = row.why_not_arity(len(argv))
        if complaint is not None:
            raise CommandError(complaint)
        return row

    def why_not_in_stream(self, argv: list[bytes]) -> str:
        """The word for why a stream or an append-only file must not hold this command: `unknown_command`, or
        `foreign_command` if no master sends it (STREAM_HOLDS). Empty if it may."""
        row = self.find_in_stream(argv[0])
        if row is not None and row.subcommands and len(argv) > 1:
            row = row.subcommands.get(argv[1].upper())
        if row is None:
            return "unknown_command"
        rows = row.subcommands.values() or (row,)
        return "" if any(row.flags & STREAM_HOLDS for row in rows) else "foreign_command"

    def name_of(self, argv: list[bytes]) -> str:
        """How Redis's log names the command of `argv`: `client|list`, or `<unknown>`."""
        row = self.find(argv[0])
        if row is None:
            return "<unknown>"
        child = row.subcommands.get(argv[1].upper()) if len(argv) > 1 else None
        return (child or row).wire_name

    def __iter__(self) -> Iterator[Command]:
        return iter(self.rows.values())

    def __len__(self) -> int:
        return len(self.rows)


def unknown_command(argv: list[bytes]) -> CommandError:
    """The error for an unknown command, in Redis 7.0's words: its name and first arguments, at most 128 bytes of the
    name and of all arguments together."""
    arguments = ""
    for argument in argv[1:]:
        if len(arguments) >= 128:
            break
        arguments += f"'{_printed(argument, 128 - len(arguments))}' "
    name = _printed(argv[0], 128)
    text = f"ERR unknown command '{name}', with args beginning with: {arguments}"
    return CommandError(text.replace("\r", " ").replace("\n", " "))


def _printed(word: bytes, most: int) -> str:
    """At most `most` bytes of a word, as C's printf shows it: up to the first zero byte."""
    return word.partition(b"\0")[0][:most].decode("utf-8", "surrogateescape")


def unknown_subcommand(argv: list[bytes]) -> CommandError:
    """The error for an unknown subcommand, in Redis 7.0's words; at most 128 bytes of each name."""
    container_name, name = (word[:128].decode("utf-8", "replace") for word in argv[:2])
    text = f"ERR unknown subcommand '{name}'. Try {container_name.upper()} HELP."
    return CommandError(text.replace("\r", " ").replace("\n", " "))
