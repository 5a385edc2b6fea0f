"""MAXLEN and MINID: the trimming options of XADD and XTRIM, what they remove, and how that is told to replicas.

`~` allows the command to remove whole nodes only and to leave more entries than asked for. In Redis a node ends at
stream-node-max-entries or stream-node-max-bytes. Here each stream-node-max-entries entries, counted from the oldest,
are a node. So the length that `~` leaves may differ from Redis's, within what `~` allows.

The replicas must keep the same entries, and may have other nodes. So `~` is propagated as `=` with the exact bound that
has the same result.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.xstreams.ids import LAST_ID, id_text, strict_id
from pyrepl.commands.xstreams.log import NODE_ENTRIES, delete, drop_first, first, index_of, size, whole_nodes
from pyrepl.commands.xstreams.references import ACKED, DELREF, POLICIES, may_delete
from pyrepl.errors import CommandError
from pyrepl.rdb.values import StreamId, StreamValue

_LIMIT_NODES: Final = 100
"""How many nodes `~` removes at most when LIMIT is not given (Redis 6.2)."""
_LIMIT_ENTRIES: Final = 1_000_000
"""How many entries `~` removes at most when LIMIT is not given, however large the nodes are (Redis 6.2)."""


@final
class Trim:
    """The trimming options of one command.

    `maxlen` is an entry count, `minid` the least id to keep; at most one of them is set. `limit` is the greatest number
    of entries to remove, None for no limit. `at` is the position of the bound in the words parsed; the word before it
    is `~` when `approximate` is true.
    """

    __slots__ = ("approximate", "at", "limit", "maxlen", "minid", "node_entries", "policy")

    def __init__(self, node_entries: int) -> None:
        """`node_entries` is the value of stream-node-max-entries, where 0 means no limit."""
        self.node_entries = node_entries or NODE_ENTRIES
        self.maxlen: int | None = None
        self.minid: StreamId | None = None
        self.approximate = False
        self.limit: int | None = None
        self.at = 0
        self.policy = b""
        """What happens to entries that groups refer to: one of `references.POLICIES`, empty when none is given."""

    @property
    def is_given(self) -> bool:
        return self.maxlen is not None or self.minid is not None

    def take(self, words: tuple[bytes, ...], at: int) -> int:
        """Parse `MAXLEN|MINID [=|~] bound` at position `at` of `words`, and return the position after it.

        At least one word must follow the option's name. Raises CommandError for a bound that is no number >= 0, or no
        id, and for a second such option.
        """
        if self.is_given:
            raise CommandError("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
        by_length = words[at].upper() == b"MAXLEN"
        bound_at = at + 1
        if len(words) - at > 2 and words[bound_at] in (b"~", b"="):
            self.approximate = words[bound_at] == b"~"
            bound_at += 1
        if by_length:
            self.maxlen = integer_argument(words[bound_at])
            if self.maxlen < 0:
                raise CommandError("ERR The MAXLEN argument must be >= 0.")
        else:
            self.minid = strict_id(words[bound_at])
        self.at = bound_at
        return bound_at + 1

    def take_policy(self, word: bytes) -> bool:
        """Note the word if it is KEEPREF, DELREF or ACKED. False for another word, and for a second of the three."""
        if self.policy or word not in POLICIES:
            return False
        self.policy = word
        return True

    def settle_limit(self, limit: int | None, *, from_master: bool) -> None:
        """Set `limit` once all options are read; the argument is LIMIT's number, None when LIMIT is not given.

        A command that our master sent has no limit: it states the exact bound that the master has trimmed to. Raises
        CommandError for LIMIT without MAXLEN or MINID, and for LIMIT without `~`.
        """
        if limit and not self.is_given:
            raise CommandError("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
        if from_master:
            self.limit = None
        elif limit is not None:
            if not self.approximate:
                raise CommandError("ERR syntax error, LIMIT cannot be used without the special ~ option")
            self.limit = limit or None
        elif self.approximate:
            self.limit = min(_LIMIT_NODES * self.node_entries, _LIMIT_ENTRIES)

    def apply(self, stream: StreamValue) -> int:
        """Remove the oldest entries that are beyond the bound, and return how many they were; 0 without a bound."""
        if self.is_given and self.policy in (DELREF, ACKED):
            return self._apply_one_by_one(stream)
        if self.maxlen is not None:
            count = max(0, size(stream) - self.maxlen)
        elif self.minid is not None:
            count = index_of(stream, self.minid) - stream.head
        else:
            return 0
        if self.approximate:
            count = whole_nodes(stream, count, self.limit, self.node_entries)
        if count:
            drop_first(stream, count)
        return count

    def _apply_one_by_one(self, stream: StreamValue) -> int:
        """Trim with DELREF or ACKED, where each entry is looked at; how many entries were removed.

        Leaving whole nodes would save no work here, so `~` leaves none. But LIMIT still counts whole nodes: a node that
        would pass it is left (Redis 8.2). A trim leaves no tombstone, so `max_deleted_id` is put back.
        """
        excess = size(stream) if self.maxlen is None else size(stream) - self.maxlen
        doomed: list[StreamId] = []
        for place, (entry_id, _) in enumerate(stream.held[stream.head :]):
            if len(doomed) >= excess or (self.minid is not None and entry_id >= self.minid):
                break
            if self.limit is not None and place % self.node_entries == 0:
                node_size = min(self.node_entries, size(stream) - place)
                if len(doomed) + node_size > self.limit:
                    break
            if may_delete(stream, entry_id, self.policy):
                doomed.append(entry_id)
        if doomed:
            tombstone = stream.max_deleted_id
            delete(stream, doomed)
            stream.max_deleted_id = tombstone
        return len(doomed)

    def exact(self, argv: list[bytes], offset: int, stream: StreamValue) -> list[bytes]:
        """`argv` with `= bound` in place of `~ bound`, for replicas. To be called after `apply`.

        `offset` is the position in `argv` of the first of the words that were parsed.
        """
        rewritten = list(argv)
        rewritten[offset + self.at - 1] = b"="
        if self.maxlen is not None:
            bound = b"%d" % size(stream)
        else:
            entry = first(stream)
            bound = id_text(LAST_ID if entry is None else entry[0])
        rewritten[offset + self.at] = bound
        return rewritten


def limit_argument(text: bytes) -> int:
    """LIMIT's number of entries, >= 0; 0 means no limit. Raises CommandError."""
    limit = integer_argument(text)
    if limit < 0:
        raise CommandError("ERR The LIMIT argument must be >= 0.")
    return limit


def parse_trim(words: tuple[bytes, ...], node_entries: int, *, from_master: bool) -> Trim:
    """Parse the arguments of XTRIM after the key. Raises CommandError.

    `node_entries` is the value of stream-node-max-entries; `from_master` is true for a command that our master sent.
    """
    trim = Trim(node_entries)
    limit: int | None = None
    at = 0
    while at < len(words):
        word = words[at].upper()
        more = at + 1 < len(words)
        if more and word in (b"MAXLEN", b"MINID"):
            at = trim.take(words, at)
        elif more and word == b"LIMIT":
            limit = limit_argument(words[at + 1])
            at += 2
        elif trim.take_policy(word):
            at += 1
        else:
            raise syntax_error()
    if not trim.is_given and not limit:
        raise CommandError("ERR syntax error, XTRIM must be called with a trimming strategy")
    trim.settle_limit(limit, from_master=from_master)
    return trim
