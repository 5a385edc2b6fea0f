"""Kinds of value that only the rows about TLS have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.config.kinds import Kind
from pyrepl.errors import ConfigError
from pyrepl.words import to_text

TLS_VERSIONS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
"""In their order."""

_FIELDS: Final = {"off": "off", "cn": "CN", "uri": "URI"}


@final
class CertificateField(Kind[str]):
    """`off`, or the field of a certificate that names a user; in any case."""

    def parse(self, words: Sequence[bytes], current: str) -> str:
        field = _FIELDS.get(to_text(words[0]).lower()) if len(words) == 1 else None
        if field is None:
            raise ConfigError("argument(s) must be one of the following: " + ", ".join(_FIELDS.values()))
        return field

    def text(self, value: str) -> bytes:
        return value.encode()


@final
class TlsProtocols(Kind[tuple[str, ...]]):
    """Versions of TLS, in any case and order; kept in their order, each once. None means the default."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[str, ...]) -> tuple[str, ...]:
        given = {to_text(word).lower() for word in words if word}
        known = {version.lower() for version in TLS_VERSIONS}
        if not given <= known:
            raise ConfigError("Invalid tls-protocols specified; expected some of " + ", ".join(TLS_VERSIONS))
        return tuple(version for version in TLS_VERSIONS if version.lower() in given)

    def text(self, value: tuple[str, ...]) -> bytes:
        return " ".join(value).encode()

    def lines(self, value: tuple[str, ...]) -> list[list[bytes]]:
        return [[self.text(value)]] if value else []
