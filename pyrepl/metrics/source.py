"""Logs that grow as a source of Spark's Structured Streaming: what is new of them is read, range by range.

    spark.dataSource.register(Logs)
    told = spark.readStream.format(Logs.name()).schema(struct(TOLD)).options(**options(wanted, start, cores)).load()

Spark's own file sources see new files, and not that files grow. Here an offset is the name of a plan (plans.py): the
files, and how far each goes. Spark writes it into its checkpoint before the batch is run, and asks for the same plan
when it runs the batch again. Where nothing is new the offset stays, and there is no batch. A task reads its share of
the ranges as in a run without a stream (reading.py), and a row says what became of a range.

Spark runs this in several Python processes, of which one plans and some read: only there is imported what that takes,
as somebody waits for their start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from pyrepl.metrics.wanted import Wanted


def options(wanted: Wanted, start: str, cores: int) -> dict[str, str]:
    """What the source is to be told. `start` is a name that no other start of a stream over these tables has."""
    about = {"logs": json.dumps(list(wanted.logs)), "tables": str(wanted.tables.absolute()), "zone": wanted.zone}
    return {**about, "start": start, "cores": str(cores)}


@final
class Logs(DataSource):
    """See options()."""

    @classmethod
    def name(cls) -> str:
        """For `format`."""
        return "replication_logs"

    def streamReader(self, schema: Any) -> LogReader:
        """Called by Spark."""
        return LogReader(self.options)


@final
class Share(InputPartition):
    """The ranges of one task, as plain tuples."""

    def __init__(self, ranges: list[tuple[Any, ...]]) -> None:
        super().__init__(ranges)


@final
class LogReader(DataSourceStreamReader):
    """Plans when Spark asks how far the logs go. The first offset of a start is always new, so that there is a batch,
    and with it results, where the logs are not."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._logs = json.loads(options["logs"])
        self._tables = Path(options["tables"])
        self._zone = options["zone"]
        self._start = options["start"]
        self._cores = int(options["cores"])
        self._plans = 0

    def initialOffset(self) -> dict[str, str]:
        """Before the first batch."""
        return {"plan": ""}

    def latestOffset(self, *_: Any, **__: Any) -> dict[str, str]:
        """Plan what is new. Spark names a begin and a limit from 4.2 on; the begin is the manifest's."""
        from pyrepl.metrics import plans

        if plans.make(self._name(self._plans + 1), self._logs, self._tables) is not None or not self._plans:
            self._plans += 1
        return {"plan": self._name(self._plans)}

    def _name(self, number: int) -> str:
        return f"{self._start}-{number}"

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[Share]:
        """What the plan has to be read; nothing if it is void."""
        from pyrepl.metrics import near, plans
        from pyrepl.metrics.ranges import dealt

        plan = plans.good(self._tables, end["plan"])
        splits = [] if plan is None or start == end else plan.splits
        return [
            Share([tuple(split) for split in own]) for own in dealt(splits, self._cores, near.load(self._tables)) if own
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """A row of reading.TOLD for each range, as soon as it is read."""
        from pyrepl.metrics.reading import read_ranges

        yield from read_ranges(partition.value, str(self._tables), self._zone)
