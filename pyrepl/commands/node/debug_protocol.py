"""DEBUG PROTOCOL: one sample reply of each type of the protocol, for the tests of client libraries.

The contents are those that Redis 7.0 sends, as such tests compare them.
"""

from __future__ import annotations

from typing import Final

from pyrepl.errors import CommandError
from pyrepl.resp.encoder import encode_reply
from pyrepl.resp.reply import Push, Raw, Reply, Verbatim

BIG_NUMBER: Final = b"1234567999999999999999999999999999999"
_SAMPLES: Final[dict[str, Reply]] = {
    "string": b"Hello World",
    "integer": 12345,
    "double": 3.141,
    "null": None,
    "array": [0, 1, 2],
    "set": (0, 1, 2),
    "map": {0: False, 1: True, 2: False},
    "verbatim": Verbatim(b"This is a verbatim\nstring"),
    "true": True,
    "false": False,
}
_KINDS: Final = "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"


def protocol_sample(kind: str, proto: int) -> Reply:
    """The sample of the type `kind`, in lower case. `proto` is 2 or 3.

    A type that RESP2 does not have is sent as the nearest one. Raises CommandError for an unknown type, and for a push
    in RESP2, for which there is none.
    """
    if kind == "set" and proto == 3:
        return Raw(b"~3\r\n:0\r\n:1\r\n:2\r\n")
    if kind in _SAMPLES:
        return _SAMPLES[kind]
    if kind == "bignum":
        return BIG_NUMBER if proto == 2 else Raw(b"(" + BIG_NUMBER + b"\r\n")
    if kind == "attrib":
        reply = encode_reply(b"Some real reply following the attribute", proto)
        return Raw(reply if proto == 2 else b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n" + reply)
    if kind == "push":
        if proto == 2:
            raise CommandError("ERR RESP2 is not supported by this command")
        push = encode_reply(Push([b"server-cpu-usage", 42]), proto)
        return Raw(push + encode_reply(b"Some real reply following the push reply", proto))
    raise CommandError(f"ERR Wrong protocol type name. Please use one of the following: {_KINDS}")
