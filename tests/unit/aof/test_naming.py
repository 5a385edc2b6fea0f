"""What the files are called, as Redis 7 calls them."""

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.naming import Names


def test_the_names_are_redis_s() -> None:
    names = Names("appendonly.aof")
    assert names.manifest == "appendonly.aof.manifest"
    assert names.fresh_manifest == "temp-appendonly.aof.manifest"
    assert names.base(2, preamble=False) == "appendonly.aof.2.base.aof"
    assert (names.base(2), names.incr(3)) == ("appendonly.aof.2.base.rdb", "appendonly.aof.3.incr.aof")
    assert names.place(3) == "appendonly.aof.3.stream"


def test_what_is_in_the_making_is_known_by_its_number() -> None:
    names = Names("a.b")
    manifest = Manifest(Entry("a.b.2.base.rdb", 2, FileType.BASE), (Entry("a.b.3.incr.aof", 3, FileType.INCR),))
    for name in ("a.b.3.base.rdb", "a.b.3.base.aof", "a.b.4.incr.aof", "a.b.4.stream", "temp-a.b.manifest"):
        assert names.is_in_the_making(name, manifest)
    for name in ("a.b.1.base.rdb", "a.b.3.incr.aof", "aXb.4.incr.aof", "a.b.manifest", "notes", "a.b.9.incr.aof.bak"):
        assert not names.is_in_the_making(name, manifest)
