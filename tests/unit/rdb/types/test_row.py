"""How values are to be written: LZF only where it is asked for and affordable."""

from __future__ import annotations

from pyrepl.errors import PyreplError
from pyrepl.rdb.lzf import COMPRESSOR_IS_NATIVE
from pyrepl.rdb.strings import encode_compressed, encode_string
from pyrepl.rdb.types.row import CannotHold, Form
from pyrepl.rdb.versions import DEFAULT_VERSION, numbered


def test_form() -> None:
    assert Form().version == DEFAULT_VERSION
    assert Form().text is encode_string
    assert Form(numbered(10), compress=True).text is (encode_compressed if COMPRESSOR_IS_NATIVE else encode_string)


def test_what_cannot_be_held_is_an_error_of_ours() -> None:
    assert issubclass(CannotHold, PyreplError)
