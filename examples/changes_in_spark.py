"""Follows a folder of `pyrepl tail --to` in Spark Structured Streaming: how often each command changed how many keys.

    pyrepl replica --master my-redis:6379 --port 6380 --stream-port 7379
    pyrepl tail 127.0.0.1:7379 --stream keys --to changes/
    python examples/changes_in_spark.py changes/ --checkpoint state/

Spark takes each file once and remembers in its checkpoint which it had; a file appears whole, and each row is in one
file only. So every change is counted exactly once, whichever of the three processes is killed. Needs PySpark 3.5 or
later and Java: pip install 'pyrepl-server[metrics]'.
"""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

SCHEMA = "token BIGINT, part INT, db INT, key STRING, key_base64 STRING, command STRING"
"""Of the stream `keys`. `key_base64` is set, and `key` is not, where a key is no text."""


def changes(spark: SparkSession, folder: str, form: str) -> DataFrame:
    """The captured rows, as they come."""
    # Names with a dot in front, the file being written among them, are not read.
    return spark.readStream.schema(SCHEMA).format(form).option("maxFilesPerTrigger", 100).load(folder)


def per_command(rows: DataFrame) -> DataFrame:
    """For each command: changes, different keys (roughly, in bounded memory), and the newest token."""
    key = f.coalesce("key", "key_base64")
    return rows.groupBy("command").agg(
        f.count("*").alias("changes"), f.approx_count_distinct(key).alias("keys"), f.max("token").alias("token")
    )


def main() -> None:
    """Show the table after each batch of files, until Ctrl-C; with --once all there is, and end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="what `pyrepl tail --to` writes")
    parser.add_argument("--format", choices=("json", "parquet"), default="json")
    parser.add_argument("--checkpoint", required=True, help="a folder for Spark's memory of what it had")
    parser.add_argument("--out", help="a folder for the table as JSON, instead of the screen")
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    spark = SparkSession.builder.appName("changes").config("spark.sql.shuffle.partitions", 2).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")

    def show(table: DataFrame, number: int) -> None:
        if options.out is not None:
            table.coalesce(1).write.mode("overwrite").json(options.out)
        else:
            table.orderBy(f.desc("changes")).show(truncate=False)

    writing = per_command(changes(spark, options.folder, options.format)).writeStream.outputMode("complete")
    writing = writing.foreachBatch(show).option("checkpointLocation", options.checkpoint)
    (writing.trigger(availableNow=True) if options.once else writing).start().awaitTermination()


if __name__ == "__main__":
    main()
