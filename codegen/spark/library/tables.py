"""Tables: directories whose commit manifests say which files are in them, and their rows."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast
from urllib.parse import quote

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Refused, Written
from ghcm.codegen.spark.library.sql import (
    MOMENT,
    decimal_text,
    is_member,
    moment_sql,
    named,
    part,
    quoted,
    text,
    variable,
)
from ghcm.codegen.spark.library.types import columns_of, from_arrow, inside, plain_columns, record_type, whole_record
from ghcm.values import cell_writer, compact, own_writer

KEPT_US = 3600 * 1_000_000
"""How long replaced versions can still be read. It equals `KEPT_US` of `ghcm.runtime.sinks.table_directory`, which jobs
cannot import: the engine and Spark write the same tables.
"""


def manifests(folder: str, version: str | None = None) -> list[dict[str, Any]]:
    """The commits of a table since it was last replaced, oldest first, up to a version."""
    found: list[dict[str, Any]] = []
    home = os.path.join(folder, "_ghcm")
    for name in manifest_names(home):
        manifest = load_json(os.path.join(home, name))
        found = [manifest] if manifest["mode"] == "replace" else [*found, manifest]
        if manifest["version"] == version:
            return found
    if version is not None:
        raise Refused("GHCM-732", f'"{folder}" has no version "{version}"')
    return found


def table_files(folder: str, version: str | None = None) -> list[str]:
    """The files of a table; all data files of a directory that is not ours."""
    if not os.path.isdir(folder):
        return []
    ours = os.path.isdir(os.path.join(folder, "_ghcm")) or os.path.isdir(os.path.join(folder, "_staging"))
    if ours or version is not None:
        return [os.path.join(folder, file["name"]) for each in manifests(folder, version) for file in each["files"]]
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name[0] not in "_."]


def committed(folder: str, version: str) -> dict[str, Any] | None:
    """The commit of that version, if it was made already."""
    home = os.path.join(folder, "_ghcm")
    commits = (load_json(os.path.join(home, name)) for name in manifest_names(home))
    return next((each for each in commits if each["version"] == version), None)


def safe_name(version: str) -> str:
    """A version as part of a file name."""
    name = quote(version, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


@contextmanager
def staged(folder: str, version: str) -> Generator[str]:
    """An empty directory for the files of a version; what an earlier attempt left in it is dropped."""
    staging = os.path.join(folder, "_staging", safe_name(version))
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(staging)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def commit_files(folder: str, staging: str, version: str, mode: str, rows: dict[str, int], extension: str) -> None:
    """Move files from staging into the table and make them part of it all at once."""
    home = os.path.join(folder, "_ghcm")
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, ".lock"), "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if committed(folder, version) is not None:
            return
        files: list[dict[str, Any]] = []
        for number, (name, count) in enumerate(sorted(rows.items())):
            final = f"part-{safe_name(version)}-{number}.{extension}"
            os.replace(os.path.join(staging, name), os.path.join(folder, final))
            files.append({"name": final, "rows": count})
        now = time.time_ns() // 1000
        publish_manifest(
            home, {"version": version, "mode": mode, "files": files, "rows": sum(rows.values()), "time": now}
        )
        if mode == "replace":
            drop_replaced(folder, now - KEPT_US)


def publish_manifest(home: str, manifest: dict[str, Any]) -> None:
    """Put a commit behind the others; where another writer has taken its place, it takes the next."""
    draft = os.path.join(home, f".{uuid.uuid4().hex}")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(manifest, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    sequence = max((int(name[:20]) for name in manifest_names(home)), default=0) + 1
    while True:
        try:
            os.link(draft, os.path.join(home, f"{sequence:020d}.json"))
            break
        except FileExistsError:
            sequence += 1
    os.unlink(draft)


def manifest_names(home: str) -> list[str]:
    """The commits of a table, oldest first."""
    return (
        sorted(name for name in os.listdir(home) if re.fullmatch(r"[0-9]{20}[.]json", name))
        if os.path.isdir(home)
        else []
    )


def drop_replaced(folder: str, before: int) -> None:
    """Remove what was replaced before this moment, with its files."""
    home = os.path.join(folder, "_ghcm")
    commits = [(name, load_json(os.path.join(home, name))) for name in manifest_names(home)]
    replacing = [at for at, (_, each) in enumerate(commits) if each["mode"] == "replace" and each["time"] < before]
    for name, manifest in commits[: replacing[-1] if replacing else 0]:
        os.unlink(os.path.join(home, name))
        for file in manifest["files"]:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, file["name"]))


def load_json(path: str) -> dict[str, Any]:
    """The object in a file."""
    with open(path, encoding="utf-8") as file:
        return cast("dict[str, Any]", json.load(file))


def write_table(
    job: Job,
    rows: DataFrame,
    sink: str,
    path: str,
    element: T.DataType,
    *,
    format: str,
    mode: str,
    separator: str = ",",
) -> None:
    """Write rows as one version of a table directory: readers see all of them or none."""
    folder, version = job.where(path), job.context["call"]
    job.at = Written(sink, folder)
    done = committed(folder, version)
    job.repeated = job.repeated or done is not None
    if done is None:
        job.progress(len(job.sinks) / (len(job.sinks) + 2), f"writing {sink}")
        with staged(folder, version) as staging:
            target = os.path.join(staging, "data")
            write_files(rows, target, element, format, separator)
            names = [name for name in os.listdir(target) if name.startswith("part-")]
            counts = {f"data/{name}": count_rows(job, os.path.join(target, name), format, separator) for name in names}
            counts = {name: count for name, count in counts.items() if count}
            commit_files(folder, staging, version, mode, counts, {"text": "txt"}.get(format, format))
        done = {"rows": sum(counts.values())}
    job.sinks[sink] = {"version": version, "rows": done["rows"]}


def write_files(rows: DataFrame, target: str, element: T.DataType, format: str, separator: str) -> None:
    """Write rows as files of a format."""
    columns = columns_of(element).fields
    if format == "parquet":
        rows.selectExpr(*(quoted(part.name) for part in columns)).write.parquet(target)
    elif format == "json" and written_in_python(element):
        in_python(rows, element, json_lines(element), ["value"]).write.text(target)
    elif format == "json":
        value, type_ = whole_record(columns_of(element)), columns_of(element)
        line = own_json(value, type_) if has_cases(type_) else json_sql(json_form(value, type_))
        rows.selectExpr(line).write.text(target)
    elif format == "csv":
        names = [part.name for part in columns]
        if written_in_python(element):
            cells = in_python(rows, element, csv_cells(element), names)
        else:
            cells = rows.selectExpr(*(named(csv_text(quoted(part.name), part.dataType), part.name) for part in columns))
        if len(names) == 1:  # an empty line would be no record
            cells = cells.selectExpr(named(f"coalesce({quoted(names[0])}, '')", names[0]))
        cells.write.csv(
            target,
            header=True,
            sep=separator,
            escape='"',
            emptyValue='""',
            nullValue="",
            ignoreLeadingWhiteSpace=False,
            ignoreTrailingWhiteSpace=False,
        )
    else:
        rows.selectExpr(named(f"string({quoted(columns[0].name)})", "value")).write.text(target)


def written_in_python(type_: T.DataType) -> bool:
    """Whether there are floats or durations in a type: Java writes other digits than Python, and more of them."""
    match type_:
        case T.DoubleType() | T.DayTimeIntervalType():
            return True
        case T.ArrayType():
            return written_in_python(type_.elementType)
        case T.MapType():
            return written_in_python(type_.keyType) or written_in_python(type_.valueType)
        case T.StructType():
            return any(written_in_python(part.dataType) for part in type_.fields)
        case _:
            return False


def in_python(
    rows: DataFrame, element: T.DataType, texts: Callable[[list[Any]], list[list[str | None]]], names: Sequence[str]
) -> DataFrame:
    """Columns of text that Python makes of the rows."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            made = texts(batch.column(0).to_pylist(maps_as_pydicts="strict"))
            columns = [pyarrow.array(column, pyarrow.string()) for column in made]
            yield pyarrow.record_batch(columns, names=list(names))

    schema = T.StructType([T.StructField(name, T.StringType()) for name in names])
    return rows.selectExpr(named(plain_columns(element), "@row")).mapInArrow(write, schema)


def json_lines(element: T.DataType) -> Callable[[list[Any]], list[list[str | None]]]:
    """The function that gives the lines of rows in a JSON file."""
    record = record_type(element)
    row_of, to_json = from_arrow(record), own_writer(record)
    return lambda rows: [[compact(to_json(row_of(row))) for row in rows]]


def csv_cells(element: T.DataType) -> Callable[[list[Any]], list[list[str | None]]]:
    """The function that gives the columns of rows in a CSV file."""
    record = record_type(element)
    row_of, writers = from_arrow(record), [cell_writer(part.type) for part in record.fields]

    def cells(rows: list[Any]) -> list[list[str | None]]:
        taken = [row_of(row) for row in rows]
        return [[write(row[index]) for row in taken] for index, write in enumerate(writers)]

    return cells


def json_sql(value: str) -> str:
    """A list, map or struct as JSON text, with all fields."""
    return f"to_json({value}, map('ignoreNullFields', 'false', 'timestampFormat', {text(MOMENT)}))"


def json_form(value: str, type_: T.DataType) -> str:
    """A value in a form whose JSON is the one of its type."""
    match type_:
        case T.DecimalType():
            return decimal_text(value, type_.scale)
        case T.MapType() if not isinstance(type_.keyType, T.StringType):
            each = variable()
            key, held = json_form(f"{each}.key", type_.keyType), json_form(f"{each}.value", type_.valueType)
            pair = f"array(to_variant_object(array({key}))[0], to_variant_object(array({held}))[0])"
            return f"transform(map_entries({value}), {each} -> {pair})"
        case T.ArrayType() | T.MapType() | T.StructType():
            return inside(value, type_, json_form)
        case _:
            return value


def has_cases(type_: T.DataType) -> bool:
    """Whether a union whose records have different fields is in a type."""
    match type_:
        case T.ArrayType():
            return has_cases(type_.elementType)
        case T.MapType():
            return has_cases(type_.valueType)
        case T.StructType():
            return any("of" in part.metadata or has_cases(part.dataType) for part in type_.fields)
        case _:
            return False


def own_json(value: str, type_: T.DataType) -> str:
    """The JSON text of a value in which unions have only the fields of the records that they are."""
    each = variable()
    match type_:
        case T.ArrayType() if has_cases(type_):
            held = (
                f"concat('[', array_join(transform({value}, {each} -> {own_json(each, type_.elementType)}), ','), ']')"
            )
        case T.MapType() if has_cases(type_):
            named_ = isinstance(type_.keyType, T.StringType)
            key, inner = own_json(f"{each}.key", type_.keyType), own_json(f"{each}.value", type_.valueType)
            pair = f"concat({key}, ':', {inner})" if named_ else f"concat('[', {key}, ',', {inner}, ']')"
            pairs = f"array_join(transform(map_entries({value}), {each} -> {pair}), ',')"
            held = f"concat({text('{' if named_ else '[')}, {pairs}, {text('}' if named_ else ']')})"
        case T.StructType() if has_cases(type_):
            fields = ", ".join(own_field(value, part, type_) for part in type_.fields)
            held = f"concat({text('{')}, concat_ws(',', {fields}), {text('}')})"
        case _:
            whole = json_sql(f"named_struct('v', {json_form(value, type_)})")
            return f"transform(array({whole}), {each} -> substring({each}, 6, length({each}) - 6))[0]"
    return f"if({value} IS NULL, 'null', {held})"


def own_field(value: str, field: T.StructField, type_: T.StructType) -> str:
    """A field with its name in a JSON object, null where a union has it not."""
    found = f"concat({text(compact(field.name) + ':')}, {own_json(part(value, field.name), field.dataType)})"
    tags = field.metadata.get("of")
    return found if tags is None else f"if({is_member(part(value, type_.fields[0].name), tags)}, {found}, NULL)"


def csv_text(value: str, type_: T.DataType) -> str:
    """A value as the text of a field of CSV."""
    match type_:
        case T.TimestampType():
            return moment_sql(value)
        case T.DecimalType():
            return f"string({json_form(value, type_)})"
        case T.BinaryType():
            return f"base64({value})"
        case T.ArrayType() | T.MapType() | T.StructType():
            return json_sql(json_form(value, type_))
        case _:
            return f"string({value})"


def count_rows(job: Job, path: str, format: str, separator: str) -> int:
    """The rows of a file that was written."""
    if format == "parquet":
        context: Any = job.spark.sparkContext
        jvm, conf = context._jvm, context._jsc.hadoopConfiguration()
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(path), conf)
        reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        try:
            return int(reader.getRecordCount())
        finally:
            reader.close()
    csv.field_size_limit(2**31 - 1)
    with open(path, encoding="utf-8", newline="\n") as lines:
        records = csv.reader(lines, delimiter=separator) if format == "csv" else lines
        return max(0, sum(1 for _ in records) - (format == "csv"))
