"""Passwords: how users keep them, and how they are compared."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final

_HASH: Final = re.compile(rb"[0-9a-f]{64}")


def hashed(password: bytes) -> bytes:
    """SHA-256 in 64 small hexadecimal digits, as users keep their passwords (Redis 6)."""
    return hashlib.sha256(password).hexdigest().encode()


def is_hash(word: bytes) -> bool:
    """Has the word the form of what `hashed` gives?"""
    return _HASH.fullmatch(word) is not None


def is_one_of(password: bytes, hashes: Iterable[bytes]) -> bool:
    """Is a password among those of which these are the hashes? It is compared with all of them, whichever fits, and
    how long that takes tells nothing about them."""
    digest = hashed(password)
    found = False
    for kept in hashes:
        found |= hmac.compare_digest(digest, kept)
    return found
