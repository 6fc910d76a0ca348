"""Delta tables as sources of a job: Spark reads the files that are in a version, as the log says in the driver."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StructField, StructType, TimestampType

from ghcm.codegen.spark.library.hadoop import spark_path
from ghcm.codegen.spark.library.job import Job, Step, letters, parted, refusing_table
from ghcm.codegen.spark.library.lines import empty, name_behind, spark_paths
from ghcm.codegen.spark.library.sql import fails, is_member, named, quoted
from ghcm.codegen.spark.library.tables.stores import FOUND, parquet_rows
from ghcm.codegen.spark.library.types import EnumType, columns_of, null_at, record_type, stored, stored_columns
from ghcm.formats.records import object_reader
from ghcm.formats.tables import table_rows
from ghcm.places import place
from ghcm.tables.reading import OpenTable, divided_values
from ghcm.tables.versions import DataFile
from ghcm.types import Struct
from ghcm.values.timestamps import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS


def read_delta(job: Job, step: Step, path: str, *, version: int | None = None, time_us: int | None = None) -> DataFrame:
    """The rows of a Delta table as of a version, a time or now; those that are no records are dead letters."""
    import pyarrow

    arrow: Any = pyarrow
    job.at = step
    folder, record, fields = job.where(path), record_type(step.input), columns_of(step.input).fields
    with refusing_table(folder, "read"):
        table = OpenTable(place(Path(), folder), path, record, version, time_us)
        files = table.files()
    job.reading.update((f"{path}/{file.name}", (step, "none")) for file in files)
    places = {field.name: field.metadata.get("path") or field.name for field in fields}
    held = {places[field.name]: StructField(places[field.name], stored(field.dataType)) for field in fields}
    said = {name: type_ for name, type_ in table.columns.items() if name in table.partition}
    values = {name: arrow.array([file.values.get(name) for file in files], type_) for name, type_ in said.items()}
    kept = None if all(file.kept is None for file in files) else [file.kept for file in files]
    rows = rows_of_files(job, folder, [file.name for file in files], held, values, kept)
    tests = (null_at(quoted(places[f.name]), f.dataType, nullable=f.nullable, wrong=no_value) for f in fields)
    if wrong := " OR ".join(filter(None, tests)):
        tell = rows_as_texts(record, table.columns)

        def as_letters(failed: DataFrame) -> DataFrame:
            failed = failed if "@file" in failed.columns else placed(failed, folder)
            asked = failed.selectExpr("`@file`", "`@number`", *map(quoted, table.columns))
            told = asked.mapInArrow(tell, "`@text` string, `@error` string")
            return letters(job, told, step, "left(`@text`, 16384)")

        rows = parted(job, rows, fails(wrong, "bad_record", "the row is no record"), as_letters, None)
    return rows.selectExpr(*(named(quoted(path), name) for name, path in places.items()))


def rows_divided(job: Job, folder: str, files: Sequence[DataFile], element: DataType) -> DataFrame:
    """The rows of a sink whose files are divided by columns."""
    import pyarrow

    arrow: Any = pyarrow
    held = {field.name: field for field in stored_columns(element).fields}
    each = [divided_values(record_type(element), file.values) for file in files]
    values = {name: arrow.array([found[name].as_py() for found in each], one.type) for name, one in each[0].items()}
    rows = rows_of_files(job, folder, [file.name for file in files], held, values)
    return rows.selectExpr(*map(quoted, held))


def rows_of_files(
    job: Job,
    folder: str,
    names: Sequence[str],
    held: Mapping[str, StructField],
    values: Mapping[str, Any],
    kept: Sequence[bytes | None] | None = None,
) -> DataFrame:
    """The rows of files in the columns `held`. Of each file: the `values` of columns that it lacks, and which rows are
    `kept` (see `TableFile`).
    """
    import pyarrow

    arrow: Any = pyarrow
    schema = StructType([field for name, field in held.items() if name not in values])
    if not names:
        return empty(job, StructType([*held.values(), *FOUND.fields]))
    if spark_path(job.spark, folder) is None:
        rows = parquet_rows(job, folder, names, schema)
    else:
        rows = job.spark.read.schema(schema).parquet(*spark_paths(job, [f"{folder}/{name}" for name in names]))
        rows = rows if not values and kept is None else placed(rows, folder)
    if not values and kept is None:
        return rows
    known: dict[str, Any] = {"@file": names}
    for name, column in values.items():
        known[name] = column.cast(arrow.int64()) if arrow.types.is_duration(column.type) else column
    if kept is not None:
        known["@kept"] = arrow.array(kept, arrow.binary())
    rows = rows.join(F.broadcast(job.spark.createDataFrame(arrow.table(known))), "@file")
    if kept is None:  # else Spark would number all rows for nothing
        return rows
    left = "coalesce(substring(`@kept`, CAST(`@number` AS int), 1) != X'00', true)"
    return rows.where(left).drop("@kept")


def placed(rows: DataFrame, folder: str) -> DataFrame:
    """The rows of files of a folder with their file and number. Spark makes all it knows of a file for that."""
    return rows.selectExpr("*", f"{name_behind(folder)} AS `@file`", "_metadata.row_index + 1 AS `@number`")


def no_value(value: str, type_: DataType) -> str:
    """Whether a value is none of its type, of the types that Delta tables hold as wider ones; empty of the others."""
    match type_:
        case EnumType(values=values):
            return f"NOT {is_member(value, values)}"
        case TimestampType():
            return f"NOT {value} BETWEEN timestamp_micros({FIRST_MICROS}L) AND timestamp_micros({LAST_MICROS}L)"
        case DateType():
            return f"NOT {value} BETWEEN date_from_unix_date({FIRST_DAY}) AND date_from_unix_date({LAST_DAY})"
        case _:
            return ""


def rows_as_texts(record: Struct, columns: Mapping[str, Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that says of rows, in Spark's Python workers, what they are and why they are no records."""
    read = object_reader(record)

    def tell(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            arrays = [batch.column(name).cast(type_) for name, type_ in columns.items()]
            rows = table_rows(pyarrow.record_batch(arrays, names=list(columns)), read)
            found = zip(batch.column("@file").to_pylist(), batch.column("@number").to_pylist(), rows, strict=True)
            told = [(text or "", f"bad_record: {file}:{number}: {error}") for file, number, (_, text, error) in found]
            texts = [pyarrow.array([each[at] for each in told], pyarrow.string()) for at in (0, 1)]
            yield pyarrow.record_batch(texts, names=["@text", "@error"])

    return tell
