"""A wire that carries the bytes encrypted, by OpenSSL. Hot: a thin layer over Python's ssl."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, final

from pyrepl.daemon.wires.tls_reasons import why_session_failed
from pyrepl.daemon.wires.wire import Wire

_RECORD_BYTES: Final = 16_384
"""The most that one record of TLS carries. OpenSSL takes one record from the kernel at a time, so that nothing stays
behind in it when so many bytes are asked for."""
_GATHERED_BYTES: Final = 4 * _RECORD_BYTES
_FILE_BYTES: Final = 16 * _RECORD_BYTES


@final
class TlsWire(Wire):
    """A socket whose handshake is over.

    A record that the kernel does not take whole is encrypted all the same, and has to go out before anything else. So
    it waits in `_record`, and its bytes count as not taken: the next bytes to be sent must begin with them, as they do
    with whoever goes on where the wire stopped.
    """

    __slots__ = ("_explain", "_record", "_session")

    def __init__(self, sock: ssl.SSLSocket, explain: Callable[[OSError], str]) -> None:
        """`explain` says why TLS failed, in a sentence."""
        super().__init__(sock, is_plain=False)
        self._session = sock
        self._explain = explain
        self._record: bytes | memoryview = b""

    def receive(self, size: int) -> bytes | None:
        """See `Wire.receive`. A record that is not full is the last one for this time: what follows wakes the poller
        again, and an attempt that finds nothing would cost more than a read."""
        first = self._receive_record()
        if first is None or len(first) < _RECORD_BYTES or size <= _RECORD_BYTES:
            return first
        pieces = [first]
        left = size - len(first)
        while left > 0:
            try:
                piece = self._receive_record()
            except OSError:
                # What has come so far is whole; the next call meets the error again.
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
            if len(piece) < _RECORD_BYTES:
                break
        return b"".join(pieces)

    def receive_whole(self, rest: bytes, size: int, whole_bytes: Callable[[bytes], int]) -> tuple[bytes, bytes] | None:
        data = self.receive(size)
        if data is None:
            return None
        if not data:
            return b"", b""
        if rest:
            data = rest + data
        cut = whole_bytes(data)
        if cut == len(data):
            return data, b""
        return data[:cut], data[cut:]

    def send(self, data: bytes | memoryview) -> int:
        size = len(data)
        if size <= _RECORD_BYTES and not self._record:
            return self._send_record(data)
        sent = 0
        view = memoryview(data)
        while sent < size:
            taken = self._send_record(self._record or view[sent : sent + _RECORD_BYTES])
            if taken == 0:
                break
            sent += taken
        return sent

    def send_pieces(self, pieces: Sequence[bytes | memoryview]) -> int:
        """See `Wire.send_pieces`. Small pieces share a record, as each record costs a call of the kernel and some 22
        bytes."""
        if len(pieces) == 1:
            return self.send(pieces[0])
        gathered: list[bytes | memoryview] = []
        size = 0
        for piece in pieces:
            if size + len(piece) > _GATHERED_BYTES:
                gathered.append(memoryview(piece)[: _GATHERED_BYTES - size])
                break
            gathered.append(piece)
            size += len(piece)
        return self.send(b"".join(gathered))

    def send_file(self, file_fd: int, offset: int, count: int) -> int:
        data = os.pread(file_fd, min(count, _FILE_BYTES), offset)
        if not data:
            raise OSError("the file ends too early")
        return self.send(data)

    def certified(self, field: str) -> list[bytes]:
        certificate: Mapping[str, Any] = self._session.getpeercert() or {}
        pairs: Iterable[tuple[str, str]] = certificate.get("subjectAltName", ())
        if field == "CN":
            pairs, field = [pair for names in certificate.get("subject", ()) for pair in names], "commonName"
        return [text.encode() for name, text in pairs if name == field]

    def close(self) -> None:
        if self.fd >= 0:
            # The alert close_notify, as far as it can go out at once. ValueError: there is no session any more.
            with suppress(OSError, ValueError):
                self._session.unwrap()
            super().close()

    def _receive_record(self) -> bytes | None:
        try:
            data: bytes = self._session.read(_RECORD_BYTES)
        except ssl.SSLWantReadError:
            self.receives_when_writable = False
            return None
        except ssl.SSLWantWriteError:
            self.receives_when_writable = True
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError, BrokenPipeError):
            # A broken pipe: OpenSSL had an answer to send, to a peer that has gone.
            return b""
        except ssl.SSLError as error:
            raise ConnectionError(why_session_failed(error, self._explain)) from None
        self.receives_when_writable = False
        return data

    def _send_record(self, record: bytes | memoryview) -> int:
        """Send a record whole, or keep it and return 0."""
        try:
            self._session.send(record)
        except ssl.SSLWantWriteError:
            self._record = record
            self.sends_when_readable = False
            return 0
        except ssl.SSLWantReadError:
            self._record = record
            self.sends_when_readable = True
            return 0
        except OSError as error:
            raise ConnectionError(self._why_closed(error)) from None
        self._record = b""
        self.sends_when_readable = False
        return len(record)

    def _why_closed(self, error: OSError) -> str:
        """Why nothing can be sent any more. A peer that does not like our certificate says so and closes, and a server
        does it behind the handshake of TLS 1.3: then we may send before we have read what it said."""
        try:
            self._session.read(_RECORD_BYTES)
        except ssl.SSLError as told:
            if told.reason:
                return self._explain(told)
        except OSError:
            """The first error says more."""
        return self._explain(error)
