"""Requests from bytes: whole reads in, batches of commands out, every byte counted.

The parser serves clients (RESP arrays and inline commands) and, made by `stream_parser`, a master's replication
stream. Splitting inline words is in pyrepl.words, encoding in encoder.py. What to do with an error is the
connection's business.

How it goes fast: in the compiled form `scan` takes the usual commands. In the pure form one read is split at CRLF in C;
a command whose headers agree with the lengths of the pieces between them is taken from that list as slices. Anything
else (in the pure form a value that contains CRLF, inline commands, a command cut by the end of the read) is read
exactly, by index, and the fast way goes on behind it.

Lines are limited to `max_inline_bytes` as if bytes came one at a time, so the way the input is cut never changes what
comes out. Rules and texts are those of Redis 7.0 and 8.2, compared with running servers.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.resp.encoder import encode_command
from pyrepl.resp.numbers import parse_integer
from pyrepl.resp.scan import IS_COMPILED, MOST_BEGINNING_BYTES, MOST_BULK_BYTES, scan
from pyrepl.words import split_words

MAX_BULK_BYTES: Final = 512 * 1024 * 1024
"""Redis's default proto-max-bulk-len."""
MAX_ARGS: Final = 2**31 - 1
"""Redis 7.0's limit for the number of arguments (1024 * 1024 up to Redis 6)."""
MAX_INLINE_BYTES: Final = 64 * 1024
QUERY_BUFFER_BYTES: Final = 1024 * 1024 * 1024
"""Redis's default client-query-buffer-limit."""
UNAUTHENTICATED_ARGS: Final = 10
UNAUTHENTICATED_BULK_BYTES: Final = 16384
UNLIMITED: Final = 2**63 - 1
STREAM_BULK_BYTES: Final = 4 * 1024 * 1024 * 1024
"""The largest argument believed in a replication stream: a broken length must not swallow the stream for ever."""

NO_TLS_HERE: Final = b"this port does not speak TLS; connect to tls-port, or without TLS"
"""What is wrong with a handshake of TLS, which a client would otherwise wait for without end."""

_CLIENT_HELLO: Final = b"\x16\x03"
"""How TLS begins: the type of a record, and the first number of its version."""
_CRLF: Final = b"\r\n"
_STAR: Final = 0x2A
_DOLLAR: Final = 0x24
_LF: Final = 0x0A
_CR: Final = 0x0D

_HEADERS: Final[dict[bytes, int]] = {b"*%d" % count: count for count in range(1, 1025)}
_BULK_HEADERS: Final[list[bytes]] = [b"$%d" % size for size in range(1025)]
_TABLE_SIZE: Final = 1025
_WINDOW_BYTES: Final = 256 * 1024
"""How much is split at once: bounds the number of pieces, however many CRLFs a large value contains."""
_ALONE_BYTES: Final = 256
"""A read up to here is looked at as one command first."""

_LARGE_READ_BYTES: Final = 32 * 1024
_WHOLE_BYTES: Final = 16 * 1024
"""An unfinished command of up to so many bytes at the end of a large read is read anew with the next one."""

_TAKEN: Final = 0
_IGNORED: Final = 1
_STOPPED: Final = 2


@final
class Batch:
    """What one call to Parser.feed completed.

    commands: the argument lists, in order; each has at least one argument.
    ends: `ends[i]` is the cut in `raw` behind command i, so its bytes are `raw[ends[i-1]:ends[i]]` (from 0 for the
        first). Bytes that mean nothing (blank lines, `*0`) belong to the command behind them; after the last command
        they are at the end of `raw`.
    size: how many bytes `raw` has, all consumed bytes; a replica adds this to its offset.
    error: the error reply's text (without the dash) if the input is broken; everything before it is in `commands`.
        The parser is of no use afterwards.
    overflow: an unfinished command exceeds the query buffer limit; Redis closes without a reply. As final as `error`.
    more: unparsed input is held back because the commands so far may change the limits (AUTH): execute them, then
        call feed(b"") until `more` is False.
    """

    __slots__ = ("_irregular", "_parts", "_raw", "commands", "ends", "error", "more", "overflow", "size")

    def __init__(self) -> None:
        self.commands: Final[list[list[bytes]]] = []
        self.ends: Final[list[int]] = []
        self.error: bytes | None = None
        self.overflow = False
        self.more = False
        self.size = 0
        self._raw = b""
        self._parts: list[bytes] | None = None
        self._irregular: set[int] | None = None

    @property
    def raw(self) -> bytes:
        """The consumed bytes, as they came."""
        if self._parts is not None:
            self._raw = b"".join(self._parts)
            self._parts = None
        return self._raw

    def wire(self, index: int) -> bytes:
        """Command `index` as an array of bulk strings, fit for the replication stream.

        The bytes that came, unless they were inline, preceded by ignored bytes, or terminated in Redis's lenient
        way by something else than CRLF: then it is encoded anew.
        """
        if self._irregular is not None and index in self._irregular:
            return encode_command(self.commands[index])
        raw = self._raw if self._parts is None else self.raw
        ends = self.ends
        return raw[ends[index - 1] if index else 0 : ends[index]]

    def wires(self, start: int, end: int) -> bytes:
        """Commands [start, end), of which there is at least one, as `wire` gives them, in one piece."""
        if self._irregular is not None:
            return b"".join([self.wire(index) for index in range(start, end)])
        raw = self._raw if self._parts is None else self.raw
        ends = self.ends
        return raw[ends[start - 1] if start else 0 : ends[end - 1]]


@final
class Parser:
    """An incremental parser of requests, with limits that may be changed between calls of `feed`.

    Invariants: `_rest` holds the unconsumed bytes, `_done` the consumed bytes of the command in progress, so their
    sum is `pending_bytes`. `_left` is how many arguments the command in progress still lacks, 0 between commands.
    `_bulk` is the size of the argument being read, -1 before its header.
    """

    __slots__ = (
        "_args",
        "_base",
        "_bulk",
        "_done",
        "_done_bytes",
        "_error",
        "_inline_allowed",
        "_is_between",
        "_left",
        "_need",
        "_overflow",
        "_regular",
        "_rest",
        "_rest_bytes",
        "authenticated",
        "max_args",
        "max_bulk_bytes",
        "max_inline_bytes",
        "query_buffer_bytes",
    )

    def __init__(
        self,
        max_bulk_bytes: int = MAX_BULK_BYTES,
        max_args: int = MAX_ARGS,
        max_inline_bytes: int = MAX_INLINE_BYTES,
        query_buffer_bytes: int = QUERY_BUFFER_BYTES,
        authenticated: bool = True,
        inline_allowed: bool = True,
    ) -> None:
        """All limits are inclusive: a bulk string of exactly max_bulk_bytes is accepted.

        While `authenticated` is False a command may have UNAUTHENTICATED_ARGS arguments of
        UNAUTHENTICATED_BULK_BYTES each.
        """
        self.max_bulk_bytes = max_bulk_bytes
        self.max_args = max_args
        self.max_inline_bytes = max_inline_bytes
        self.query_buffer_bytes = query_buffer_bytes
        self.authenticated = authenticated
        self._inline_allowed: Final = inline_allowed
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._need = 0
        self._done: list[bytes] = []
        self._done_bytes = 0
        self._args: list[bytes] = []
        self._left = 0
        self._bulk = -1
        self._base = 0
        self._regular = True
        self._error: bytes | None = None
        self._overflow = False
        self._is_between = True
        """The last feed left nothing behind: no rest, no command in progress, no error."""

    @property
    def pending_bytes(self) -> int:
        """Bytes received that belong to no completed command."""
        return self._done_bytes + self._rest_bytes

    def feed(self, data: bytes) -> Batch:
        """Take the next bytes of the connection; everything that is complete now comes back in the Batch."""
        batch = Batch()
        taken = 0
        if self._is_between and self.authenticated:
            if IS_COMPILED and self.max_bulk_bytes >= MOST_BULK_BYTES:
                taken = scan(data, 0, 0, self.max_args, batch.commands, batch.ends)
                if taken == len(data):
                    batch.size = taken
                    batch._raw = data
                    return batch
            elif len(data) <= _ALONE_BYTES and self._read_alone(data, batch):
                return batch
        if self._error is not None or self._overflow:
            batch.error = self._error
            batch.overflow = self._overflow
            return batch
        if self._rest_bytes:
            self._rest.append(data)
            self._rest_bytes += len(data)
            if self._rest_bytes < self._need:
                self._check_size(batch)
                return batch
            data = b"".join(self._rest)
            self._rest = []
            self._rest_bytes = 0
        self._need = 0
        self._parse(data, taken, batch)
        self._note_place()
        return batch

    def _note_place(self) -> None:
        self._is_between = not (self._left or self._rest_bytes or self._done_bytes or self._error or self._overflow)

    def _read_alone(self, data: bytes, batch: Batch) -> bool:
        """The usual read of a client that waits for each reply: one whole command. False if it is anything else."""
        tokens = data.split(_CRLF)
        count = _HEADERS.get(tokens[0], 0)
        if not count or len(tokens) != 2 * count + 2 or tokens[-1]:
            return False
        if count > self.max_args or self.max_bulk_bytes < _ALONE_BYTES:
            return False
        for k in range(2, 2 * count + 1, 2):
            if tokens[k - 1] != _BULK_HEADERS[len(tokens[k])]:
                return False
        batch.commands.append(tokens[2::2])
        batch.size = len(data)
        batch.ends.append(batch.size)
        batch._raw = data
        return True

    def take_back(self) -> bytes | None:
        """Hand over the beginning of a command, b"" between two, for who reads on behind it and feeds both at once.

        None where part of a command was taken already, or where that is no gain.
        """
        if not IS_COMPILED or self._left or self._done_bytes or self._rest_bytes > MOST_BEGINNING_BYTES:
            return None
        if self._error is not None or self._overflow:
            return None
        if not self._rest_bytes:
            return b""
        rest = self.take_rest()
        self._note_place()
        return rest

    def hold(self, beginning: bytes) -> None:
        """Take what was cut off behind whole commands (`scan.whole_bytes`), which completes nothing."""
        self._rest.append(beginning)
        self._rest_bytes += len(beginning)
        self._note_place()

    def take_rest(self) -> bytes:
        """Hand over the unconsumed bytes between two commands, for who goes on reading in another protocol."""
        assert not self._left
        rest = b"".join(self._rest)
        self._rest = []
        self._rest_bytes = 0
        self._need = 0
        return rest

    def _parse(self, data: bytes, pos: int, batch: Batch) -> None:
        """Parse `data` from `pos` on, before which the batch has all, set it up and keep what is unfinished."""
        self._base = self._done_bytes
        batch.size = pos
        if self._left:
            pos = self._read_arguments(data, 0, batch)
        if not self._left and self._error is None and not self._must_hold(data, pos, batch):
            pos = self._scan(data, pos, batch)
        self._keep(data, pos, batch)

    def _keep(self, data: bytes, pos: int, batch: Batch) -> None:
        """Split `data` into what the batch consumed, what the command in progress consumed, and the rest."""
        boundary = batch.size - self._base if batch.size else 0
        if boundary > 0:
            whole = data if boundary == len(data) else data[:boundary]
            if self._done:
                self._done.append(whole)
                batch._parts = self._done
                self._done = []
                self._done_bytes = 0
            else:
                batch._raw = whole
        if pos > boundary:
            self._done.append(data[boundary:pos])
            self._done_bytes += pos - boundary
        batch.error = self._error
        if pos < len(data) and self._error is None:
            self._rest.append(data[pos:] if pos else data)
            self._rest_bytes = len(data) - pos
        self._check_size(batch)

    def _check_size(self, batch: Batch) -> None:
        if self._done_bytes + self._rest_bytes > self.query_buffer_bytes and not batch.more:
            self._overflow = True
            batch.overflow = True
            self._rest = []
            self._rest_bytes = 0
            self._done = []
            self._done_bytes = 0
            self._args = []

    def _scan(self, data: bytes, pos: int, batch: Batch) -> int:
        """Read commands from `pos` on; the position up to which bytes are consumed."""
        end = len(data)
        status = _TAKEN
        while pos < end:
            window_end = pos + _WINDOW_BYTES
            if IS_COMPILED and self.authenticated and self.max_bulk_bytes >= MOST_BULK_BYTES:
                # Behind ignored bytes the next command is irregular, which only _read_one notes.
                if status == _TAKEN:
                    pos = self._scan_all(data, pos, batch)
                    if pos == end:
                        return pos
                first = pos
                pos, status = self._read_one(data, pos, batch)
                if self._left and self._error is None and end >= _LARGE_READ_BYTES and end - first <= _WHOLE_BYTES:
                    return self._put_back(first, pos)
            # Pieces of a window are no longer than the window, so they cannot break the limit for bulk strings.
            elif self.authenticated and self.max_bulk_bytes >= _WINDOW_BYTES:
                tokens = (data if not pos and end <= window_end else data[pos:window_end]).split(_CRLF)
                pos, status = self._scan_window(data, pos, tokens, batch)
            else:
                pos, status = self._read_one(data, pos, batch)
            if status == _STOPPED:
                return pos
        return pos

    def _put_back(self, first: int, pos: int) -> int:
        """Leave the command that was begun at `first` and read up to `pos` to the next read, which has its end: the
        scan takes it whole then, and the bytes of that read are one piece. `first`."""
        if self._need:
            self._need += pos - first
        self._left = 0
        self._args = []
        self._bulk = -1
        return first

    def _scan_all(self, data: bytes, pos: int, batch: Batch) -> int:
        """Read the usual commands from `pos` on; the position behind them."""
        taken = scan(data, pos, self._base, self.max_args, batch.commands, batch.ends)
        if taken > pos:
            batch.size = self._base + taken
        return taken

    def _scan_window(self, data: bytes, pos: int, tokens: list[bytes], batch: Batch) -> tuple[int, int]:
        """Read commands from `pos` on, where `tokens` begin, until the tokens end or nothing can be read.

        Invariant at the head of the loop: tokens[i] begins at data[pos], and a command or blank line begins there.
        """
        commands = batch.commands
        ends = batch.ends
        base = self._base
        last = len(tokens) - 1
        i = 0
        max_args = self.max_args
        headers = _HEADERS
        bulk_headers = _BULK_HEADERS
        while i < last:
            count = headers.get(tokens[i], 0)
            j = i + 2 * count
            if count and j < last and count <= max_args:
                size = len(tokens[i]) + 2
                for k in range(i + 2, j + 1, 2):
                    header = tokens[k - 1]
                    length = len(tokens[k])
                    if header != (bulk_headers[length] if length < _TABLE_SIZE else b"$%d" % length):
                        break
                    size += len(header) + length + 4
                else:
                    commands.append(tokens[i + 2 : j + 1 : 2])
                    pos += size
                    ends.append(base + pos)
                    i = j + 1
                    continue
            batch.size = base + pos
            at = pos
            while True:
                if pos == len(data):
                    return pos, _TAKEN
                pos, status = self._read_one(data, pos, batch)
                if status == _STOPPED:
                    return pos, status
                while at < pos and i <= last:
                    at += len(tokens[i]) + 2
                    i += 1
                # Behind ignored bytes the next command is irregular, which only _read_one notes.
                if i > last or (at == pos and status == _TAKEN):
                    break
            if i > last:
                return pos, _TAKEN
        batch.size = base + pos
        if pos < len(data):
            return self._read_one(data, pos, batch)
        return pos, _TAKEN

    def _read_one(self, data: bytes, pos: int, batch: Batch) -> tuple[int, int]:
        """Read exactly one command or ignored line at `pos`, between commands; the position behind it and the status.

        _STOPPED: it is unfinished or broken, or what follows must wait for the commands before it.
        """
        if data[pos] != _STAR:
            return self._read_inline(data, pos, batch)
        line_end = data.find(b"\r", pos, pos + self.max_inline_bytes + 1)
        if line_end < 0:
            if len(data) - pos > self.max_inline_bytes:
                self._fail(b"too big mbulk count string")
            return pos, _STOPPED
        if line_end + 1 == len(data):
            return pos, _STOPPED
        count = parse_integer(data[pos + 1 : line_end])
        if count is None or count > self.max_args:
            return self._fail(b"invalid multibulk length", pos), _STOPPED
        if count > UNAUTHENTICATED_ARGS and not self.authenticated:
            return self._fail(b"unauthenticated multibulk length", pos), _STOPPED
        behind = line_end + 2
        if count <= 0:
            batch.size = self._base + behind
            return behind, _IGNORED
        self._args = []
        self._left = count
        self._regular = data[line_end + 1] == _LF and self._follows_a_command(pos, batch)
        behind = self._read_arguments(data, behind, batch)
        if self._left or self._error is not None or self._must_hold(data, behind, batch):
            return behind, _STOPPED
        return behind, _TAKEN

    def _read_arguments(self, data: bytes, pos: int, batch: Batch) -> int:
        """Go on with the command in progress at `pos`; the position up to which its bytes are consumed.

        Redis looks for CR alone behind a length and does not look at the two bytes behind an argument; so do we.
        """
        end = len(data)
        while self._left:
            if self._bulk < 0:
                line_end = data.find(b"\r", pos, pos + self.max_inline_bytes + 1)
                if line_end < 0:
                    if end - pos > self.max_inline_bytes:
                        self._fail(b"too big bulk count string")
                    return pos
                if line_end + 1 == end:
                    return pos
                if not self._read_bulk_length(data, pos, line_end):
                    return pos
                pos = line_end + 2
            stop = pos + self._bulk
            if stop + 2 > end:
                self._need = stop + 2 - pos
                return pos
            self._args.append(data[pos:stop])
            if data[stop] != _CR or data[stop + 1] != _LF:
                self._regular = False
            self._bulk = -1
            self._left -= 1
            pos = stop + 2
        self._take(self._args, pos, self._regular, batch)
        self._args = []
        return pos

    def _read_bulk_length(self, data: bytes, pos: int, line_end: int) -> bool:
        """Take the header of an argument, `data[pos:line_end]` and two bytes more; False if it is broken."""
        if data[pos] != _DOLLAR:
            self._fail(b"expected '$', got '%c'" % data[pos])
            return False
        size = parse_integer(data[pos + 1 : line_end])
        if size is None or size < 0 or size > self.max_bulk_bytes:
            self._fail(b"invalid bulk length")
            return False
        if size > UNAUTHENTICATED_BULK_BYTES and not self.authenticated:
            self._fail(b"unauthenticated bulk length")
            return False
        if data[line_end + 1] != _LF:
            self._regular = False
        self._bulk = size
        return True

    def _read_inline(self, data: bytes, pos: int, batch: Batch) -> tuple[int, int]:
        """Read a line of words; blank lines mean nothing."""
        if not self._inline_allowed and data[pos] != _CR and data[pos] != _LF:
            return self._fail(b"expected '*', got '%c'" % data[pos], pos), _STOPPED
        if data.startswith(_CLIENT_HELLO, pos):
            return self._fail(NO_TLS_HERE, pos), _STOPPED
        line_end = data.find(b"\n", pos, pos + self.max_inline_bytes + 1)
        if line_end < 0:
            if len(data) - pos > self.max_inline_bytes:
                self._fail(b"too big inline request")
            return pos, _STOPPED
        words = split_words(data[pos:line_end])
        if words is None:
            return self._fail(b"unbalanced quotes in request", pos), _STOPPED
        behind = line_end + 1
        if not words:
            batch.size = self._base + behind
            return behind, _IGNORED
        if not self._inline_allowed:
            return self._fail(b"expected '*', got '%c'" % data[pos], pos), _STOPPED
        self._take(words, behind, False, batch)
        return behind, _STOPPED if self._must_hold(data, behind, batch) else _TAKEN

    def _follows_a_command(self, pos: int, batch: Batch) -> bool:
        """Does nothing lie between the command before (or the start of the batch) and `pos`?"""
        return self._base + pos == (batch.ends[-1] if batch.ends else 0)

    def _take(self, args: list[bytes], pos: int, regular: bool, batch: Batch) -> None:
        """Add a complete command, whose bytes end at `pos`."""
        if not regular:
            if batch._irregular is None:
                batch._irregular = set()
            batch._irregular.add(len(batch.commands))
        batch.commands.append(args)
        batch.ends.append(self._base + pos)
        batch.size = self._base + pos

    def _must_hold(self, data: bytes, pos: int, batch: Batch) -> bool:
        """After a command of a client that is not authenticated: the next one's limits depend on its outcome."""
        if self.authenticated or not batch.commands or pos == len(data):
            return False
        batch.more = True
        return True

    def _fail(self, reason: bytes, pos: int = 0) -> int:
        """Note a protocol error in Redis's words; returns `pos`, for the convenience of returning it."""
        self._error = b"ERR Protocol error: " + reason.replace(b"\r", b" ").replace(b"\n", b" ")
        return pos


def stream_parser(max_bulk_bytes: int = STREAM_BULK_BYTES) -> Parser:
    """A parser for what a master sends after its snapshot: arrays only, none of the limits meant for clients."""
    return Parser(max_bulk_bytes=max_bulk_bytes, query_buffer_bytes=UNLIMITED, inline_allowed=False)
