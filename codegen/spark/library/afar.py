"""Tables in stores, which Spark's Python workers read and write by Arrow: Spark comes with no client of stores."""

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.files import listed, numbers_behind
from ghcm.codegen.spark.library.job import Job, refusing_table
from ghcm.codegen.spark.library.sql import quoted, text
from ghcm.codegen.spark.library.texts import as_texts
from ghcm.codegen.spark.library.types import columns_of, record_type
from ghcm.places import Remote
from ghcm.schemas.arrow import arrow_type
from ghcm.stores import file_system
from ghcm.tables.versions import DataFile

_ROWS = 8 * 1024


FOUND = StructType([StructField("@file", StringType()), StructField("@number", LongType())])
"""Where a row of a table stands: the name of its file in the folder, and its number from 1."""


def parquet_rows(job: Job, folder: str, names: Sequence[str], schema: StructType) -> DataFrame:
    """The rows of Parquet files of a folder in columns of Spark, and those of `FOUND`; what a file lacks is null."""
    whole = StructType([*schema.fields, *FOUND.fields])
    wanted, returned = (to_arrow_schema(each, timezone="UTC") for each in (schema, whole))

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        arrow: Any = pyarrow
        for name in (name for batch in batches for name in batch.column("file").to_pylist()):
            url, number = f"{folder}/{name}", 0
            file: Any
            with (
                refusing_table(url, "read"),
                parquet.ParquetFile(Remote(url).raw(), coerce_int96_timestamp_unit="us") as file,
            ):
                there = file.schema_arrow.names
                known = [column for column in wanted.names if column in there]
                for part in file.iter_batches(_ROWS, columns=known or there[:1]):
                    fields: Any = wanted
                    arrays: list[Any] = [
                        part.column(field.name).cast(field.type)
                        if field.name in known
                        else arrow.nulls(part.num_rows, field.type)
                        for field in fields
                    ]
                    arrays.append(arrow.repeat(arrow.scalar(name), part.num_rows))
                    arrays.append(numbers_behind(number, part.num_rows))
                    number += part.num_rows
                    yield arrow.RecordBatch.from_arrays(arrays, schema=returned)

    return listed(job, names).mapInArrow(read, whole)


def write_rows(rows: DataFrame, folder: Remote, element: Any, format: str, separator: str) -> list[DataFile]:
    """Write rows as objects of a folder, one for each task that has some. What a task writes that is done again stays
    without a name here, and goes with the folder.
    """
    head, names = "", columns_of(element).fieldNames()
    if format == "parquet":
        fields = [(field.name, arrow_type(field.type, stored=True)) for field in record_type(element).fields]
        given, fill = rows.selectExpr(*map(quoted, names)), _parquet(fields)
    else:
        given = as_texts(rows, element, format)
        if format == "csv":
            head, given = f"{separator.join(names)}\n", given.selectExpr(csv_line(names, separator))
        fill = _lines(head.encode())
    written = given.mapInArrow(_writer(folder.url, f".{format}", fill), "name string, rows long").collect()
    if format != "parquet" and not written:  # its name says that there is such a version
        (folder / f"part-0.{format}").write_bytes(head.encode())
        return [DataFile(f"part-0.{format}", 0)]
    return sorted((DataFile(row["name"], row["rows"]) for row in written), key=lambda file: file.name)


def csv_line(names: Sequence[str], separator: str) -> str:
    """Cells as a line of CSV, in SQL: nothing stands for null, quotes around nothing for an empty text."""
    special = text(f'[{re.escape(separator)}"\r\n]')
    cells = [
        f"CASE WHEN {cell} IS NULL THEN '' WHEN {cell} = '' OR {cell} RLIKE {special} "
        f"THEN concat('\"', replace({cell}, '\"', '\"\"'), '\"') ELSE {cell} END"
        for cell in map(quoted, names)
    ]
    line = f"concat_ws({text(separator)}, {', '.join(cells)})"
    return f"""if({line} = '', '""', {line})"""  # an empty line would be no record


def _writer(
    folder: str, ending: str, fill: Callable[[Any, Iterator[Any]], None]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        count, name = 0, f"part-{uuid.uuid4().hex}{ending}"

        def counted(part: Any) -> Any:
            nonlocal count
            count += part.num_rows
            return part

        full = (counted(batch) for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is None:
            return

        def every() -> Iterator[Any]:
            yield first
            yield from full

        system, path = file_system(f"{folder}/{name}")
        with refusing_table(folder, "write to"), system.open_output_stream(path, compression=None) as stream:
            fill(stream, every())
        yield pyarrow.record_batch([pyarrow.array([name]), pyarrow.array([count])], names=["name", "rows"])

    return write


def _parquet(fields: Sequence[tuple[str, Any]]) -> Callable[[Any, Iterator[Any]], None]:
    def fill(stream: Any, batches: Iterator[Any]) -> None:
        import pyarrow
        from pyarrow import parquet

        schema = pyarrow.schema(fields)
        with parquet.ParquetWriter(stream, schema, compression="zstd") as file:
            for batch in batches:
                file.write_table(pyarrow.Table.from_batches([batch]).cast(schema))

    return fill


def _lines(head: bytes) -> Callable[[Any, Iterator[Any]], None]:
    def fill(stream: Any, batches: Iterator[Any]) -> None:
        import pyarrow
        from pyarrow import compute

        functions: Any = compute
        arrow: Any = pyarrow
        stream.write(head)
        for batch in batches:
            texts = batch.column(0).cast(arrow.string())
            together = arrow.ListArray.from_arrays(arrow.array([0, len(texts)], arrow.int32()), texts)
            stream.write(functions.binary_join(together, "\n")[0].as_buffer())
            stream.write(b"\n")

    return fill
