"""Words as text, and splitting a line into words with Redis's quoting: inline commands and redis.conf share these rules
(sdssplitargs).

Words are separated by white space. A word may be put in double quotes, with the escapes \\n \\r \\t \\b \\a \\xHH and a
backslash before any other byte for the byte itself; or in single quotes, where only \\' is an escape. A closing quote
must be followed by white space or the end.
"""

from __future__ import annotations

from typing import Final

_SPACE: Final = b" \t\n\r\x0b\x0c"
_QUOTE: Final = 0x22
_APOSTROPHE: Final = 0x27
_BACKSLASH: Final = 0x5C
_LETTER_X: Final = 0x78
_ESCAPES: Final[dict[int, int]] = {0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09, 0x62: 0x08, 0x61: 0x07}
_HEX: Final = b"0123456789abcdefABCDEF"


def to_text(word: bytes) -> str:
    """A word as str; from_text gives the same bytes back, whatever they are."""
    return word.decode("utf-8", "surrogateescape")


def from_text(text: str) -> bytes:
    """The bytes of a text made by to_text."""
    return text.encode("utf-8", "surrogateescape")


def split_words(line: bytes) -> list[bytes] | None:
    """The words of `line`, [] when it is blank, None when its quotes are unbalanced."""
    if _QUOTE not in line and _APOSTROPHE not in line:
        return line.split()
    words: list[bytes] = []
    at = 0
    end = len(line)
    while True:
        while at < end and line[at] in _SPACE:
            at += 1
        if at == end:
            return words
        word = bytearray()
        at = _read_word(line, at, word)
        if at < 0:
            return None
        words.append(bytes(word))


def _read_word(line: bytes, at: int, word: bytearray) -> int:
    """Read one word into `word`; the position after it, or -1 for unbalanced quotes."""
    end = len(line)
    while at < end and line[at] not in _SPACE:
        byte = line[at]
        if byte == _QUOTE:
            at = _read_double_quoted(line, at + 1, word)
        elif byte == _APOSTROPHE:
            at = _read_single_quoted(line, at + 1, word)
        else:
            word.append(byte)
            at += 1
            continue
        return at if at < 0 or at == end or line[at] in _SPACE else -1
    return at


def _read_double_quoted(line: bytes, at: int, word: bytearray) -> int:
    end = len(line)
    while at < end:
        byte = line[at]
        if byte == _QUOTE:
            return at + 1
        if byte != _BACKSLASH or at + 1 == end:
            word.append(byte)
            at += 1
        elif line[at + 1] == _LETTER_X and at + 3 < end and line[at + 2] in _HEX and line[at + 3] in _HEX:
            word.append(int(line[at + 2 : at + 4], 16))
            at += 4
        else:
            word.append(_ESCAPES.get(line[at + 1], line[at + 1]))
            at += 2
    return -1


def _read_single_quoted(line: bytes, at: int, word: bytearray) -> int:
    end = len(line)
    while at < end:
        byte = line[at]
        if byte == _APOSTROPHE:
            return at + 1
        if byte == _BACKSLASH and at + 1 < end and line[at + 1] == _APOSTROPHE:
            at += 1
            byte = _APOSTROPHE
        word.append(byte)
        at += 1
    return -1


def quote_word(word: bytes) -> bytes:
    """`word` in double quotes so that split_words gives it back, printable ASCII as it is (Redis's sdscatrepr)."""
    out = bytearray(b'"')
    for byte in word:
        if byte in (_QUOTE, _BACKSLASH):
            out += bytes((_BACKSLASH, byte))
        elif byte in _NAMED:
            out += _NAMED[byte]
        elif 0x20 <= byte < 0x7F:
            out.append(byte)
        else:
            out += b"\\x%02x" % byte
    out += b'"'
    return bytes(out)


_NAMED: Final[dict[int, bytes]] = {0x0A: b"\\n", 0x0D: b"\\r", 0x09: b"\\t", 0x07: b"\\a", 0x08: b"\\b"}
