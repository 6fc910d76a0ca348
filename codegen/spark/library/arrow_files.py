"""Parquet and Arrow files."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.csv_files import column_indices, csv_names
from ghcm.codegen.spark.library.files import accepted, find_files, in_files, listed
from ghcm.codegen.spark.library.job import Job, Refused, Step
from ghcm.codegen.spark.library.json_files import document, json_columns
from ghcm.codegen.spark.library.sql import quoted


def read_parquet_files(
    job: Job, step: Step, pattern: str, keep: Sequence[str] = (), *, clock: str = "restarts"
) -> DataFrame:
    """The records of Parquet files."""
    return read_rows(job, step, find_files(job, step, pattern, "none"), keep, "parquet", clock)


def read_arrow_files(
    job: Job, step: Step, pattern: str, keep: Sequence[str] = (), *, clock: str = "restarts"
) -> DataFrame:
    """The records of Arrow IPC files, of the file and of the stream form."""
    return read_rows(job, step, find_files(job, step, pattern, "none"), keep, "arrow", clock)


def read_rows(job: Job, step: Step, names: Sequence[str], keep: Sequence[str], kind: str, clock: str) -> DataFrame:
    """Rows as the JSON objects of the same content would be read; what does not fit is a dead letter."""
    wanted = csv_names(step.input)
    for name in names:
        next(row_batches(name, job.where(name), wanted, kind), None)
    lines = listed(job, names).mapInArrow(row_reader(wanted, kind), ROW_LINES)
    lines = in_files(lines, step, names, clock, keep).selectExpr("*", document())
    columns, error = json_columns(step.input, True)
    return accepted(job, step, lines, error, names).selectExpr(*map(quoted, keep), *columns)


ROW_LINES = StructType(
    [StructField("@text", StringType()), StructField("@file", StringType()), StructField("@number", LongType())]
)


def row_reader(wanted: list[tuple[str, bool]], kind: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that reads rows in Spark's Python workers."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for file, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number = 0
                for rows in row_batches(file, path, wanted, kind):
                    texts = [
                        json.dumps(as_json(row), ensure_ascii=False, separators=(",", ":")) for row in rows.to_pylist()
                    ]
                    numbers = list(range(number + 1, number + len(texts) + 1))
                    number += len(texts)
                    columns: list[Any] = [
                        pyarrow.array(texts, pyarrow.string()),
                        pyarrow.array([file] * len(texts), pyarrow.string()),
                        pyarrow.array(numbers, pyarrow.int64()),
                    ]
                    yield pyarrow.record_batch(columns, names=ROW_LINES.fieldNames())

    return read


def row_batches(file: str, path: str, wanted: list[tuple[str, bool]], kind: str) -> Iterator[Any]:
    """Batches of a file with the columns that the record names."""
    import pyarrow

    try:
        yield from read_batches(file, path, wanted, kind)
    except pyarrow.ArrowInvalid as error:
        other = "arrow" if kind == "parquet" else "parquet"
        hint = f"see that it is whole; if it is of another format, say so: format = {other}."
        raise Refused(
            "GHCM-736", f'"{file}" is no {kind} file that can be read', f"{error}.", hint, file=file
        ) from error


def read_batches(file: str, path: str, wanted: list[tuple[str, bool]], kind: str) -> Iterator[Any]:
    """What `row_batches` gives, or an error of Arrow."""
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    if kind == "parquet":
        opened: Any = pyarrow.parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
        chosen = chosen_columns(file, opened.schema_arrow, wanted)
        yield from opened.iter_batches(10_000, columns=chosen)
        return
    mapped = pyarrow.memory_map(path)
    is_file = mapped.read(6) == b"ARROW1"
    mapped.seek(0)
    reader: Any = pyarrow.ipc.open_file(mapped) if is_file else pyarrow.ipc.open_stream(mapped)
    chosen = chosen_columns(file, reader.schema, wanted)
    batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
    yield from (batch.select(chosen) for batch in batches)


def chosen_columns(file: str, schema: Any, wanted: list[tuple[str, bool]]) -> list[str]:
    """The columns of a file that hold fields of the record, in the file's order."""
    column_indices(file, [*column_paths(schema, "")], wanted)
    paths = [name for name, _ in wanted]
    return [name for name in schema.names if any(path == name or path.startswith(f"{name}.") for path in paths)]


def column_paths(fields: Any, before: str) -> Iterator[str]:
    """The names of columns, and of the fields in them by path."""
    import pyarrow

    for each in fields:
        yield before + each.name
        if pyarrow.types.is_struct(each.type):
            yield from column_paths(list(each.type), f"{before}{each.name}.")


def as_json(value: dict[str, Any] | Sequence[Any] | float | Decimal | timedelta | date | time | None) -> Any:
    """A value as JSON says it, what JSON has no numbers for as text."""
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, date | time) else value
