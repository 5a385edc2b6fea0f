"""DEBUG PROTOCOL's samples; their wire forms are tested with DEBUG itself."""

from __future__ import annotations

import pytest

from pyrepl.commands.node.debug_protocol import protocol_sample
from pyrepl.errors import CommandError
from pyrepl.resp.encoder import encode_reply

KINDS = [
    "string",
    "integer",
    "double",
    "bignum",
    "null",
    "array",
    "set",
    "map",
    "attrib",
    "push",
    "verbatim",
    "true",
    "false",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_that_the_error_names_exists(kind: str) -> None:
    with pytest.raises(CommandError, match="Wrong protocol type name") as refused:
        protocol_sample("nosuch", 3)
    assert kind in str(refused.value)
    assert encode_reply(protocol_sample(kind, 3), 3)


def test_types_of_resp3() -> None:
    firsts = {kind: encode_reply(protocol_sample(kind, 3), 3)[:1] for kind in KINDS}
    assert firsts == {
        "string": b"$",
        "integer": b":",
        "double": b",",
        "bignum": b"(",
        "null": b"_",
        "array": b"*",
        "set": b"~",
        "map": b"%",
        "attrib": b"|",
        "push": b">",
        "verbatim": b"=",
        "true": b"#",
        "false": b"#",
    }
