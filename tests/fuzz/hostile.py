"""Snapshots and payloads as somebody would write them who means harm: nearly right, wrong in a field or two.

Every size, count, offset and end mark goes through `_field` or its like, which now and then puts another number there:
so a case is broken in its structure, where bytes flipped at random mostly end at the first check. The checksum is
always right.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Final

from pyrepl.rdb.checksum import crc64
from pyrepl.rdb.lzf import compress
from pyrepl.rdb.packed.listpack import encode_back_length, encode_entry
from pyrepl.rdb.strings import encode_string

NUMBERS: Final = (
    0, 1, 2, 12, 13, 63, 64, 127, 128, 255, 256, 4095, 4096, 32767, 32768, 65534, 65535, 65536, 1 << 23, 1 << 31,
)  # fmt: skip
SIZES: Final = (0, 1, 2, 3, 10, 11, 12, 20, 21, 62, 63, 64, 65, 126, 127, 128, 253, 254, 255, 300, 1000, 4095, 4096)
EDGES: Final = (
    0, 1, 2, 5, 6, 7, 63, 64, 127, 128, 254, 255, 256, 16383, 16384, 65534, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
)  # fmt: skip
SHARES: Final = (0.0, 0.0, 0.003, 0.01, 0.03, 0.1)
VERSIONS: Final = (9, 10, 11, 12, 12, 12, 12, 13, 13)

STRING, LIST, SET, ZSET, HASH, ZSET2 = 0, 1, 2, 3, 4, 5
ZIPMAP, LIST_ZIPLIST, INTSET, ZSET_ZIPLIST, HASH_ZIPLIST, QUICKLIST, STREAM = 9, 10, 11, 12, 13, 14, 15
HASH_LISTPACK, ZSET_LISTPACK, QUICKLIST2, STREAM2, SET_LISTPACK, STREAM3 = 16, 17, 18, 19, 20, 21
HASH_TTLS, HASH_LISTPACK_TTLS, STREAM4 = 24, 25, 26
KEPT: Final = (HASH_LISTPACK, ZSET_LISTPACK, QUICKLIST2, SET_LISTPACK, INTSET)
"""What is kept packed: half of all collections are of these."""


class Hostile:
    """A seeded writer. `share` is the part of all fields that get another number."""

    def __init__(self, rng: Random, share: float | None = None) -> None:
        self.rng = rng
        self.share = rng.choice(SHARES) if share is None else share
        self._values: dict[int, Callable[[], bytes]] = {
            STRING: lambda: self.string(self.text()),
            LIST: lambda: self._counted(self.texts(), 1),
            SET: lambda: self._counted(self._unlike(), 1),
            ZSET: self._zset_of_texts,
            HASH: lambda: self._counted(self._pairs(), 2),
            ZSET2: self._zset_of_doubles,
            ZIPMAP: lambda: self.string(self.zipmap(self._pairs())),
            LIST_ZIPLIST: lambda: self.string(self.ziplist(self.texts())),
            INTSET: lambda: self.string(self.intset()),
            ZSET_ZIPLIST: lambda: self.string(self.ziplist(self._scored())),
            HASH_ZIPLIST: lambda: self.string(self.ziplist(self._pairs())),
            QUICKLIST: lambda: self._nodes(lambda: self.string(self.ziplist(self.texts()))),
            HASH_LISTPACK: lambda: self.string(self.listpack(self._pairs())),
            ZSET_LISTPACK: lambda: self.string(self.listpack(self._scored())),
            QUICKLIST2: lambda: self._nodes(self._node),
            SET_LISTPACK: lambda: self.string(self.listpack(self._unlike())),
            STREAM: lambda: self._stream(STREAM),
            STREAM2: lambda: self._stream(STREAM2),
            STREAM3: lambda: self._stream(STREAM3),
            STREAM4: lambda: self._stream(STREAM4) + self._idempotency(),
            HASH_TTLS: self._hash_with_ttls,
            HASH_LISTPACK_TTLS: self._listpack_with_ttls,
        }

    # -------------------------------------------------------------- whole things

    def snapshot(self, names: list[bytes] | None = None, kinds: dict[bytes, int] | None = None) -> bytes:
        """A file; `kinds` names the RDB types that keys are to have. Keys that are named are in database 0."""
        rng = self.rng
        version = rng.choice(VERSIONS)
        parts = [b"REDIS%04d" % version]
        if rng.random() < 0.3:
            parts.append(b"\xfa" + self.string(b"redis-ver") + self.string(self.text()))
        if rng.random() < 0.5:
            parts.append(b"\xfe" + self.length(0 if names else rng.randrange(3)))
            parts.append(b"\xfb" + self.length(self._hint()) + self.length(self._hint()))
        for name in names or [b"k%d" % at for at in range(rng.randrange(1, 8))]:
            parts.append(self.key(name, (kinds or {}).get(name)))
        parts.append(b"\xff")
        data = b"".join(parts)
        if rng.random() < 2 * self.share:
            data = self.bruised(data)
        return data + (crc64(data).to_bytes(8, "little") if rng.random() < 0.7 else bytes(8))

    def payload(self, kind: int | None = None) -> bytes:
        """What RESTORE takes."""
        kind = self.kind() if kind is None else kind
        body = bytes((kind,)) + self.value(kind)
        if self.rng.random() < 2 * self.share:
            body = self.bruised(body)
        data = body + struct.pack("<H", self.rng.choice(VERSIONS))
        return data + crc64(data).to_bytes(8, "little")

    def bruised(self, data: bytes) -> bytes:
        """Some bytes changed, taken out, put in, or the end cut off."""
        rng = self.rng
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            at = rng.randrange(len(changed) + 1)
            size = rng.choice((0, 1, 1, 2, 4))
            put = rng.choice((b"", b"\x00", b"\xff", b"\x7f", b"\x80", b"\xc3", rng.randbytes(2)))
            changed[at : at + size] = put
        if rng.random() < 0.1:
            del changed[rng.randrange(len(changed) + 1) :]
        return bytes(changed)

    def key(self, name: bytes, kind: int | None = None) -> bytes:
        """A key with what may stand before it."""
        rng = self.rng
        before = b""
        if rng.random() < 0.1:
            before += b"\xfc" + struct.pack("<q", rng.choice((0, -1, 1 << 41, 1 << 62, 4_000_000_000_000)))
        if rng.random() < 0.05:
            before += b"\xf8" + self.length(rng.choice(EDGES))
        if rng.random() < 0.05:
            before += b"\xf9" + bytes((rng.randrange(256),))
        kind = self.kind() if kind is None else kind
        return before + bytes((self._field(kind, 1),)) + self.string(name) + self.value(kind)

    def kind(self) -> int:
        return self.rng.choice(KEPT) if self.rng.random() < 0.5 else self.rng.choice(list(self._values))

    def value(self, kind: int) -> bytes:
        return self._values[kind]()

    # -------------------------------------------------------------- numbers, strings

    def _is_hit(self) -> bool:
        return self.rng.random() < self.share

    def _field(self, number: int, width: int) -> int:
        """The number, mostly, as one of `width` bytes."""
        if not self._is_hit():
            return number
        rng = self.rng
        most = (1 << 8 * width) - 1
        return rng.choice((rng.choice(EDGES), number + 1, number - 1, 2 * number, rng.randrange(most + 1))) & most

    def _hint(self) -> int:
        return self.rng.choice((0, 1, 3, 100, 65535, 1 << 20)) if self.rng.random() < 0.1 else 5

    def length(self, number: int) -> bytes:
        """In any of the forms that hold it."""
        number = self._field(number, 4)
        form = self.rng.random()
        if number < 64 and form < 0.8:
            return bytes((number,))
        if number < 16384 and form < 0.9:
            return bytes((0x40 | number >> 8, number & 255))
        if form < 0.98:
            return b"\x80" + struct.pack(">I", number)
        return b"\x81" + struct.pack(">Q", self._field(number, 8))

    def string(self, text: bytes) -> bytes:
        """Plain, as an integer, or compressed."""
        if self._is_hit():
            return self.rng.choice((b"\xc0", b"\xc1", b"\xc2", b"\xc4", b"\xff")) + text[:4]
        form = self.rng.random()
        if form < 0.3 and len(text) > 4:
            packed = compress(text)
            if packed is not None:
                if self._is_hit():
                    packed = self.bruised(packed)
                return b"\xc3" + self.length(len(packed)) + self.length(len(text)) + packed
        if form < 0.6:
            return encode_string(text)
        return self.length(len(text)) + text

    def text(self) -> bytes:
        rng = self.rng
        form = rng.random()
        if form < 0.4:
            return b"%d" % (rng.choice(NUMBERS) * rng.choice((1, -1)) + rng.randrange(3))
        if form < 0.5:
            return rng.choice((b"", b"-", b"-0", b"007", b"9" * 20, b"inf", b"nan", b"1e400", b"x\x00y"))
        if form < 0.9:
            return rng.choice((b"a", b"b", b"c", b"field", b"member"))
        return rng.choice((b"a", b"xy", b"\xff")) * rng.choice(SIZES)

    def texts(self) -> list[bytes]:
        count = self.rng.choice((0, 1, 1, 2, 2, 3, 4, 5, 8, 20, 130, 300)) if self.rng.random() < 0.97 else 1100
        return [self.text() for _ in range(count)]

    def _unlike(self) -> list[bytes]:
        texts = self.texts()
        return texts if self._is_hit() else list(dict.fromkeys(texts))

    def _pairs(self) -> list[bytes]:
        parts = [part for name in self._unlike() for part in (name, self.text())]
        return parts[:-1] if self._is_hit() else parts

    def _scored(self) -> list[bytes]:
        """Members and scores, in order unless something is wrong."""
        rng = self.rng
        some = rng.choice((2, 100, 70000))
        pairs = [(float(rng.randrange(-some, some)) / rng.choice((1, 1, 2, 8)), name) for name in self._unlike()]
        if not self._is_hit():
            pairs.sort()
        parts = [part for score, name in pairs for part in (name, self._score(score))]
        return parts[:-1] if self._is_hit() else parts

    def _score(self, score: float) -> bytes:
        if self._is_hit():
            return self.rng.choice((b"nan", b"inf", b"-inf", b"", b"1e5", b"0x10", b" 1", b"-0", b"1" * 70, b"x"))
        return b"%d" % int(score) if score == int(score) else repr(score).encode()

    # -------------------------------------------------------------- packed collections

    def listpack(self, elements: list[bytes]) -> bytes:
        body = b"".join(self._entry(element) for element in elements)
        count = min(len(elements), 65535)
        if self.rng.random() < 0.05:
            count = 65535
        head = struct.pack("<IH", self._field(7 + len(body), 4), self._field(count, 2))
        return head + body + bytes((self._field(255, 1),))

    def _entry(self, element: bytes) -> bytes:
        if not self._is_hit():
            return encode_entry(element)
        rng = self.rng
        entry = rng.choice(
            (
                bytes((0x80 | min(63, len(element)),)) + element[:63],
                bytes((0xE0 | (len(element) & 0xFFF) >> 8, len(element) & 255)) + element,
                b"\xf0" + struct.pack("<I", self._field(len(element), 4)) + element,
                b"\xf1" + rng.randbytes(2),
                b"\xf2" + rng.randbytes(3),
                b"\xf3" + rng.randbytes(4),
                b"\xf4" + rng.randbytes(8),
                bytes((0xC0 | rng.randrange(32), rng.randrange(256))),
                bytes((rng.randrange(0xF5, 0x100),)),
                encode_entry(element)[:-1],
            )
        )
        return entry + encode_back_length(self._field(len(entry), rng.choice((1, 2, 4))))

    def intset(self) -> bytes:
        rng = self.rng
        width, code = rng.choice(((2, "h"), (4, "i"), (8, "q")))
        half = 1 << (8 * width - 1)
        numbers = {
            rng.choice((rng.randrange(-half, half), rng.randrange(-5, 9))) for _ in range(rng.choice((1, 2, 9, 300)))
        }
        ordered = list(numbers) if self._is_hit() else sorted(numbers)
        head = struct.pack("<II", self._field(width, 4), self._field(len(ordered), 4))
        return head + struct.pack(f"<{len(ordered)}{code}", *ordered)

    def ziplist(self, elements: list[bytes]) -> bytes:
        body = b""
        before = 0
        last = 10
        for element in elements:
            last = 10 + len(body)
            before = self._field(before, 4 if before > 253 else 1)
            head = bytes((before,)) if before < 254 else b"\xfe" + struct.pack("<I", before)
            entry = head + self._zip_text(element)
            body += entry
            before = len(entry)
        count = self._field(min(len(elements), 65535), 2)
        sizes = struct.pack("<IIH", self._field(11 + len(body), 4), self._field(last, 4), count)
        return sizes + body + bytes((self._field(255, 1),))

    def _zip_text(self, element: bytes) -> bytes:
        if self._is_hit():
            kind = self.rng.choice((0x80, 0xC0, 0xD0, 0xE0, 0xF0, 0xF5, 0xFE, 0xFF))
            return bytes((kind,)) + self.rng.randbytes(self.rng.choice((0, 1, 2, 3, 4, 8)))
        size = self._field(len(element), 1)
        if size < 64:
            return bytes((size,)) + element
        if size < 16384:
            return bytes((0x40 | size >> 8, size & 255)) + element
        return b"\x80" + struct.pack(">I", size) + element

    def zipmap(self, parts: list[bytes]) -> bytes:
        body = b""
        for at, part in enumerate(parts):
            size = self._field(len(part), 1 if len(part) < 254 else 4)
            body += bytes((size,)) if size < 254 else b"\xfe" + struct.pack("<I", size)
            body += (bytes((self._field(0, 1),)) if at & 1 else b"") + part
        return bytes((self._field(min(len(parts) // 2, 254), 1),)) + body + bytes((self._field(255, 1),))

    # -------------------------------------------------------------- collections of parts

    def _counted(self, parts: list[bytes], step: int) -> bytes:
        return self.length(len(parts) // step) + b"".join(self.string(part) for part in parts)

    def _nodes(self, node: Callable[[], bytes]) -> bytes:
        count = self.rng.choice((1, 1, 1, 1, 2, 3))
        return self.length(count) + b"".join(node() for _ in range(count))

    def _node(self) -> bytes:
        if self.rng.random() < 0.1:
            return self.length(1) + self.string(self.text())
        return self.length(2) + self.string(self.listpack(self.texts()))

    def _zset_of_texts(self) -> bytes:
        names = self._unlike()
        parts = []
        for name in names:
            score = self._score(float(self.rng.randrange(100)))
            parts.append(self.string(name) + bytes((self._field(len(score), 1),)) + score)
        return self.length(len(names)) + b"".join(parts)

    def _zset_of_doubles(self) -> bytes:
        names = self._unlike()
        score = self.rng.choice((0.0, -0.0, 1.5, -3.0, 1e300, float("inf"), 5e-324))
        if self._is_hit():
            score = float("nan")
        return self.length(len(names)) + b"".join(self.string(name) + struct.pack("<d", score) for name in names)

    def _hash_with_ttls(self) -> bytes:
        names = self._unlike()
        fields = [
            self.length(self.rng.choice((0, 0, 1, 99))) + self.string(name) + self.string(self.text()) for name in names
        ]
        return struct.pack("<q", 4_000_000_000_000) + self.length(len(names)) + b"".join(fields)

    def _listpack_with_ttls(self) -> bytes:
        timed = sorted((self.rng.choice((0, 4_000_000_000_000, 4_000_000_000_001)), name) for name in self._unlike())
        timed.sort(key=lambda entry: (entry[0] == 0, entry[0]))
        parts = [part for at_ms, name in timed for part in (name, self.text(), b"%d" % at_ms)]
        return struct.pack("<q", 4_000_000_000_000) + self.string(
            self.listpack(parts[:-1] if self._is_hit() else parts)
        )

    def _stream(self, kind: int) -> bytes:
        rng = self.rng
        nodes = rng.choice((0, 1, 1, 2, 3))
        entries = 0
        parts = []
        for at in range(nodes):
            count = rng.choice((1, 2, 5, 40))
            entries += count
            parts.append(
                self.string(struct.pack(">QQ", 1000 * (at + 1), self._field(0, 8)))
                + self.string(self._stream_node(count))
            )
        meta = [entries, 1000 * nodes, max(0, count - 1) if nodes else 0]
        if kind >= STREAM2:
            meta += [1000, 0, 0, 0, entries]
        head = self.length(nodes) + b"".join(parts) + b"".join(self.length(number) for number in meta)
        groups = rng.choice((0, 0, 1, 2))
        return head + self.length(groups) + b"".join(self._group(kind, at) for at in range(groups))

    def _idempotency(self) -> bytes:
        """Producers, and what they added only once."""
        rng = self.rng
        producers = rng.choice((0, 0, 1, 2))
        parts = [
            self.length(rng.choice((1, 100, 86400))),
            self.length(rng.choice((1, 100, 10000))),
            self.length(producers),
        ]
        for at in range(producers):
            ids = rng.choice((0, 1, 3))
            parts += [self.string(b"producer%d" % at), self.length(ids)]
            for number in range(ids):
                parts += [self.string(b"iid%d" % number), self.length(1000), self.length(number)]
        return b"".join([*parts, self.length(rng.randrange(4)), self.length(rng.randrange(4))])

    def _stream_node(self, count: int) -> bytes:
        fields = [self.text() for _ in range(self.rng.choice((0, 1, 2)))]
        elements = [self._count(count), self._count(0), self._count(len(fields)), *fields, b"0"]
        for at in range(count):
            if self.rng.random() < 0.7:
                part = [b"2", b"0", b"%d" % at, *(self.text() for _ in fields)]
            else:
                part = [b"0", b"0", b"%d" % at, self._count(1), self.text(), self.text()]
            elements += [*part, self._count(len(part))]
        return self.listpack(elements)

    def _count(self, number: int) -> bytes:
        return b"%d" % (self._field(number, 8) if self._is_hit() else number)

    def _group(self, kind: int, at: int) -> bytes:
        rng = self.rng
        waiting = [struct.pack(">QQ", 1000, number) for number in range(rng.choice((0, 1, 3)))]
        parts = [self.string(b"group%d" % at), self.length(1000), self.length(rng.randrange(3))]
        if kind >= STREAM2:
            parts.append(self.length(rng.choice((0, 1, 5))))
        parts.append(self.length(len(waiting)))
        parts += [one + struct.pack("<q", 1_700_000_000_000) + self.length(rng.randrange(3)) for one in waiting]
        consumers = rng.choice((0, 1)) if not waiting else 1
        parts.append(self.length(consumers))
        for _ in range(consumers):
            parts.append(self.string(b"consumer") + struct.pack("<q", 1_700_000_000_000))
            if kind >= STREAM3:
                parts.append(struct.pack("<q", 1_700_000_000_000))
            parts += [self.length(len(waiting)), *waiting]
        return b"".join(parts)
