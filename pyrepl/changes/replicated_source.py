"""The streams made of the replication stream, as a source: `keys`, `commands`, `caches`.

Not here: parsing (replication_log.py), rows (replicated.py).

Their writer, in the form that names writers, is the replication id: whoever makes the stream goes by that name, and a
promotion shows as a new writer. A token is the offset with the digits of the history behind it (history_digits.py), so
that a number alone is taken only where it belongs.

While somebody follows live, a cursor holds the bytes that were not handed out yet; all live subscribers share it, and
what is decoded once goes to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, final

from pyrepl.changes.block import Block
from pyrepl.changes.history_digits import digits_of, split_token, token_at
from pyrepl.changes.replicated import RowMaker
from pyrepl.changes.replication_log import HeldBytes, ReplicationLog
from pyrepl.changes.unavailable import Unavailable

PUMP_BYTES: Final = 256 * 1024
"""Stream bytes decoded at once for live subscribers."""

_NO_STREAM: Final = "LOADING this node has no stream: it waits for its first sync with its master, or loads its data"


class Names(Protocol):
    """The names of the present history: `fork` is the cut up to which `replid2` is valid too, None without one."""

    @property
    def replid(self) -> str: ...
    @property
    def replid2(self) -> str: ...
    @property
    def fork(self) -> int | None: ...


class Pin(Protocol):
    """Holds the bytes from `at` on."""

    @property
    def at(self) -> int: ...

    def advance(self, size: int) -> None:
        """`size` more bytes are not needed any more."""
        ...


@final
class ReplicatedSource:
    """Invariants: with a pin, every live subscriber is at `pin.at`; without one nobody is live. No block reaches beyond
    a fork under the name before it: whoever learns of a promotion pumps up to the fork and calls `named` before more is
    read."""

    def __init__(
        self,
        held: HeldBytes,
        names: Callable[[], Names],
        makers: dict[str, RowMaker],
        attach: Callable[[int], Pin],
        detach: Callable[[Pin], None],
    ) -> None:
        """`attach(cut)` makes a pin on the held bytes, `detach` ends it; `makers` by the names of the streams."""
        self._held = held
        self.log: Final = ReplicationLog(held, self.token_at)
        self._names = names
        self.replid = ""
        """The history as subscribers have been told it; empty while there is none."""
        self._digits = digits_of("")
        self.makers = makers
        self._attach = attach
        self._detach = detach
        self._pin: Pin | None = None

    def named(self, replid: str) -> None:
        """From here on rows, positions and the writer go by this name."""
        self.replid = replid
        self._digits = digits_of(replid)

    def streams(self) -> list[str]:
        return list(self.makers)

    def writers(self, stream: str) -> list[str]:
        return [self.replid]

    def head(self, stream: str, writer: str | None) -> int | None:
        if stream not in self.makers or writer not in (None, self.replid):
            return None
        return self._end

    def token_at(self, at: int) -> int:
        return token_at(at, self._digits)

    def at(self, token: int) -> int:
        return split_token(token)[0]

    @property
    def _end(self) -> int:
        return self._held.end if self._pin is None else self._pin.at

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        if not self._held.active:
            return _NO_STREAM
        if token is None:
            return None
        names = self._names()
        named = replid or writer or ""
        known: list[tuple[str, int | None]] = [(names.replid, None)]
        if names.fork is not None:
            known.append((names.replid2, names.fork))
        histories = [one for one in known if not named or named.lower() == one[0].lower()]
        if not histories:
            return (
                f"FORKED token {token} is of another history, {named}: this node's is {names.replid}. Read your data"
                " anew and go on from NOW"
            )
        cut, digits = split_token(token)
        for name, fork in histories:
            if token == 0 or digits_of(name) == digits:
                return self._why_not_cut(token, cut, fork, is_sure=bool(named))
        if named:
            return f"BADTOKEN token {token} is not of the history {named}, whose tokens end in {digits_of(named)}"
        return (
            f"FORKED token {token} is of another history: this node's tokens end in {digits_of(names.replid)}. It has"
            " begun anew without its data, follows another master, or the token is from elsewhere. Read your data anew"
            " and go on from NOW"
        )

    def _why_not_cut(self, token: int, cut: int, fork: int | None, *, is_sure: bool) -> str | None:
        """As `why_not`, for a cut of this history, or of the one before, which is valid up to `fork`; `is_sure`: the
        whole replid was named, not its digits alone."""
        if fork is not None and cut > fork:
            last = self.token_at(fork)
            return (
                f"FORKED {last} token {token} lies beyond the fork: up to {last} this node has the token's history,"
                f" behind it {self._names().replid}, without what you have seen since. Read your data anew and go on"
                f" from NOW; or undo what came after {last}, and go on from there"
            )
        if is_sure and cut > self._held.end:
            # The same history, and we only lag behind the node the token is from: its rows will come.
            return None
        return self.log.why_not(cut, token)

    def read(self, stream: str, writer: str | None, after: int, want_bytes: int) -> Block:
        maker = self.makers.get(stream)
        if maker is None:
            raise Unavailable(f"there is no stream {stream} any more")
        if after >= self._end:
            return Block(stream, self.replid, after, after, (), self._digits)
        units, end = self.log.read(after, self._end, want_bytes)
        return Block(stream, self.replid, after, end, maker.facts(units), self._digits)

    # ------------------------------------------------------------------ live

    @property
    def is_pumped(self) -> bool:
        """Somebody follows live."""
        return self._pin is not None

    @property
    def lag_bytes(self) -> int:
        """Bytes that came and live subscribers have not seen."""
        return 0 if self._pin is None else self._held.end - self._pin.at

    @property
    def is_outrun(self) -> bool:
        """More is held for live subscribers than the backlog is to hold: the stream is faster than they are fed."""
        return self.lag_bytes > max(self._held.capacity, 4 * PUMP_BYTES)

    def go_live(self) -> None:
        """Somebody has caught up with the head and is to get what follows as it comes."""
        if self._pin is None and self._held.active:
            self._pin = self._attach(self._held.end)

    def stop_live(self) -> None:
        """Nobody follows live any more; nothing is held."""
        pin, self._pin = self._pin, None
        if pin is not None:
            self._detach(pin)

    def pump(self, streams: Iterable[str], upto: int | None = None) -> list[Block]:
        """The next piece of news, not beyond the boundary `upto`, for live subscribers of these streams: a block for
        each stream; then it is theirs. [] if there is none."""
        pin = self._pin
        until = self._held.end if upto is None else min(upto, self._held.end)
        if pin is None or pin.at >= until:
            return []
        at = pin.at
        units, end = self.log.read(at, until, PUMP_BYTES)
        pin.advance(end - at)
        return [
            Block(stream, self.replid, at, end, self.makers[stream].facts(units), self._digits) for stream in streams
        ]
