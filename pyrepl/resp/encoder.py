"""Replies and commands to bytes, RESP2 and RESP3.

The kinds of reply are in reply.py, reading requests is in parser.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from pyrepl.errors import CommandError
from pyrepl.resp.bulks import encode_bulks
from pyrepl.resp.doubles import format_double
from pyrepl.resp.numbers import format_integer
from pyrepl.resp.reply import NoReply, NullArray, Push, Raw, Reply, Simple, Verbatim

CRLF: Final = b"\r\n"
_SMALL: Final = 1024
_INTEGERS: Final[list[bytes]] = [b":%d\r\n" % number for number in range(_SMALL)]
_THOUSAND: Final = 1000
_THOUSANDS: Final[list[bytes]] = [b":%d" % number for number in range(_THOUSAND)]
_REST: Final[list[bytes]] = [b"%03d\r\n" % number for number in range(_THOUSAND)]
"""The last three digits of an integer and the line end, by their number."""
_MANY: Final = 8
"""An array of so many items or more is first tried as one of bulk strings alone, which is encoded in one piece."""
_BULK_HEADERS: Final[list[bytes]] = [b"$%d\r\n" % size for size in range(_SMALL)]
_ARRAY_HEADERS: Final[list[bytes]] = [b"*%d\r\n" % count for count in range(_SMALL)]
_PUSH_HEADERS: Final[list[bytes]] = [b">%d\r\n" % count for count in range(_SMALL)]
_NO_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def encode_reply(reply: Reply, proto: int) -> bytes:
    """The wire form of `reply` for a client that speaks RESP2 or RESP3 (`proto` 2 or 3); b"" for NO_REPLY.

    Raises TypeError for a value that is no Reply (a str, for instance): a defect of the command, not of its caller.
    """
    if type(reply) is bytes:
        size = len(reply)
        return _BULK_HEADERS[size] + reply + CRLF if size < _SMALL else b"$%d\r\n%b\r\n" % (size, reply)
    if type(reply) is Simple:
        return reply.encoded
    if type(reply) is int:
        return _INTEGERS[reply] if 0 <= reply < _SMALL else b":%d\r\n" % reply
    if reply is None:
        return b"$-1\r\n" if proto < 3 else b"_\r\n"
    out: list[bytes] = []
    append_reply(reply, proto, out)
    return b"".join(out)


def encoded_size(reply: Reply, proto: int) -> int:
    """How many bytes `append_reply` would append."""
    pieces: list[bytes] = []
    append_reply(reply, proto, pieces)
    size = 0
    for piece in pieces:
        size += len(piece)
    return size


def append_reply(reply: Reply, proto: int, out: list[bytes]) -> None:
    """Append the wire form of `reply` to `out`; `proto` is 2 or 3.

    Raises TypeError for a value that is no Reply (a str, for instance): a defect of the command, not of its caller.
    """
    if type(reply) is bytes:
        size = len(reply)
        out.append(_BULK_HEADERS[size] if size < _SMALL else b"$%d\r\n" % size)
        out.append(reply)
        out.append(CRLF)
    elif type(reply) is int:
        if 0 <= reply < _SMALL:
            out.append(_INTEGERS[reply])
        elif 0 <= reply < _THOUSAND * _THOUSAND:
            out.append(_THOUSANDS[reply // _THOUSAND])
            out.append(_REST[reply % _THOUSAND])
        else:
            out.append(b":" + format_integer(reply) + CRLF)
    elif type(reply) is Simple:
        out.append(reply.encoded)
    elif reply is None:
        out.append(b"$-1\r\n" if proto < 3 else b"_\r\n")
    elif type(reply) is list or type(reply) is tuple:
        if type(reply) is list and len(reply) >= _MANY:
            encoded = encode_bulks(reply)
            if encoded is not None:
                out.append(encoded)
                return
        out.append(_array_header(len(reply)))
        _encode_items(reply, proto, out)
    elif type(reply) is Push:
        count = len(reply.items)
        if proto < 3:
            out.append(_array_header(count))
        else:
            out.append(_PUSH_HEADERS[count] if count < _SMALL else b">%d\r\n" % count)
        _encode_items(reply.items, proto, out)
    else:
        _encode_rare(reply, proto, out)


def _array_header(count: int) -> bytes:
    return _ARRAY_HEADERS[count] if count < _SMALL else b"*%d\r\n" % count


def _encode_items(items: Sequence[Reply], proto: int, out: list[bytes]) -> None:
    """The elements of an aggregate; bulk strings, the usual case, without a call or a copy each."""
    append = out.append
    for item in items:
        if type(item) is bytes:
            size = len(item)
            append(_BULK_HEADERS[size] if size < _SMALL else b"$%d\r\n" % size)
            append(item)
            append(CRLF)
        else:
            append_reply(item, proto, out)


def _encode_rare(reply: Reply, proto: int, out: list[bytes]) -> None:
    if isinstance(reply, CommandError):
        out.append(encode_error(reply))
    elif isinstance(reply, bool):
        if proto < 3:
            out.append(b":1\r\n" if reply else b":0\r\n")
        else:
            out.append(b"#t\r\n" if reply else b"#f\r\n")
    elif isinstance(reply, float):
        text = format_double(reply)
        out.append(b"$%d\r\n%b\r\n" % (len(text), text) if proto < 3 else b",%b\r\n" % text)
    elif isinstance(reply, Verbatim):
        if proto < 3:
            out.append(b"$%d\r\n%b\r\n" % (len(reply.text), reply.text))
        else:
            out.append(b"=%d\r\n%b:%b\r\n" % (len(reply.text) + 4, reply.format, reply.text))
    elif isinstance(reply, Raw):
        out.append(reply.encoded)
    elif isinstance(reply, NullArray):
        out.append(b"*-1\r\n" if proto < 3 else b"_\r\n")
    elif isinstance(reply, NoReply):
        pass
    elif isinstance(reply, Mapping):
        out.append(b"*%d\r\n" % (2 * len(reply)) if proto < 3 else b"%%%d\r\n" % len(reply))
        for key, value in reply.items():
            append_reply(key, proto, out)
            append_reply(value, proto, out)
    elif isinstance(reply, AbstractSet):
        out.append((b"*%d\r\n" if proto < 3 else b"~%d\r\n") % len(reply))
        for item in reply:
            append_reply(item, proto, out)
    elif isinstance(reply, int):
        out.append(b":%d\r\n" % reply)
    elif isinstance(reply, Sequence) and not isinstance(reply, str | bytearray | memoryview):
        out.append(_array_header(len(reply)))
        _encode_items(reply, proto, out)
    else:
        raise TypeError(f"not a reply: {type(reply).__name__}")


def encode_error(error: CommandError) -> bytes:
    """The `-` line of an error; line breaks in the text become spaces, as Redis prints them."""
    text = str(error).encode("utf-8", "surrogateescape").translate(_NO_LINE_BREAKS)
    return b"-%b\r\n" % text


def encode_command(argv: Sequence[bytes]) -> bytes:
    """A command as clients, the replication stream and AOF files carry it: an array of bulk strings."""
    if len(argv) == 3:
        first, second, third = argv
        return b"*3\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (
            len(first),
            first,
            len(second),
            second,
            len(third),
            third,
        )
    parts = [b"*%d\r\n" % len(argv)]
    for argument in argv:
        parts.append(b"$%d\r\n%b\r\n" % (len(argument), argument))
    return b"".join(parts)
