"""Vector sets between Redis 8 and pyrepl, by snapshots and by the stream: the same digests all along, and a Redis 8 at
the end that finds what its master finds, also in a graph that pyrepl made."""

from __future__ import annotations

import struct
from random import Random

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply

FILM = b"""{"year":1984,"name":"The Matrix","ok":true,"no":false,"nul":null,"arr":[1,"two",3.5],"obj":{"x":1},"neg":-5,
"s":"10","e":"","esc":"a\\"b\\n","big":1e400,"a-b_c":7,"inf":"inf","deep":[1,[2,3]]}"""

EXPRESSIONS = r"""
.year > 1980
.year>=1984 and .year<1985
.name == "The Matrix"
.name == 'The Matrix'
not .ok
!.no
.nul
.nul == null
null == null
.missing == 1
.missing or 1
1 or .missing
.year in [1984, 1999]
.year in ["1984"]
"two" in .arr
.arr
.obj
.deep
3 in .deep
.neg == -5
.neg == - 5
.year -5 == 1979
(.year) -5 == 1979
.s == 10
.e
2 ** 3 ** 2 == 512
-2 ** 2 == 4
7 % 4 == 3
-7 % 4 == -3
7 / 0
-7 / 0 < 0
0 / 0
0/0 == 0/0
10 ** 400
(0-10) ** 401 < 0
0 ** -1
(0-8) ** 0.5
5 % 0
1 2 ==
1 +
(1
1)
1 1
()
"unterminated
.esc
.a-b_c == 7
..a
.year = 1984
.year & 1
.year && 1
1.5.5
1e5 == 100000
0x10 == 16
"0x10" == 16
" 5" == 5
"5 " == 5
"1_0" == 10
"inf" > 5
"nan" == "nan"
"nan" != 0
"1e999" > 5
[1,2,3]
[1 2]
[1,]
[]
3 in []
3 in 3
[1,[2]]
nullx
truE
.big > 5
.inf > 5
"a\"b" == 'a"b'
1and 1
.year and.ok
.ok==1
.ok == "true"
"abc" == 0
[1] == 0
[1] == [2]
! 1 == 0
not 1 == 0
!(1 == 0)
not not 1
!!1
1 - -1 == 2
1--1 == 2
1+-1
3 > 2 > 1
1 == 1 == 1
.year	>	5
é
.é"""

FORMS = {"q8": ("Q8",), "f32": ("NOQUANT",), "bin": ("BIN", "M", 5)}


def _numbers(rng: Random, dim: int) -> list[str]:
    return [f"{rng.gauss(0, 1):.4f}" for _ in range(dim)]


def asked(node: Node, *words: str | bytes | int) -> object:
    """A reply, or the text of an error; names in any order."""
    try:
        return sorted(node.call(*words))
    except ErrorReply as error:
        return str(error)


def fill(master: Node, count: int) -> None:
    rng = Random(count)
    for form, options in FORMS.items():
        for number in range(count):
            attributes = ("SETATTR", f'{{"n":{number}}}') if number % 3 else ()
            master.call("VADD", form, "VALUES", 20, *_numbers(rng, 20), f"e{number}", *options, *attributes)
            master.call("VADD", f"{form}:reduced", "REDUCE", 6, "VALUES", 9, *_numbers(rng, 9), f"e{number}", *options)


@pytest.mark.parametrize("kind", ["redis8", "redis86"])
def test_a_snapshot_goes_through(lab: Lab, kind: str) -> None:
    master = lab.start(kind)
    fill(master, 200)
    ours = lab.start("pyrepl", master)
    ours.wait_link_up()
    last = lab.start(kind, ours)
    last.wait_link_up()
    compare.settle(master, ours, last)
    for node in (ours, last):
        compare.assert_equal(master, node)
    assert ours.call("TYPE", "q8") == "vectorset"
    for form in FORMS:
        for number in range(0, 200, 20):
            search = ("VSIM", form, "ELE", f"e{number}", "WITHSCORES", "COUNT", 5)
            # The scores alone: of elements that are equally near, any may come first.
            assert last.call(*search)[1::2] == master.call(*search)[1::2]


@pytest.mark.parametrize("kind", ["redis8", "redis86"])
def test_changes_go_through_the_stream(lab: Lab, kind: str) -> None:
    master = lab.start(kind)
    ours = lab.start("pyrepl", master)
    last = lab.start(kind, ours)
    for node in (ours, last):
        node.wait_link_up()
    fill(master, 60)
    for number in range(0, 60, 3):
        master.call("VREM", "q8", f"e{number}")
        master.call("VSETATTR", "f32", f"e{number}", "{}")
        master.call("VREM", "bin:reduced", f"e{number}")
    compare.settle(master, ours, last)
    for node in (ours, last):
        compare.assert_equal(master, node)
    # The graphs differ, and searches of Redis are not exact: TRUTH is.
    search = ("VSIM", "q8", "ELE", "e1", "WITHSCORES", "COUNT", 5, "TRUTH")
    assert ours.call(*search) == last.call(*search) == master.call(*search)


@pytest.mark.parametrize("kind", ["redis8", "redis86"])
def test_replicas_of_a_master_follow_updates_too(lab: Lab, kind: str) -> None:
    master = lab.start("pyrepl")
    replicas = [lab.start(each, master) for each in (kind, "pyrepl")]
    for replica in replicas:
        replica.wait_link_up()
    fill(master, 30)
    rng = Random(1)
    for number in range(0, 30, 2):
        # A Redis would keep this to itself.
        master.call("VADD", "q8", "VALUES", 20, *_numbers(rng, 20), f"e{number}", "SETATTR", "{}")
    compare.settle(master, *replicas)
    for replica in replicas:
        compare.assert_equal(master, replica)


@pytest.mark.parametrize("form", FORMS)
def test_redis_finds_its_way_in_our_graph(lab: Lab, form: str) -> None:
    """At least nine tenths of what an exact search finds; Redis's own graphs of such sets reach the same."""
    rng = Random(form)
    centres = [[rng.gauss(0, 1) for _ in range(32)] for _ in range(10)]

    def vector() -> bytes:
        return struct.pack("<32f", *[number + rng.gauss(0, 0.5) for number in rng.choice(centres)])

    master = lab.start("pyrepl")
    for number in range(1000):
        master.call("VADD", "k", "FP32", vector(), f"e{number}", *FORMS[form])
    for number in range(0, 1000, 4):
        master.call("VREM", "k", f"e{number}")
    replica = lab.start("redis8", master)
    replica.wait_link_up()
    compare.settle(master, replica)
    compare.assert_equal(master, replica)
    found = wanted = 0
    for _ in range(50):
        search = ("VSIM", "k", "FP32", vector(), "COUNT", 10, "WITHSCORES")
        farthest = min(replica.call(*search, "TRUTH")[1::2])
        found += sum(score >= farthest for score in replica.call(*search)[1::2])
        wanted += 10
    assert found >= wanted * 0.9


def test_expressions_are_read_as_redis_reads_them(lab: Lab) -> None:
    nodes = [lab.start(kind) for kind in ("pyrepl", "redis86")]
    for node in nodes:
        for number, text in enumerate((FILM, b"{}", b'{"year":"1984","tags":[]}')):
            node.call("VADD", "k", "VALUES", 2, 1, number, f"e{number}", "SETATTR", text)
    differing = {}
    for expression in EXPRESSIONS.split("\n"):
        ours, theirs = (asked(node, "VSIM", "k", "VALUES", 2, 1, 1, "FILTER", expression.encode()) for node in nodes)
        if ours != theirs:
            differing[expression] = (ours, theirs)
    assert differing == {}
