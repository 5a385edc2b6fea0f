"""Values of modules: a module's id, then tagged items to an end (items.py).

Vector sets are understood (vectorset.py). Others we cannot understand, but we can step over them.

What modules keep of a key beside its value (Redis 8.6) is stepped over too: it has the same items, behind the class's
id in 4 bytes, least significant first, whose upper 24 bits are four characters.

Type 6 (pre-release of Redis 4) has no tags, so nobody can step over it; it is refused, as Redis refuses it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple, final

from pyrepl.rdb.cursor import Cursor, Malformed
from pyrepl.rdb.length import decode_length
from pyrepl.rdb.strings import skip_string
from pyrepl.rdb.types.items import DOUBLE, END, FLOAT, SIGNED, STRING, UNSIGNED
from pyrepl.rdb.types.row import Decode, ValueType
from pyrepl.rdb.types.vectorset import MODULE, MODULE_ID, VectorSetDecoder
from pyrepl.rdb.versions import both

MODULE_PRE_GA: Final = 6

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_NAME_CHARS: Final = 9
_VERSION_BITS: Final = 10
_CLASS_VERSION_BITS: Final = 8
_MAX_CLASSES: Final = 7
"""The most classes of metadata that a key may have, as in Redis 8.6 (KEY_META_MAX_NUM_MODULES)."""
_NONE_YET: Final = -1
_U32_LE: Final = Struct("<I")


class ModuleValue(NamedTuple):
    """Stands for a value that was stepped over; `module` is the name of its type."""

    module: str


class KeyMetadata(NamedTuple):
    """Stands for metadata of a key that was stepped over; `classes` are the names of their classes."""

    classes: tuple[str, ...]


@final
class _ModuleDecoder:
    """Steps over one value, item by item. `aux`: the bytes are data outside the keys, which say first when the
    module has to load them. `known` decodes the value, if it is of a module that we understand."""

    __slots__ = ("aux", "known", "module")

    def __init__(self, aux: bool) -> None:
        self.aux = aux
        self.module: str | None = None
        self.known: Decode | None = None

    def decode(self, cursor: Cursor) -> object:
        if self.module is None:
            module_id = decode_length(cursor)
            if self.aux:
                _skip_when(cursor)
            elif module_id == MODULE_ID:
                self.known = VectorSetDecoder().decode
            self.module = module_name(module_id)
            cursor.commit()
        if self.known is not None:
            return self.known(cursor)
        while self._skip_item(cursor):
            cursor.commit()
        return ModuleValue(self.module)

    def _skip_item(self, cursor: Cursor) -> bool:
        """Step over an item; False at the end."""
        tag = decode_length(cursor)
        if tag == END:
            return False
        if tag in (SIGNED, UNSIGNED):
            decode_length(cursor)
        elif tag == FLOAT:
            cursor.advance(4)
        elif tag == DOUBLE:
            cursor.advance(8)
        elif tag == STRING:
            skip_string(cursor)
        else:
            raise Malformed(f"Unknown module opcode {tag} in data of module {self.module}")
        return True


@final
class _KeyMetaDecoder:
    """Steps over the metadata of one key, class by class; gives the classes' names."""

    __slots__ = ("left", "names", "within")

    def __init__(self) -> None:
        self.left = _NONE_YET
        self.names: list[str] = []
        self.within: _ModuleDecoder | None = None

    def decode(self, cursor: Cursor) -> object:
        if self.left == _NONE_YET:
            left = decode_length(cursor)
            if left > _MAX_CLASSES:
                raise Malformed(f"Too many metadata classes: {left} (max {_MAX_CLASSES})")
            self.left = left
            cursor.commit()
        while self.left:
            if self.within is None:
                name = class_name(_U32_LE.unpack(cursor.take(_U32_LE.size))[0])
                self.within = _ModuleDecoder(aux=False)
                self.within.module = name
                self.names.append(name)
                cursor.commit()
            self.within.decode(cursor)
            cursor.commit()
            self.within = None
            self.left -= 1
        return KeyMetadata(tuple(self.names))


def _skip_when(cursor: Cursor) -> None:
    tag = decode_length(cursor)
    if tag != UNSIGNED:
        raise Malformed(f"Module aux: tag {tag} where its time of loading belongs, expected 2")
    decode_length(cursor)


def module_name(module_id: int) -> str:
    """The nine characters in the upper 54 bits of an id; the lower 10 are the version of the module's encoding."""
    bits = module_id >> _VERSION_BITS
    return "".join([_ALPHABET[bits >> shift & 63] for shift in range((_NAME_CHARS - 1) * 6, -1, -6)])


def class_name(class_id: int) -> str:
    """The four characters in the upper 24 bits of a metadata class's id; the lower 8 are its version and flags."""
    bits = class_id >> _CLASS_VERSION_BITS
    return "".join([_ALPHABET[bits >> shift & 63] for shift in (18, 12, 6, 0)])


def start_key_meta() -> Decode:
    """The decoder of what follows the KEY_META opcode."""
    return _KeyMetaDecoder().decode


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
    ValueType(MODULE_PRE_GA, "module-pre-release", both(8), _start_pre_ga),
    ValueType(MODULE, "module-value", both(8), _start),
)
