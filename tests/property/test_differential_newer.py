"""Random conversations in the words that Redis 8.4 and 8.6 brought, pyrepl against Redis 8.6: conditions on strings,
several keys with one time to live, messages that are added only once. Replies, numbers of changes, digests and what is
propagated are the same.

Ids that a server chooses are the same on both sides, as each stream begins with an entry far in the future.

Left out, as Redis 8.6.3 has defects there: SET with GET and a digest that cannot be one (it answers twice), GET as the
value of a condition beside the option GET (it propagates neither), MSETEX with two spans (it propagates both); and SET
with PXAT beside other options, which pyrepl propagates without them, as Redis 7.0 does.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

KEYS = ("a", "b", "c", "d")
TEXTS: tuple[bytes, ...] = (b"", b"x", b"hello", b"17", b"-1", b"a\x00b\xff", b"y" * 300)
DIGESTS = ("2d06800538d394c2", "D447B1EA40E6988B", "0" * 16, "2d06800538d394c", "g" * 16, "", "x")
FAR_S = 4_000_000_000
FIRST_MS = 9_000_000_000_000


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis86")) as duel:
        yield duel


def condition(rng: Random) -> tuple[str | bytes, ...]:
    word = rng.choice(("IFEQ", "IFNE", "ifeq", "IFDEQ", "ifdne"))
    if "D" in word.upper().removeprefix("IF"):
        return word, rng.choice(DIGESTS)
    return word, rng.choice(TEXTS)


def expiry(rng: Random) -> tuple[str | int, ...]:
    return rng.choice(
        (("EX", 5000), ("px", 5_000_000), ("EXAT", FAR_S), ("PXAT", FAR_S * 1000), ("KEEPTTL",), ("EX", 0), ("EX", "x"))
    )


def strings(rng: Random) -> Iterator[Words]:
    while True:
        key, text = rng.choice(KEYS), rng.choice(TEXTS)
        yield rng.choice(
            (
                ("SET", key, text),
                ("SET", key, text, "EX", 1000),
                ("RPUSH", key, "x"),
                ("TTL", key),
                ("DIGEST", key),
                *(("SET", key, text, *set_options(rng)),) * 4,
                *(msetex(rng),) * 3,
                *(("DELEX", key, *(condition(rng) if rng.random() < 0.8 else ())),) * 3,
                ("DELEX", key, rng.choice(("IFXX", "IFEQ")), text, *(("x",) if rng.random() < 0.3 else ())),
            )
        )


def set_options(rng: Random) -> list[str | bytes | int]:
    options: list[str | bytes | int] = []
    stated: tuple[str | bytes, ...] = condition(rng) if rng.random() < 0.7 else ()
    options += stated
    if rng.random() < 0.4:
        options += [word for word in expiry(rng) if word not in ("PXAT", FAR_S * 1000)]
    if rng.random() < 0.1:
        options.append(rng.choice(("NX", "XX", "IFEQ", "foo", "EX")))
    if rng.random() < 0.3 and not (stated and stated[1] in DIGESTS[3:]):
        options.insert(0, "GET")
    return options


def msetex(rng: Random) -> Words:
    pairs = [word for _ in range(rng.randrange(1, 4)) for word in (rng.choice(KEYS), rng.choice(TEXTS))]
    count = rng.choice((*(len(pairs) // 2,) * 9, 0, -1, 5, 2, "x", 2**31, 2**63))
    options = [*rng.choice(((), ("NX",), ("xx",), ("NX", "XX"), ("GET",), ("IFEQ", "x")))]
    span = expiry(rng) if rng.random() < 0.5 else ()
    return ("MSETEX", count, *pairs, *((*span, *options) if rng.random() < 0.5 else (*options, *span)))


def messages(rng: Random) -> Iterator[Words]:
    for key in ("s", "t"):
        yield "XADD", key, f"{FIRST_MS}-0", "f", "v"
    yield "SET", "text", "x"
    while True:
        key = rng.choice(("s", "s", "s", "t", "text", "none"))
        producer, iid = rng.choice(("p", "p", "q", "")), rng.choice(("1", "2", "3", "4", "5", ""))
        fields = rng.choice((("f", "v"), ("f", "v", "g", "w"), ("g", "w", "f", "v"), ("f", "v", "f", "v"), ("f",)))
        option = rng.choice((("IDMP", producer, iid), ("idmpauto", producer)))
        entry_id = rng.choice(("*",) * 12 + (f"{FIRST_MS}-*", f"{FIRST_MS}-1", f"{FIRST_MS + 1}-0", "x"))
        others = rng.choice(
            ((),) * 6 + (("MAXLEN", "5"), ("NOMKSTREAM",), ("IDMP", "p", "1"), ("MINID", str(FIRST_MS)))
        )
        words = [*option, *others] if rng.random() < 0.5 else [*others, *option]
        limits = (
            rng.choice(("IDMP-DURATION", "idmp-maxsize", "IDMP-MAXSIZE")),
            rng.choice((1, 2, 3, 100, 0, 86401, "x")),
        )
        yield rng.choice(
            (
                *((("XADD", key, *words, entry_id, *fields),) * 8 if key != "none" or "NOMKSTREAM" in words else ()),
                ("XCFGSET", key, *limits),
                ("XCFGSET", key, *limits, *(limits if rng.random() < 0.3 else ("IDMP-DURATION", 100))),
                ("XCFGSET", key),
                ("XIDMPRECORD", key, producer, iid, f"{FIRST_MS}-{rng.randrange(4)}"),
                ("XIDMPRECORD", key, producer, iid, rng.choice(("x", "1", "*"))),
                ("XINFO", "STREAM", key),
                ("XINFO", "STREAM", key, "FULL"),
                ("XDEL", key, f"{FIRST_MS}-{rng.randrange(4)}"),
                ("XLEN", key),
            )
        )


@pytest.mark.parametrize("seed", range(8))
def test_strings(duel: Duel, seed: int) -> None:
    duel.fight(strings, seed, commands=1500, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(8))
def test_messages(duel: Duel, seed: int) -> None:
    duel.fight(messages, seed, commands=800, streams=True)
