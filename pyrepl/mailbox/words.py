"""The words of the mailbox protocol: text on the wire <-> plain values, each kind with its bounds.

Not here: which verb has which words (verbs.py), and lines (codec.py).

A word is UTF-8 without space, control characters and `%`; any byte may stand as `%` and two hexadecimal digits. The
empty word is `""`. Items of a list are joined by commas, so a comma in an item is escaped, as is `=` at the place of a
word that has no key, `#` at the beginning of a mailbox's name, and `{` at the beginning of the last word.

Everything raises PeerError that names what was expected and what came.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from pyrepl.errors import PeerError

LAST_UID: Final = 2**32 - 2
LAST_MODSEQ: Final = 2**63 - 1
INBOX: Final = "INBOX"
APART: Final = -1
"""The term of what was done without a lease; it is below every term of a master."""
MOST_NAME_BYTES: Final = 1024
MOST_GUID_BYTES: Final = 128
EMPTY: Final = '""'
FLOOR: Final = "*"
"""In place of a flag: all of a message's flags were written at this stamp. No keyword is called so."""
NO_FLAGS: Final = "()"
"""In place of flags where there are none. No keyword is called so."""

_ORIGIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,32}(~[0-9]{1,9})?")
_BOX_GUID: Final = re.compile(r"[0-9a-f]{32}")
_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SHOWN: Final = 64
_SAFE: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '%,=#{@"')
"""What never needs an escape."""


class Box(NamedTuple):
    """A mailbox as a command names it: by its name, or by its GUID of 32 hexadecimal digits."""

    text: str
    is_guid: bool = False


class Dot(NamedTuple):
    """One op: the node that made it, and its number there, from 1 without holes."""

    origin: str
    seq: int


class Token(NamedTuple):
    """The fencing token of a mastership. Tokens are compared as they stand; `term` may be APART."""

    epoch: int
    term: int


class Stamp(NamedTuple):
    """When and where a register was written; the higher one stands."""

    modseq: int
    node: str


class Register(NamedTuple):
    """One flag of one message: whether it is set, and since which stamp."""

    flag: str
    is_set: bool
    stamp: Stamp


Vector: TypeAlias = tuple[Dot, ...]
"""One dot an origin, ascending by origin: each op of it up to seq, inclusive, is meant."""
Uids: TypeAlias = tuple[tuple[int, int], ...]
"""Ranges (first, last), both inclusive, ascending; a range is a claim and is never walked as it stands."""
Registers: TypeAlias = tuple[Register, ...]
Texts: TypeAlias = tuple[str, ...]


def escape(text: str) -> str:
    """`text` as a word, an item of a list, or a value."""
    return EMPTY if not text else quote(text, safe=_SAFE)


def unescape(word: str) -> str:
    """The text of a word."""
    if word == EMPTY:
        return ""
    if "%" not in word:
        return word
    if _PERCENT.search(word):
        raise _unexpected("two hexadecimal digits behind each %", word)
    try:
        return unquote_to_bytes(word).decode()
    except UnicodeDecodeError:
        raise _unexpected("UTF-8", word) from None


def _unexpected(expected: str, word: str) -> PeerError:
    cut = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..."
    return PeerError(f"expected {expected}, got {cut!r}")


def number(word: str, least: int, most: int, what: str) -> int:
    """A decimal number from `least` to `most`, both inclusive; nothing else that int() takes."""
    if not (word.isascii() and word.isdigit() and len(word) <= 20) or not least <= int(word) <= most:
        raise _unexpected(f"{what} from {least} to {most}", word)
    return int(word)


def numbers(least: int, most: int, what: str) -> Callable[[str], int]:
    """The reader of such numbers."""
    return lambda word: number(word, least, most, what)


def parse_origin(word: str) -> str:
    """The name of a node: letters, digits, `_`, `-`, `.`; perhaps with the number of its database, `~` and digits."""
    if not _ORIGIN.fullmatch(word):
        raise _unexpected("the name of a node", word)
    return word


def node_of(origin: str) -> str:
    """The node whose name this is in dots."""
    return origin.partition("~")[0]


def parse_user(word: str) -> str:
    """The name of a user: not empty, no control characters, no `/`, not `.` or `..`: it is a part of a path."""
    text = unescape(word)
    if not text or len(text) > 255 or "/" in text or text in (".", "..") or _has_control(text):
        raise _unexpected("the name of a user", word)
    return text


WHY_HIDDEN: Final = "a user whose name begins with a dot, or whose domain does, would have a folder of this node's own"
"""As `.pyrepl-drop` beside the Maildirs, of which nothing is kept."""


def is_hidden(user: str) -> bool:
    """Would a folder of this user's be a hidden one? Such users have no mail on nodes that keep Maildirs. Other nodes
    may say such a name all the same: an old one of them let it pass, and its link is not to end by that."""
    return user.startswith(".") or "@." in user


def parse_guid(word: str) -> str:
    """The GUID of a message: a name of a file, or what another store gave it."""
    text = unescape(word)
    if not is_guid(text):
        raise _unexpected(f"the GUID of a message, at most {MOST_GUID_BYTES} bytes", word)
    return text


def is_guid(text: str) -> bool:
    """May a message have this GUID? `text` may be made of bytes that are no UTF-8 (to_text)."""
    is_bad = not text or "/" in text or text.startswith(".") or _has_control(text)
    return not is_bad and len(text.encode()) <= MOST_GUID_BYTES


def _has_control(text: str) -> bool:
    """Are there control characters in it, or bytes that are no UTF-8?"""
    # What is printable has none, which is soon seen.
    return not text.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in text)


def box_name(text: str) -> str:
    """A mailbox's name as it is compared: NFC, `INBOX` in upper case. PeerError if it could lead out of a folder."""
    name = unicodedata.normalize("NFC", text)
    if len(name.encode()) > MOST_NAME_BYTES:
        raise _unexpected(f"a mailbox's name of at most {MOST_NAME_BYTES} bytes", name)
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or name.startswith("~") or _has_control(name):
        raise _unexpected("a mailbox's name without empty parts, `.`, `..`, a leading `~`, control characters", name)
    return "/".join([INBOX if is_inbox(parts[0]) else parts[0], *parts[1:]])


def is_inbox(part: str) -> bool:
    """Is it INBOX, in small letters or capitals? Some letters beyond ASCII have capitals within it: they are others."""
    return part.isascii() and part.upper() == INBOX


def parse_box(word: str) -> Box:
    """A mailbox's name, or `#` and its GUID."""
    if word.startswith("#"):
        return Box(parse_box_guid(word[1:]), True)
    return Box(box_name(unescape(word)))


def render_box(box: Box) -> str:
    return f"#{box.text}" if box.is_guid else escape(box.text)


def parse_box_guid(word: str) -> str:
    if not _BOX_GUID.fullmatch(word):
        raise _unexpected("a mailbox's GUID, 32 hexadecimal digits", word)
    return word


def parse_dot(word: str) -> Dot:
    origin, colon, seq = word.rpartition(":")
    if not colon:
        raise _unexpected("<node>:<seq>", word)
    return Dot(parse_origin(origin), number(seq, 0, LAST_MODSEQ, "the number of an op"))


def render_dot(dot: Dot) -> str:
    return f"{dot.origin}:{dot.seq}"


def parse_vector(word: str) -> Vector:
    dots = tuple(sorted(map(parse_dot, split_list(word))))
    if len({dot.origin for dot in dots}) < len(dots):
        raise _unexpected("a vector with one number a node", word)
    return dots


def parse_token(word: str) -> Token:
    epoch, _, term = word.partition(".")
    last = APART if term == "apart" else number(term, 0, LAST_MODSEQ, "a term")
    return Token(number(epoch, 0, LAST_MODSEQ, "an epoch"), last)


def render_token(token: Token) -> str:
    return f"{token.epoch}.{'apart' if token.term == APART else token.term}"


def parse_stamp(word: str) -> Stamp:
    modseq, _, node = word.partition(".")
    return Stamp(number(modseq, 0, LAST_MODSEQ, "a modseq"), parse_origin(node))


def render_stamp(stamp: Stamp) -> str:
    return f"{stamp.modseq}.{stamp.node}"


def parse_uids(word: str) -> Uids:
    ranges: list[tuple[int, int]] = []
    for item in split_list(word):
        first, colon, last = item.partition(":")
        low = number(first, 1, LAST_UID, "a UID")
        high = number(last, low, LAST_UID, "a UID") if colon else low
        if ranges and low <= ranges[-1][1]:
            raise _unexpected("ascending UIDs", word)
        ranges.append((low, high))
    return tuple(ranges)


def render_uids(uids: Uids) -> str:
    return join_list(str(first) if first == last else f"{first}:{last}" for first, last in uids)


def parse_flag(word: str) -> str:
    """`\\Seen` and its like, or a keyword; never `\\Recent`, which is a session's own."""
    text = unescape(word)
    if text.startswith("\\"):
        known = SYSTEM_FLAGS.get(text[1:].lower())
        if known is None:
            raise _unexpected(f"one of {', '.join(SYSTEM_FLAGS.values())}, or a keyword", word)
        return known
    if not is_keyword(text):
        raise _unexpected("a keyword", word)
    return text


def is_keyword(text: str) -> bool:
    """Can nodes tell each other this keyword? `text` may be made of bytes that are no UTF-8 (to_text)."""
    is_bad = not text or text in (FLOOR, NO_FLAGS) or text.startswith("\\") or len(text) > 255 or " " in text
    return not is_bad and not _has_control(text)


SYSTEM_FLAGS: Final = {name.lower(): f"\\{name}" for name in ("Seen", "Answered", "Flagged", "Deleted", "Draft")}


def parse_flags(word: str) -> Texts:
    return () if word == NO_FLAGS else tuple(map(parse_flag, split_list(word)))


def render_flags(flags: Texts) -> str:
    return join_list(map(escape, flags)) if flags else NO_FLAGS


def parse_register(word: str) -> Register:
    """`+flag@stamp` for one that is set, `-flag@stamp` for one that is not."""
    flag, at, stamp = word[1:].partition("@")
    if word[:1] not in ("+", "-") or not at:
        raise _unexpected("+flag@stamp or -flag@stamp", word)
    name = FLOOR if flag == FLOOR else parse_flag(flag)
    return Register(name, word[0] == "+", parse_stamp(stamp))


def render_register(register: Register) -> str:
    return f"{'+' if register.is_set else '-'}{escape(register.flag)}@{render_stamp(register.stamp)}"


def parse_sum(word: str) -> int:
    if not re.fullmatch(r"[0-9a-f]{8}", word):
        raise _unexpected("a CRC32C, 8 hexadecimal digits", word)
    return int(word, 16)


def split_list(word: str) -> list[str]:
    """The items of a list, still escaped; none for the empty word."""
    return [] if word == EMPTY else word.split(",")


def join_list(items: Iterable[str]) -> str:
    return ",".join(items) or EMPTY


def listed(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """The reader of a list of what `parse` reads."""
    return lambda word: tuple(map(parse, split_list(word)))


def count(uids: Uids) -> int:
    """How many UIDs the ranges hold, without walking them."""
    return sum(last - first + 1 for first, last in uids)


def is_among(uid: int, uids: Uids) -> bool:
    """Is a UID in one of the ranges, however many they are?"""
    place = bisect_right(uids, uid, key=itemgetter(0))
    return place > 0 and uid <= uids[place - 1][1]


def walk(uids: Uids, most: int) -> list[int]:
    """Each UID of the ranges. PeerError if there are more than `most`: no bound comes from the ranges."""
    if count(uids) > most:
        raise PeerError(f"expected at most {most} UIDs, got {count(uids)}")
    return [uid for first, last in uids for uid in range(first, last + 1)]


def ranges(uids: Iterable[int]) -> Uids:
    """Ascending single UIDs as ranges."""
    found: list[tuple[int, int]] = []
    for uid in uids:
        if found and uid == found[-1][1] + 1:
            found[-1] = (found[-1][0], uid)
        else:
            found.append((uid, uid))
    return tuple(found)
