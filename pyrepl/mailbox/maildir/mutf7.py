"""Modified UTF-7: how names of mailboxes stand in IMAP, in folders' names and in `subscriptions`.

Printable ASCII stands for itself, but for "&", which is "&-". Everything else is "&", UTF-16 (big endian) in base64
with "," in place of "/" and without padding, then "-". A text has one form: what is encoded otherwise is refused, as
Dovecot refuses it. Source: RFC 3501, 5.1.3.
"""

from __future__ import annotations

import base64
import binascii
import re

from pyrepl.errors import CorruptData

_TO_ENCODE = re.compile(r"&|[^\x20-\x7e]+")
_ENCODED = re.compile(rb"&([^-]*)-")


def encode(text: str) -> bytes:
    """The bytes of a text. Raises UnicodeEncodeError for one that is no Unicode (lone surrogates)."""
    return _TO_ENCODE.sub(_encoded, text).encode("ascii")


def decode(data: bytes) -> str:
    """The text of such bytes. Raises CorruptData if they are not what `encode` makes of a text."""
    parts: list[str] = []
    at = 0
    for found in _ENCODED.finditer(data):
        parts += [_ascii(data[at : found.start()]), _decoded(found[1])]
        at = found.end()
    text = "".join([*parts, _ascii(data[at:])])
    try:
        is_canonical = encode(text) == data
    except UnicodeEncodeError:
        is_canonical = False
    if not is_canonical:
        raise CorruptData("the name of a mailbox is not in modified UTF-7", 0)
    return text


def _encoded(found: re.Match[str]) -> str:
    if found[0] == "&":
        return "&-"
    digits = base64.b64encode(found[0].encode("utf-16-be")).rstrip(b"=").replace(b"/", b",")
    return f"&{digits.decode('ascii')}-"


def _decoded(digits: bytes) -> str:
    """The text between "&" and "-"; "" for what is no text, which is found by comparing."""
    if not digits:
        return "&"
    padded = digits.replace(b",", b"/") + b"=" * (-len(digits) % 4)
    try:
        return base64.b64decode(padded, validate=True).decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _ascii(data: bytes) -> str:
    """Latin-1, in which every byte has a text: what is not ASCII is found by comparing."""
    return data.decode("latin-1")
