"""Tables of files as Spark writes them, and which files are in them."""

import csv
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Written, refusing_table
from ghcm.codegen.spark.library.sql import named, quoted
from ghcm.codegen.spark.library.tables.stores import write_rows
from ghcm.codegen.spark.library.tables.texts import as_texts
from ghcm.codegen.spark.library.types import columns_of, record_type
from ghcm.fence import Fence, hold
from ghcm.places import Place, Remote, place, remove
from ghcm.tables.delta import DeltaTable
from ghcm.tables.plain import PlainTable
from ghcm.tables.versions import STAGING, DataFile, safe_name


def table_at(
    folder: str,
    format: str,
    element: T.DataType | None = None,
    key: Sequence[str] = (),
    partition: Sequence[str] = (),
    fence: Fence | None = None,
) -> DeltaTable | PlainTable:
    """The table in a folder: a Delta table of Parquet files, or plain files."""
    columns = None if element is None else record_type(element)
    at = place(Path(), folder)
    return DeltaTable(at, columns, key, partition, fence) if format == "parquet" else PlainTable(at)


def table_files(job: Job, sink: str, folder: str, format: str) -> list[DataFile]:
    """The files of a table, as of now or of the version that the call names; those of a folder that is not ours."""
    with refusing_table(folder, "read"):
        return table_at(folder, format).live(job.context.get("versions", {}).get(sink))


def never_null(job: Job, sink: str, folder: str) -> frozenset[str]:
    """The columns in which a Parquet table promises to hold no null."""
    with refusing_table(folder, "read"):
        table = table_at(folder, "parquet")
        if not isinstance(table, DeltaTable):
            return frozenset()
        found = table.as_of(job.context.get("versions", {}).get(sink))
    return frozenset() if found is None else frozenset(each.name for each in found.schema().fields if not each.nullable)


@contextmanager
def staged(folder: str, version: str) -> Generator[Place]:
    """An empty directory for the files of a version; what an earlier attempt left in it is dropped."""
    parent = place(Path(), folder) / STAGING
    parent.mkdir(parents=True, exist_ok=True)
    staging = parent / safe_name(version)
    remove(staging)
    staging.mkdir(parents=True, exist_ok=True)
    try:
        yield staging
    finally:
        remove(staging)


def write_table(  # noqa: PLR0913  each says something else of the sink
    job: Job,
    rows: DataFrame,
    sink: str,
    path: str,
    element: T.DataType,
    *,
    format: str,
    mode: str,
    separator: str = ",",
    key: Sequence[str] = (),
    partition: Sequence[str] = (),
) -> None:
    """Write rows as one version of a table: readers see all of them or none."""
    folder, version = job.where(path), job.context["call"]
    job.at = Written(sink, folder)
    table = table_at(folder, format, element, key, partition, job.fence)
    with refusing_table(folder, "write to"):
        if isinstance(table, DeltaTable):
            table.fit(mode)
        done = table.committed(version)
        job.repeated = job.repeated or done is not None
        if done is None:
            job.progress(len(job.sinks) / (len(job.sinks) + 2), f"writing {sink}")
            job.asked.append(rows)
            with staged(folder, version) as staging:
                by = () if mode == "upsert" else partition
                if isinstance(staging, Remote):
                    target: Place = staging
                    full = write_rows(rows, staging, element, format, separator, by)
                else:
                    target, full = write_here(rows, staging, element, format, separator, by)
                hold(job.fence)
                done = table.publish(version, mode, target, full, f"{job.unit} on Spark")
            if isinstance(table, DeltaTable) and table.untidy:
                table.tidy()
    job.sinks[sink] = {"version": version, "rows": done.rows}


def write_here(
    rows: DataFrame, staging: Path, element: T.DataType, format: str, separator: str, partition: Sequence[str]
) -> tuple[Path, list[DataFile]]:
    """Have Spark write rows as files of this machine: their folder, and those with rows."""
    target = os.path.join(staging, "data")
    write_files(rows, target, element, format, separator, partition)
    for name in os.listdir(target):  # Spark calls lines of JSON a text
        os.rename(os.path.join(target, name), os.path.join(target, name.replace(".txt", ".json")))
    names = sorted(str(path.relative_to(target)) for path in Path(target).rglob("part-*.*"))
    files = [DataFile(name, count_rows(os.path.join(target, name), format, separator)) for name in names]
    return Path(target), [file for file in files if file.rows] or files[: format != "parquet"]


def write_files(
    rows: DataFrame, target: str, element: T.DataType, format: str, separator: str, partition: Sequence[str] = ()
) -> None:
    """Write rows as files of a format; those of a `partition` in folders of its values, few in each."""
    names = columns_of(element).fieldNames()
    if format == "parquet":
        rows = rows.selectExpr(*map(quoted, names))
        rows = rows.hint("rebalance", *map(quoted, partition)) if partition else rows
        rows.write.partitionBy(*partition).parquet(target)
        return
    texts = as_texts(rows, element, format)
    if format == "json":
        texts.write.text(target)
        return
    if len(names) == 1:  # an empty line would be no record
        texts = texts.selectExpr(named(f"coalesce({quoted(names[0])}, '')", names[0]))
    spaces: dict[str, Any] = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    texts.write.csv(target, header=True, sep=separator, escape='"', emptyValue='""', nullValue="", **spaces)


def count_rows(path: str, format: str, separator: str) -> int:
    """The rows of a file that was written."""
    if format == "parquet":
        from pyarrow import parquet

        tables: Any = parquet
        return int(tables.read_metadata(path).num_rows)
    csv.field_size_limit(2**31 - 1)
    with open(path, encoding="utf-8", newline="\n") as lines:
        records = csv.reader(lines, delimiter=separator) if format == "csv" else lines
        return max(0, sum(1 for _ in records) - (format == "csv"))
