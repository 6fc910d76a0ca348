"""Tables in stores, which Spark's Python workers read and write by Arrow: Spark comes with no client of stores."""

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.job import Job, refusing_table
from ghcm.codegen.spark.library.lines import listed, numbers_behind
from ghcm.codegen.spark.library.sql import quoted, text
from ghcm.codegen.spark.library.tables.texts import as_texts
from ghcm.codegen.spark.library.types import columns_of, record_type
from ghcm.places import Remote
from ghcm.schemas.arrow import arrow_type
from ghcm.stores import file_system
from ghcm.tables.partitions import folder_of
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

    return listed(job, {name: name for name in names}).mapInArrow(read, whole)


def write_rows(
    rows: DataFrame, folder: Remote, element: Any, format: str, separator: str, partition: Sequence[str]
) -> list[DataFile]:
    """Write rows as objects of a folder, one for each task that has some, and for each combination of the values of a
    `partition` in it. What a task writes that is done again stays without a name here, and goes with the folder.
    """
    head, names = "", columns_of(element).fieldNames()
    if format == "parquet":
        stored = {field.name: arrow_type(field.type, stored=True) for field in record_type(element).fields}
        given = rows.selectExpr(*map(quoted, names))
        if by := [*map(quoted, partition)]:
            given = given.hint("rebalance", *by).sortWithinPartitions(*by)
        fill = _parquet([(name, type_) for name, type_ in stored.items() if name not in partition])
    else:
        given = as_texts(rows, element, format)
        if format == "csv":
            head, given = f"{separator.join(names)}\n", given.selectExpr(csv_line(names, separator))
        fill = _lines(head.encode())
    written = given.mapInArrow(_writer(folder.url, f".{format}", fill, partition), "name string, rows long").collect()
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
    folder: str, ending: str, fill: Callable[[Any, Iterator[Any]], None], partition: Sequence[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        counts: dict[str, int] = {}

        def counted(name: str, parts: Iterator[tuple[str, Any]]) -> Iterator[Any]:
            for _, part in parts:
                counts[name] = counts.get(name, 0) + part.num_rows
                yield part

        with refusing_table(folder, "write to"):
            for inside, parts in groupby(_divided(batches, partition), itemgetter(0)):
                name = f"{inside}part-{uuid.uuid4().hex}{ending}"
                system, path = file_system(f"{folder}/{name}")
                with system.open_output_stream(path, compression=None) as stream:
                    fill(stream, counted(name, parts))
        names, rows = pyarrow.array([*counts], "string"), pyarrow.array([*counts.values()], "int64")
        yield pyarrow.record_batch([names, rows], names=["name", "rows"])

    return write


def _divided(batches: Iterator[Any], partition: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The folders in which rows belong, which have been sorted by the columns of the `partition`, and those rows
    without these.
    """
    if not partition:
        yield from (("", batch) for batch in filter(len, batches))
        return
    for batch in filter(len, batches):
        changes = _changes([batch.column(name) for name in partition])
        for start, end in pairwise([0, *changes, batch.num_rows]):
            values = {name: batch.column(name)[start].as_py() for name in partition}
            yield f"{folder_of(values)}/", batch.slice(start, end - start).drop_columns([*partition])


def _changes(columns: Sequence[Any]) -> list[int]:
    """The numbers of the rows that differ from those in front of them."""
    from pyarrow import compute

    functions: Any = compute
    found = set[int]()
    for column in columns:
        one, next_ = column.slice(0, len(column) - 1), column.slice(1)
        equal = functions.fill_null(functions.equal(one, next_), False)
        same = functions.or_(equal, functions.and_(one.is_null(), next_.is_null()))
        found.update(at + 1 for at in functions.indices_nonzero(functions.invert(same)).to_pylist())
    return sorted(found)


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
