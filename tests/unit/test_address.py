"""Where a node is, as it is written and shown."""

from __future__ import annotations

import pytest

from pyrepl.address import Address


def test_addresses() -> None:
    assert Address.parse("[::1]:7379") == Address("::1", 7379)
    assert str(Address("::1", 7379)) == "[::1]:7379"
    assert str(Address.parse("a.b:1")) == "a.b:1"


@pytest.mark.parametrize("text", ["h", "h:", ":1", "h:0", "h:65536", "h:-1", "h:1x", "h:١"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT, for example"):
        Address.parse(text)
