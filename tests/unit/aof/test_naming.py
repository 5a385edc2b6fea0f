"""What the files are called, as Redis 7 calls them."""

from pyrepl.aof.naming import Names


def test_the_names_are_redis_s() -> None:
    names = Names("appendonly.aof")
    assert names.manifest == "appendonly.aof.manifest"
    assert names.fresh_manifest == "temp-appendonly.aof.manifest"
    assert (names.base(2), names.incr(3)) == ("appendonly.aof.2.base.rdb", "appendonly.aof.3.incr.aof")
    assert names.place(3) == "appendonly.aof.3.stream"
