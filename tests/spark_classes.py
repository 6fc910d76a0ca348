"""Keeps the classes of Spark as Java has them once loaded, in a file that each Java of a test maps: to read and check
them anew is half of what the start of Spark and its first jobs cost.

`make test` writes the file once for each environment (`python -m tests.spark_classes`). Java itself sees whether the
file fits, and does without where it is of another Java or other jars.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FILE = Path(sys.prefix, ".spark-classes.jsa")

_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds*=off"
"""Tests start Spark two dozen times, each for a few jobs over a dozen records: what the second compiler of Java makes
faster never pays, nor do threads that collect garbage.
"""


def java_options() -> str:
    """What the Java of tests is given."""
    return f"{_OPTIONS} -XX:SharedArchiveFile={FILE}" if FILE.exists() else _OPTIONS


def write() -> None:
    """Have Java load what jobs use, and keep that; another that is at work meanwhile does not matter."""
    with tempfile.TemporaryDirectory(dir=FILE.parent) as folder:
        fresh = Path(folder, "classes")
        os.environ["SPARK_SUBMIT_OPTS"] = f"{_OPTIONS} -XX:ArchiveClassesAtExit={fresh}"
        _load(folder)
        fresh.replace(FILE)  # whole or not at all: Java breaks down over a part of one


def _load(folder: str) -> None:
    from pyspark.sql import functions as F

    from tests.conformance.spark_runs import start_spark

    spark = start_spark()
    gateway: Any = spark.sparkContext._gateway  # pyright: ignore[reportPrivateUsage]  there is no public way to it
    rows = spark.createDataFrame([(number, str(number % 7)) for number in range(100)], "id bigint, name string")
    rows.write.json(f"{folder}/json")
    read = spark.read.schema("id bigint, name string").json(f"{folder}/json")
    sums = read.groupBy("name").agg(F.sum("id").alias("total"), F.collect_list(F.struct("id")).alias("all"))
    sums.write.parquet(f"{folder}/parquet")
    joined = read.join(spark.read.parquet(f"{folder}/parquet"), "name").withColumn("at", F.timestamp_micros("id"))
    joined.groupBy("name", F.window("at", "1 second")).count().orderBy("name").collect()
    rows.mapInArrow(lambda batches: batches, rows.schema).union(rows).distinct().limit(3).toArrow()
    rows.rdd.map(lambda row: row.id).collect()
    spark.stop()
    gateway.proc.stdin.close()  # Java ends with its input, and writes the file
    gateway.proc.wait()


if __name__ == "__main__":
    write()
