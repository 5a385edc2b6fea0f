"""The row that describes one encoding of a type. The rows stand in the files of the types; table.py gathers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, final

from pyrepl.errors import PyreplError
from pyrepl.rdb import lzf
from pyrepl.rdb.cursor import Cursor
from pyrepl.rdb.settings import DEFAULT_PACKING, PackingSettings
from pyrepl.rdb.strings import encode_compressed, encode_string
from pyrepl.rdb.versions import DEFAULT_VERSION, Version, VersionSet

Decode: TypeAlias = Callable[[Cursor], object]
"""Decodes one value. Raises Malformed or ShortInput. After ShortInput the reader calls it again when the cursor holds
more bytes: it remembers what it has decoded up to the cursor's mark, and goes on from there."""


class ValueType(NamedTuple):
    """A type byte: Redis's name for it (redis-check-rdb), the versions that have it, and its decoder.

    `start` is called once per value and gives its Decode.
    """

    number: int
    name: str
    versions: VersionSet
    start: Callable[[], Decode]


@final
class CannotHold(PyreplError):
    """The RDB version that was asked for has no place for this value; the text names version and value."""


@final
class Form:
    """The form in which values are written: the version, the limits of the packed encodings, with LZF or without.

    `text` encodes one string. LZF needs the native module: in pure Python it would slow a snapshot a hundredfold.
    """

    __slots__ = ("packing", "text", "version")

    def __init__(
        self,
        version: Version = DEFAULT_VERSION,
        compress: bool = False,
        packing: PackingSettings = DEFAULT_PACKING,
    ) -> None:
        self.version = version
        self.packing = packing
        self.text: Callable[[bytes], bytes] = (
            encode_compressed if compress and lzf.COMPRESSOR_IS_NATIVE else encode_string
        )


Encoded: TypeAlias = tuple[int, bytes]
"""(type byte, the value's bytes)."""
