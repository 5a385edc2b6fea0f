"""Strings as values."""

from __future__ import annotations

from pyrepl.rdb.lzf import COMPRESSOR_IS_NATIVE
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.string import encode_text
from pyrepl.rdb.versions import numbered


def test_the_form_decides_about_compression() -> None:
    assert encode_text(b"12", Form(numbered(1))) == (0, b"\xc0\x0c")
    assert encode_text(b"a" * 50, Form(numbered(10))) == (0, b"\x32" + b"a" * 50)
    kind, body = encode_text(b"a" * 50, Form(numbered(10), compress=True))
    assert kind == 0
    assert (body[0] == 0xC3) == COMPRESSOR_IS_NATIVE
