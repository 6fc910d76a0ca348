"""CSV files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ghcm.codegen.spark.library.files import accepted, find_files, in_files, listed, open_lines
from ghcm.codegen.spark.library.job import Job, Refused, Step
from ghcm.codegen.spark.library.json_files import (
    decoded_kind,
    exact_decimal,
    iso_date,
    iso_micros,
    lacking,
    of_its_record,
    rounded_micros,
    with_signs,
)
from ghcm.codegen.spark.library.sql import (
    REAL_NUMBER,
    WHOLE_NUMBER,
    fails,
    is_member,
    matching,
    named,
    parsed_float,
    quoted,
    text,
    when,
)
from ghcm.codegen.spark.library.types import EnumType, columns_of, ddl
from ghcm.codegen.spark.library.values import words


def read_csv(
    job: Job,
    step: Step,
    pattern: str,
    keep: Sequence[str] = (),
    *,
    separator: str = ",",
    compression: str = "ending",
    clock: str = "restarts",
) -> DataFrame:
    """The records of CSV files, whose first lines name the columns; what does not fit is a dead letter."""
    names = find_files(job, step, pattern, compression)
    for name in names:  # a header that lacks a column is found before anything is read
        next(csv_records(name, job.where(name), csv_names(step.input), separator, compression), None)
    return decode_csv(job, step, names, keep, separator=separator, compression=compression, clock=clock)


def decode_csv(
    job: Job,
    step: Step,
    names: Sequence[str],
    keep: Sequence[str] = (),
    *,
    separator: str = ",",
    compression: str = "ending",
    clock: str = "restarts",
) -> DataFrame:
    """The records of these CSV files."""
    lines = listed(job, names).mapInArrow(csv_reader(csv_names(step.input), separator, compression), CSV_LINES)
    lines = in_files(lines, step, names, clock, keep)
    columns, error = csv_columns(step.input)
    return accepted(job, step, lines, error, names).selectExpr(*map(quoted, keep), *columns)


CSV_LINES = StructType(
    [
        StructField("@text", StringType()),
        StructField("@file", StringType()),
        StructField("@number", LongType()),
        StructField("@fields", ArrayType(StringType())),
        StructField("@broken", StringType()),
    ]
)


def csv_names(element: DataType) -> list[tuple[str, bool]]:
    """The columns of the file that hold the fields of a record, and whether they may be missing."""
    return [(part.metadata.get("path", part.name), part.nullable) for part in columns_of(element).fields]


def column_indices(file: str, header: list[str], wanted: list[tuple[str, bool]]) -> list[int | None]:
    """Where the wanted columns stand in a header."""
    missing = [name for name, may_miss in wanted if name not in header and not may_miss]
    if missing:
        raise no_column(file, missing, header)
    return [header.index(name) if name in header else None for name, _ in wanted]


def no_column(file: str, missing: list[str], header: list[str]) -> Refused:
    """What is wrong where a header lacks columns."""
    close = {name: near[0] for name in missing if (near := get_close_matches(name, header, n=1))}
    hints = [
        (f'for "{name}", ' if len(missing) > 1 else "") + f'did you mean "{near}"?' for name, near in close.items()
    ]
    lacks = ", ".join(f'"{name}"' for name in missing)
    return Refused(
        "GHCM-736",
        f'cannot read "{file}": it has no column{"s" if len(missing) > 1 else ""} {lacks}',
        f"Its columns are {', '.join(header)}." if header else "It names no columns.",
        "; ".join(hints) or 'a field that stands elsewhere says so, from "column"; one that may be missing ends in ?.',
        file=file,
    )


def csv_reader(
    wanted: list[tuple[str, bool]], separator: str, compression: str
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that reads CSV files in Spark's Python workers: a record may hold line ends, so no column can."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for file, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                fields = pyarrow.list_(pyarrow.string())
                yield from record_batches(csv_records(file, path, wanted, separator, compression), fields)

    return read


def record_batches(records: Iterator[tuple[Any, ...]], fields: Any) -> Iterator[Any]:
    """Rows of `CSV_LINES` as Arrow; `fields` is the type of the cells."""
    import pyarrow

    while rows := list(islice(records, 10_000)):
        types = [pyarrow.string(), pyarrow.string(), pyarrow.int64(), fields, pyarrow.string()]
        columns = zip(zip(*rows, strict=True), types, strict=True)
        arrays = [pyarrow.array(values, type=type_) for values, type_ in columns]
        yield pyarrow.record_batch(arrays, names=CSV_LINES.fieldNames())


def csv_records(
    file: str, path: str, wanted: list[tuple[str, bool]], separator: str, compression: str
) -> Iterator[tuple[Any, ...]]:
    """Records of a CSV file: raw text, file, line, the wanted fields (null without a column), what is wrong."""
    csv.field_size_limit(2**31 - 1)
    taken: list[bytes] = []

    def texts(lines: Iterable[bytes]) -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line.decode(errors="replace")

    with open_lines(path, compression) as lines:
        reader = csv.reader(texts(lines), delimiter=separator)
        indices: list[int | None] | None = None
        width, number = 0, 1
        while True:
            broken, fields = None, []
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                broken = f"bad_record: {error}"
            own = b"".join(taken).removesuffix(b"\n").removesuffix(b"\r")
            start, number = number, number + len(taken)
            taken.clear()
            text = own.decode(errors="replace")
            if own != text.encode():
                broken = "bad_record: the text is not UTF-8"
            elif not broken and not fields:
                continue
            if not broken and indices is None:
                indices = column_indices(file, fields, wanted)
                width = len(fields)
                continue
            if not broken and len(fields) != width:
                broken = f"bad_record: expected {width} fields as in the header, found {len(fields)}"
            values = None if broken or indices is None else [None if at is None else fields[at] for at in indices]
            yield text, file, start, values, broken


def csv_columns(element: DataType) -> tuple[list[str], str]:
    """The columns of the records in `@fields`, and why one is none."""
    columns, values, errors = list[str](), list[str](), ["`@broken`"]
    for index, part in enumerate(columns_of(element).fields):
        value, error = csv_value(f"get(`@fields`, {index})", part)
        values.append(value)
        value, error = of_its_record(value, error, part, values[0])
        columns.append(named(f"cast({value} AS {ddl(part.dataType)})", part.name))
        errors.append(error)
    return columns, f"coalesce({', '.join([*errors, *lacking(values, columns_of(element))])})"


def csv_value(field: str, part: StructField) -> tuple[str, str]:
    """The value of a field, and why it has none."""
    is_text = isinstance(part.dataType, StringType) and not part.nullable
    absent = f"{field} IS NULL" if is_text else f"coalesce({field} = '', true)"
    result, fits = csv_kind(field, part.dataType)
    start = text(f'bad_record: field "{part.name}": expected {words(part.dataType)}, found "')
    wrong = f"concat({start}, substring({field}, 1, 60), '\"')"
    error = when(f"NOT {absent} AND NOT coalesce({fits}, false)", wrong)
    if not part.nullable:
        missing = fails(absent, "bad_record", f'field "{part.name}" is missing')
        error = f"coalesce({missing}, {error})"
    return when(absent, "NULL", result), error


def csv_kind(field: str, type_: DataType) -> tuple[str, str]:
    """The value in a text, and whether the text has its form."""
    whole = f"try_cast({field} AS bigint)"
    match type_:
        case BooleanType():
            return f"lower({field}) = 'true'", f"lower({field}) IN ('true', 'false')"
        case LongType():
            return whole, f"{matching(field, WHOLE_NUMBER)} AND {whole} IS NOT NULL"
        case IntegerType():
            fits = f"{matching(field, WHOLE_NUMBER)} AND {whole} BETWEEN {-(2**31)} AND {2**31 - 1}"
            return f"try_cast({whole} AS int)", fits
        case DoubleType():
            return parsed_float(field), matching(field, REAL_NUMBER)
        case EnumType(values=values):
            return field, is_member(field, values)
        case StringType():
            return field, "true"
        case TimestampType():
            number = rounded_micros(f"({parsed_float(field)})")
            moment = when(matching(field, REAL_NUMBER), number, iso_micros(field))
            return f"timestamp_micros({moment})", f"({moment}) IS NOT NULL"
        case DateType():
            return iso_date(field), f"({iso_date(field)}) IS NOT NULL"
        case DayTimeIntervalType():
            length = rounded_micros(f"({parsed_float(field)})")
            return length, f"{matching(field, REAL_NUMBER)} AND ({length}) IS NOT NULL"
        case DecimalType():
            return exact_decimal(field, type_)
        case _:
            data = f"try_parse_json({with_signs(field)})"
            return decoded_kind(data, f"schema_of_variant({data})", type_, False)
