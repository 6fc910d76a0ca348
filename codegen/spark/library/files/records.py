"""Files of records: JSON lines, CSV, Zeek's logs, Parquet and Arrow, decoded in Spark's Python workers; and tables."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.doubts import Decoded, Opening
from ghcm.codegen.spark.library.files.cells import decoded, read_cells
from ghcm.codegen.spark.library.files.heads import csv_heads, first_lines, zeek_heads
from ghcm.codegen.spark.library.files.json_tokens import json_tokens
from ghcm.codegen.spark.library.files.parquet import alike_files, rows_of_alike
from ghcm.codegen.spark.library.files.plain_json import parsed_by_spark, plain_form, plainly
from ghcm.codegen.spark.library.hadoop import spark_path
from ghcm.codegen.spark.library.job import Job, Step, passed, refusal
from ghcm.codegen.spark.library.lines import accepted, empty, exactly, find_files, listed, read_lines, spark_paths
from ghcm.codegen.spark.library.sql import fails, first, named, part, quoted
from ghcm.codegen.spark.library.tables.delta import rows_divided
from ghcm.codegen.spark.library.tables.stores import parquet_rows
from ghcm.codegen.spark.library.tables.writing import never_null, table_files
from ghcm.codegen.spark.library.types import (
    columns_of,
    null_at,
    plain_fields,
    record_arrays,
    record_columns,
    record_type,
    stored_columns,
)
from ghcm.errors import GhcmError
from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.formats.files import bare, open_lines
from ghcm.formats.records import Row, json_parser, object_reader
from ghcm.formats.tables import read_tables, table_rows
from ghcm.formats.zeek_log import ZeekLog
from ghcm.places import place
from ghcm.types import Struct
from ghcm.values import has_decimal

BROKEN = "'bad_record: ' || `@broken`"
AT_ONCE = 10_000

Found: TypeAlias = tuple[int, Row | None, str | None, str | None]
"""Where a record stands, what it is, or else its text and why it is none."""
Read: TypeAlias = Callable[[str, str], Iterator[Found]]
"""Gives what is in a file, by its name and path."""
Begin: TypeAlias = Callable[[str, str], Iterator[Any]]
T = TypeVar("T")


def read_json(job: Job, step: Step, pattern: str, *, compression: str = "ending") -> DataFrame:
    """The records of JSON-lines files; what does not fit is a dead letter."""
    names = find_files(job, step, pattern, compression)
    lines = read_lines(job, names, compression)
    return decode_json(job, step, lines, names, compression=compression)


def decode_json(
    job: Job, step: Step, lines: DataFrame, names: Sequence[str], *, compression: str = "ending", own: bool = False
) -> DataFrame:
    """The records of lines of these files; `own`: written by a sink."""
    opening = json_text(record_type(step.input), own=own)
    tokens = json_tokens(step.input, first_lines(job, names, compression), own=own)
    if tokens is not None:
        return decoded(job, step, lines, tokens, opening, names, compression)
    form = plain_form(step.input, own=own)
    if form is None:
        return exactly(job, step, lines, "true", lambda _: "NULL", opening, names, compression)
    plain = f"CASE WHEN {plainly('`@text`', form.pattern)} THEN {parsed_by_spark('`@text`', form)} END AS `@json`"
    lines = lines.selectExpr("*", plain).selectExpr("*", named(form.value("`@json`"), "@record"))
    no_json = "`@json` IS NULL OR `@json`.`@no` IS NOT NULL"
    doubt = " OR ".join(filter(None, (no_json, form.doubt("`@json`", "`@record`"))))
    return exactly(job, step, lines, doubt, partial(part, "`@record`"), opening, names, compression)


def json_text(struct: Struct, *, own: bool = False) -> Opening:
    """The function that reads the JSON object in a text; `own`: written by a sink."""
    read, written = object_reader(struct, own=own), has_decimal(struct)

    def open_reader() -> Callable[[bytes], Decoded]:
        parse = json_parser(written=written, own=own)

        def found_in(text: bytes) -> Decoded:
            try:
                bare = text.decode().strip(" \t\r\n")
                return (read(parse(bare)) if bare else None), None
            except UnicodeDecodeError:
                return None, "the text is not UTF-8"
            except ValueError as error:
                return None, str(error)

        return found_in

    return open_reader


def with_records(lines: DataFrame, element: DataType, opening: Opening) -> DataFrame:
    """The lines with the records in their `@text`, and why there is none (`@broken`)."""
    fields = plain_fields(element)

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        found_in = opening()
        for batch in batches:
            texts: Any = batch.column("@text").cast(pyarrow.binary())
            found = [found_in(text) for text in texts.to_pylist()]
            arrays = [*batch.columns, *record_arrays([row for row, _ in found], fields)]
            arrays.append(pyarrow.array([error for _, error in found], pyarrow.string()))
            yield pyarrow.record_batch(arrays, names=[*batch.schema.names, *fields.names, "@broken"])

    schema = StructType([*lines.schema.fields, *fields.fields, StructField("@broken", StringType())])
    return lines.mapInArrow(decode, schema)


def read_csv(
    job: Job, step: Step, pattern: str, *, separator: str = ",", keeps_empty: bool = False, compression: str = "ending"
) -> DataFrame:
    """The records of CSV files, whose first lines name the columns; what does not fit is a dead letter. `keeps_empty`:
    of what may be null, `""` is an empty text.
    """
    names, struct = find_files(job, step, pattern, compression), record_type(step.input)
    read = csv_file(struct, separator, compression, keeps_empty=keeps_empty)
    heads = csv_heads(job, names, struct, separator, compression, keeps_empty=keeps_empty)
    return read_cells(job, step, heads, compression, lambda left: read_files(job, step, left, read))


def read_zeek(job: Job, step: Step, pattern: str, *, compression: str = "ending") -> DataFrame:
    """The records of Zeek's logs, whose headers may change in the middle; what does not fit is a dead letter."""
    names, struct = find_files(job, step, pattern, compression), record_type(step.input)
    read = zeek_file(struct, compression)
    heads = zeek_heads(job, names, struct, compression)
    return read_cells(job, step, heads, compression, lambda left: read_files(job, step, left, read))


def read_parquet_files(job: Job, step: Step, pattern: str, *, by_group: Collection[str] = ()) -> DataFrame:
    """The records of Parquet files; what does not fit is a dead letter. Whether the texts in the columns `by_group` are
    UTF-8 may be left to `with_sound_keys`.
    """
    struct = record_type(step.input)
    alike, others = alike_files(job, find_files(job, step, pattern, "none"), struct)
    parts: list[DataFrame] = []
    for files in alike:
        rows = rows_of_alike(job, step, files, by_group)
        others += files.names if rows is None else []
        parts += [] if rows is None else [rows]
    if others:
        parts.append(read_files(job, step, others, *table_file(struct, "parquet")))
    return reduce(DataFrame.unionByName, parts)


def read_arrow_files(job: Job, step: Step, pattern: str) -> DataFrame:
    """The records of Arrow IPC files, of the file and of the stream form; what does not fit is a dead letter."""
    names = find_files(job, step, pattern, "none")
    return read_files(job, step, names, *table_file(record_type(step.input), "arrow"))


def read_files(job: Job, step: Step, names: Sequence[str], read: Read, begin: Begin | None = None) -> DataFrame:
    """The records of files that Python reads as a whole. A file that lacks a column is found before anything is read,
    by its first record or by what `begin` gives first.
    """
    fields = plain_fields(step.input)
    for name in names:
        next(refusing(name, (begin or read)(name, job.where(name))), None)

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for file, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                records = refusing(file, read(file, path))
                while part := list(islice(records, AT_ONCE)):
                    numbers, rows, texts, errors = zip(*part, strict=True)
                    arrays: list[Any] = [
                        pyarrow.array(texts, pyarrow.string()),
                        pyarrow.array([file] * len(part), pyarrow.string()),
                        pyarrow.array(numbers, pyarrow.int64()),
                        *record_arrays(rows, fields),
                        pyarrow.array(errors, pyarrow.string()),
                    ]
                    yield pyarrow.record_batch(arrays, names=schema.names)

    text, number = StringType(), LongType()
    columns = [StructField("@text", text), StructField("@file", text), StructField("@number", number)]
    schema = StructType([*columns, *fields.fields, StructField("@broken", text)])
    found = listed(job, {name: name for name in names}).mapInArrow(decode, schema)
    return accepted(job, step, found, BROKEN, names).selectExpr(*record_columns(step.input))


def refusing(file: str, records: Iterator[T]) -> Iterator[T]:
    """What is in a file; what is wrong with it as a whole passes from Spark's Python workers as `Refused`."""
    try:
        yield from records
    except GhcmError as error:
        raise refusal(error, file=file) from None


def csv_file(struct: Struct, separator: str, compression: str, *, own: bool = False, keeps_empty: bool = False) -> Read:
    """The function that reads CSV files (`own`: of a sink); a record may hold line ends, so no column of lines can."""

    def read(file: str, path: str) -> Iterator[Found]:
        records, number = CsvRecords(struct, own=own, kept_by=separator if keeps_empty else ""), 1
        with open_lines(place(Path(), path), compression) as lines:
            for cells, raw, count in csv_records(lines, separator):
                try:
                    row = records.take(cells, raw, file)
                    if row is not None:
                        yield number, row, None, None
                except ValueError as error:
                    yield number, None, bare(raw), str(error)
                number += count

    return read


def zeek_file(struct: Struct, compression: str) -> Read:
    """The function that reads Zeek's logs: a line means what the headers before it say."""

    def read(file: str, path: str) -> Iterator[Found]:
        log = ZeekLog(struct)
        with open_lines(place(Path(), path), compression) as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith(b"#"):
                    log.take_header(line, file)
                    continue
                try:
                    row = log.take(line, file, number)
                    if row is not None:
                        yield number, row, None, None
                except ValueError as error:
                    yield number, None, bare(line), str(error)

    return read


def table_file(struct: Struct, format: str) -> tuple[Read, Begin]:
    """The functions that read Parquet or Arrow files, rows as the JSON objects of the same content, and as batches."""

    def batches(file: str, path: str) -> Iterator[Any]:
        return read_tables(place(Path(), path), file, format, struct, 0)

    def read(file: str, path: str) -> Iterator[Found]:
        record, number = object_reader(struct), 0
        for batch in batches(file, path):
            for row, text, error in table_rows(batch, record):
                number += 1
                yield number, row, text, error

    return read, batches


def read_parquet(job: Job, step: Step, sink: str, path: str) -> DataFrame:
    """The records of a Parquet table: its latest complete version, or the one that the call names. Nulls are not looked
    for in columns that the table promises to hold none in.
    """
    folder, element = job.where(path), step.input
    files = table_files(job, sink, folder, "parquet")
    schema = stored_columns(element)
    if not files:
        return empty(job, schema)
    if files[0].values:
        rows = rows_divided(job, folder, files, element)
    elif spark_path(job.spark, folder) is None:
        rows = parquet_rows(job, folder, [file.name for file in files], schema).selectExpr(*map(quoted, schema.names))
    else:
        rows = job.spark.read.schema(schema).parquet(*spark_paths(job, [f"{folder}/{file.name}" for file in files]))
    promised = {*never_null(job, sink, folder), *files[0].values}
    error = first(*(lacking(part, promised) for part in columns_of(element).fields))
    return rows if error is None else passed(job, rows, step, error)


def lacking(column: StructField, promised: set[str]) -> str | None:
    """The error of records in which a column, or a part of it, is null that may not be."""
    value, said = quoted(column.name), f'field "{column.name}" is'
    absent = fails(f"{value} IS NULL", "bad_record", f"{said} missing")
    inside = null_at(value, column.dataType, nullable=True)
    return first(
        None if column.nullable or column.name in promised else absent,
        fails(inside, "bad_record", f"{said} null in parts") if inside else None,
    )


def read_table(job: Job, step: Step, sink: str, path: str, format: str, separator: str = ",") -> DataFrame:
    """The records of a table of text files: its latest complete version, or the one that the call names."""
    folder = job.where(path)
    files = [os.path.join(folder, file.name) for file in table_files(job, sink, folder, format)]
    if not files:
        return empty(job, stored_columns(step.input))
    if format == "json":
        return decode_json(job, step, read_lines(job, files), files, own=True)
    struct = record_type(step.input)
    apart = len(struct.fields) > 1
    read = csv_file(struct, separator, "ending", own=True, keeps_empty=apart)
    heads = csv_heads(job, files, struct, separator, own=True, keeps_empty=apart)
    return read_cells(job, step, heads, "ending", lambda left: read_files(job, step, left, read))
