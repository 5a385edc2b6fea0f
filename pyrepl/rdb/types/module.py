"""Values of modules, which we cannot understand but step over: they are a module's id and tagged items up to an end.

| tag | item |
|---|---|
| 0 | end |
| 1, 2 | a length (signed, unsigned) |
| 3, 4 | 4 bytes, 8 bytes (float, double) |
| 5 | a string |

Type 6 (pre-release of Redis 4) has no tags, so nobody can step over it; it is refused, as Redis refuses it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_length
from pyrepl.rdb.strings import skip_string
from pyrepl.rdb.types.row import FOREVER, Decode, ValueType

MODULE_PRE_GA: Final = 6
MODULE: Final = 7

_END: Final = 0
_SIGNED: Final = 1
_UNSIGNED: Final = 2
_FLOAT: Final = 3
_DOUBLE: Final = 4
_STRING: Final = 5

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_NAME_CHARS: Final = 9
_VERSION_BITS: Final = 10


class ModuleValue(NamedTuple):
    """Stands for a value that was stepped over; `module` is the name of its type."""

    module: str


@final
class _ModuleDecoder:
    """Steps over one value, item by item. `aux` is data outside the keys: it says first when it is to be loaded."""

    __slots__ = ("aux", "module")

    def __init__(self, aux: bool) -> None:
        self.aux = aux
        self.module: str | None = None

    def decode(self, cursor: Cursor) -> object:
        if self.module is None:
            module = module_name(decode_length(cursor))
            if self.aux:
                _skip_when(cursor)
            self.module = module
            cursor.commit()
        while self._skip_item(cursor):
            cursor.commit()
        return ModuleValue(self.module)

    def _skip_item(self, cursor: Cursor) -> bool:
        """Step over an item; False at the end."""
        tag = decode_length(cursor)
        if tag == _END:
            return False
        if tag in (_SIGNED, _UNSIGNED):
            decode_length(cursor)
        elif tag == _FLOAT:
            cursor.advance(4)
        elif tag == _DOUBLE:
            cursor.advance(8)
        elif tag == _STRING:
            skip_string(cursor)
        else:
            raise Malformed(f"Unknown module opcode {tag} in data of module {self.module}")
        return True


def _skip_when(cursor: Cursor) -> None:
    tag = decode_length(cursor)
    if tag != _UNSIGNED:
        raise Malformed(f"Module aux: tag {tag} where its time of loading belongs, expected 2")
    decode_length(cursor)


def module_name(module_id: int) -> str:
    """The nine characters in the upper 54 bits of an id; the lower 10 are the version of the module's encoding."""
    bits = module_id >> _VERSION_BITS
    return "".join([_ALPHABET[bits >> shift & 63] for shift in range((_NAME_CHARS - 1) * 6, -1, -6)])


def start_aux() -> Decode:
    """The decoder of what follows the MODULE_AUX opcode."""
    return _ModuleDecoder(aux=True).decode


def _start() -> Decode:
    return _ModuleDecoder(aux=False).decode


def _refuse_pre_ga(cursor: Cursor) -> object:
    raise Malformed("Pre-release module format not supported")


def _start_pre_ga() -> Decode:
    return _refuse_pre_ga


ROWS: Final[tuple[ValueType, ...]] = (
    ValueType(MODULE_PRE_GA, "module-pre-release", 8, FOREVER, _start_pre_ga),
    ValueType(MODULE, "module-value", 8, FOREVER, _start),
)
