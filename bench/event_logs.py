"""Event logs of nodes that never were: nine lines in ten are samples, one is of a sync; about 400 bytes a line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_BEGIN_US: Final = 1_795_000_000_000_000
_STATE: Final = (
    '"backlog_bytes":1048576,"backlog_size_bytes":1048576,"replicas":3,"output_bytes":0,"sync_buffer_bytes":0,'
    '"rss_bytes":134217728,"keys":1000000,"clients":12,"writes_per_s":1234.5,"stream_bytes_per_s":99999.5'
)


def generate(path: Path, lines: int, first: int = 0) -> int:
    """Add that many lines to one node's event log: nine in ten are samples, the others syncs. Its size in bytes."""
    with path.open("a", encoding="ascii") as file:
        file.writelines(_lines(path.stem, first, lines))
    return path.stat().st_size


def _lines(node: str, first: int, count: int) -> Iterator[str]:
    """Put together by hand: json.dumps takes nine times as long, which at 50 million lines is half an hour."""
    rng = random.Random(first)
    own = f'"node":"{node}","run":"{node:0>40}","role":"master","replid":"{"b" * 40}"'
    for number in range(first, first + count):
        after_us = number * 10_000
        if number % 10 == 0:
            rest = _of_sync(number, rng, node)
        elif number % 2:
            rest = (
                f'"event":"replica_sample","peer":"10.0.0.{number % 3}:6379","phase":"online",'
                f'"lag_bytes":{rng.randrange(10_000)},"lag_s":{round(rng.random(), 3)},"output_bytes":0'
            )
        else:
            rest = f'"event":"sample","backlog_start_offset":{number},{_STATE}'
        at = f'"at_us":{_BEGIN_US + after_us},"mono_us":{after_us},"seq":{number + 1}'
        yield f'{{"v":1,{at},{own},"offset":{number * 100},{rest}}}\n'


def _of_sync(number: int, rng: random.Random, node: str) -> str:
    sync, step = divmod(number // 10, 4)
    of, by = f'"sync":"{node}-{sync}/?"', '"peer":"10.0.0.1:6379"'
    both = f'"end":"master",{of},{by}'
    return (
        f'"event":"psync_asked",{both},"replica":"10.0.0.1:6379","conn":"10.0.0.1:{sync % 60_000}"',
        f'"event":"psync_decided",{both},"verdict":"full","cause":"first","snapshot_offset":{number}',
        f'"event":"online",{both},"mode":"full_disk","sync_ms":{rng.randrange(5000)}',
        f'"event":"replica_down",{of},{by},"phase":"online","cause":"connection_lost","by_us":false,"lag_bytes":0,'
        '"output_bytes":0',
    )[step]
