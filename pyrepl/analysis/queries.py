"""Asks the result tables in SQL: each is a view of its name, over the Parquet files of a run.

    --sql "SELECT mode, count(*) AS syncs FROM syncs GROUP BY mode"

Spark answers; what is wrong with a statement is told in one line, with the names that there are.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyrepl.analysis.failures import CannotRun, cause_in

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

_ISO: Final = "yyyy-MM-dd''T''HH:mm:ss.SSSSSSXXX"
"""A point in time, for Spark's date_format within quotes."""
_PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] |\s*SQLSTATE: \w+.*$", re.DOTALL)


class Answer(NamedTuple):
    """What a statement found: its columns, and its rows one after another. Points in time are ISO 8601."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def ask(spark: SparkSession, results: Path, statements: tuple[str, ...], tell: Callable[[Answer], None]) -> None:
    """Ask one statement after another of the tables below the link `results`. Raises CannotRun."""
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    # It would print each error as JSON, with Java's traces, before we tell it.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    tables = register(spark, results.resolve(), statements)
    for statement in statements:
        try:
            tell(_answer(spark.sql(statement)))
        except PySparkException as error:
            raise CannotRun(f"--sql {_short(statement)}: {why(error, statement, tables)}") from None


def register(spark: SparkSession, results: Path, statements: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Make a view of each result table that the statements name, as each takes its time; of all when one names none.

    The columns of all tables, by their names. Raises CannotRun.
    """
    from pyspark.sql.functions import col
    from pyspark.sql.types import StructType

    from pyrepl.metrics import parquet
    from pyrepl.metrics.report.as_json import TABLES

    found = parquet.version_of(results)
    if found != parquet.SCHEMA_VERSION:
        told = "is not there" if found is None else f"is of another version of pyrepl (schema {found})"
        raise CannotRun(f"{results} {told}: name the logs as well, and it is written anew")
    named = [{table for table in TABLES if _names(statement, table.name)} for statement in statements]
    for table in set.union(*named) if all(named) else TABLES:
        shape = StructType.fromJson(parquet.spark_schema(table.columns))
        rows = spark.read.schema(shape).parquet(str(results / table.name))
        # Spark forgets the comments of columns that stand in the folders' names.
        rows = rows.select(*(col(field.name).alias(field.name, metadata=field.metadata) for field in shape))
        rows.createOrReplaceTempView(table.name)
    return {table.name: table.names for table in TABLES}


def _names(statement: str, table: str) -> bool:
    return re.search(rf"\b{table}\b", statement, re.IGNORECASE) is not None


def _answer(found: DataFrame) -> Answer:
    names = tuple(found.columns)
    # Two columns may have one name.
    places = [f"c{number}" for number in range(len(names))]
    types = [field.dataType.typeName() for field in found.schema]
    shown = [
        f"date_format({place}, '{_ISO}') AS {place}" if kind == "timestamp" else place
        for place, kind in zip(places, types, strict=True)
    ]
    rows = found.toDF(*places).selectExpr(*shown).toLocalIterator() if names else iter(())
    return Answer(names, (tuple(_plain(value) for value in row) for row in rows))


def _plain(value: Any) -> Any:
    """As JSON knows it."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value


def why(error: PySparkException, statement: str, tables: Mapping[str, tuple[str, ...]]) -> str:
    """What is wrong with a statement, in one line: what, where, and which names there are."""
    condition = (error.getCondition() or "").partition(".")[0]
    told = error.getMessageParameters() or {}
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        return f"no table {_bare(told['relationName'])}; there are {', '.join(tables)}"
    if condition == "UNRESOLVED_COLUMN":
        there = "; ".join(f"{name} has {', '.join(tables[name])}" for name in tables if _names(statement, name))
        return f"no column {_bare(told['objectName'])}{f'; {there}' if there else ''}"
    whole = cause_in(str(error))
    place = _PLACE.search(str(error))
    where = f" (line {place[1]}, column {int(place[2]) + 1})" if place else ""
    return f"{_CONDITION.sub('', whole).strip()}{where}"


def _bare(name: str) -> str:
    return name.replace("`", "")


def _short(statement: str, most: int = 60) -> str:
    """Its begin, to tell it from others."""
    line = " ".join(statement.split())
    return repr(line if len(line) <= most else f"{line[: most - 3]}...")
