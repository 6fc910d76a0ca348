"""Keeps the classes of Spark and Kafka as Java has them once loaded, in files that each Java of a test maps: to read
and check them anew is half of what the start of a session or a broker costs.

`make test` writes the files once for each environment (`python -m tests.java_classes`). Java itself sees whether a file
fits, and does without where it is of another Java or other jars.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.services import OPTIONS, services, start_services, stop_services
from tests import kafka_server

SPARK = Path(sys.prefix, ".spark-classes.jsa")
KAFKA = Path(sys.prefix, ".kafka-classes.jsa")

_QUIET = "-Xlog:cds*=off"
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests start Spark two dozen times, each for a few jobs over a dozen records: what the second compiler of Java makes
faster never pays, nor do threads that collect garbage.
"""
_SPARK = f"{BRIEF} -Xms900m -Xmn400m -XX:MetaspaceSize=384m {_QUIET}"
"""Nor does a small heap that is collected at each turn."""


def variables() -> dict[str, str]:
    """What the environment of tests has for Java."""
    return {"SPARK_SUBMIT_OPTS": f"{_SPARK}{_kept(SPARK)}", OPTIONS: f"{_QUIET}{_kept(KAFKA)}"}


def small() -> str:
    """Options of a Java of Spark's that submits nothing: a worker, an executor."""
    return f"{BRIEF} {_QUIET}{_kept(SPARK)}"


def _kept(file: Path) -> str:
    return f" -XX:SharedArchiveFile={file}" if file.exists() else ""


def write() -> None:
    """Have Java load what jobs and brokers use, and keep that; another that is at work meanwhile does not matter."""
    with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
        spark, kafka = Path(folder, "spark"), Path(folder, "kafka")
        os.environ["SPARK_SUBMIT_OPTS"] = f"{_SPARK} -XX:ArchiveClassesAtExit={spark}"
        os.environ[OPTIONS] = f"{_QUIET} -XX:ArchiveClassesAtExit={kafka}"
        try:
            _run_kafka(Path(folder, "services"))
            kafka.replace(KAFKA)  # whole or not at all: Java breaks down over a part of one
        except GhcmError as error:  # tests that need it will say so
            print(error, file=sys.stderr)
        _run_spark(folder)
        spark.replace(SPARK)


def _run_kafka(folder: Path) -> None:
    try:
        start_services(folder, kafka_server.quiet)
    except GhcmError:
        stop_services(folder, kafka_server.quiet)  # the other one may run, or one that has not answered yet
        raise
    for each in services(folder):
        process = psutil.Process(each["pid"])
        process.terminate()
        process.wait()  # without an end: it writes the file


def _run_spark(folder: str) -> None:
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
