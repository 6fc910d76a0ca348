"""Logs of Zeek, whose lines mean what the headers before them say."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from ghcm.codegen.spark.library.csv_files import column_indices, csv_kind, record_batches
from ghcm.codegen.spark.library.files import accepted, find_files, in_files, listed, open_lines
from ghcm.codegen.spark.library.job import Job, Refused, Step
from ghcm.codegen.spark.library.json_files import lacking
from ghcm.codegen.spark.library.sql import fails, named, quoted, text, variable, when
from ghcm.codegen.spark.library.types import columns_of, ddl
from ghcm.codegen.spark.library.values import words


def read_zeek(
    job: Job,
    step: Step,
    pattern: str,
    keep: Sequence[str] = (),
    *,
    compression: str = "ending",
    clock: str = "restarts",
) -> DataFrame:
    """The records of Zeek's logs, whose headers may change in the middle; what does not fit is a dead letter."""
    names, wanted = find_files(job, step, pattern, compression), zeek_columns_of(step.input)
    for name in names:
        next(zeek_records(name, job.where(name), wanted, compression), None)
    lines = listed(job, names).mapInArrow(zeek_reader(wanted, compression), ZEEK_LINES)
    lines = in_files(lines, step, names, clock, keep)
    columns, values, errors = list[str](), list[str](), ["`@broken`"]
    for index, part in enumerate(columns_of(step.input).fields):
        value, error = zeek_value(f"get(`@fields`, {index})", part)
        values.append(value)
        columns.append(named(f"cast({value} AS {ddl(part.dataType)})", part.name))
        errors.append(error)
    errors += lacking(values, columns_of(step.input))
    return accepted(job, step, lines, f"coalesce({', '.join(errors)})", names).selectExpr(*map(quoted, keep), *columns)


ZEEK_LINES = StructType(
    [
        StructField("@text", StringType()),
        StructField("@file", StringType()),
        StructField("@number", LongType()),
        StructField("@fields", ArrayType(ArrayType(StringType()))),
        StructField("@broken", StringType()),
    ]
)


class Cell(NamedTuple):
    """Where a field stands: its column, whether that may be missing, whether it is a set or vector, the kind of its
    text, and the tags with which a union has it.
    """

    column: str
    may_miss: bool
    many: bool
    kind: str
    tags: list[str] | None


def zeek_columns_of(element: DataType) -> list[Cell]:
    """Where the fields of a record stand."""
    found: list[Cell] = []
    for part in columns_of(element).fields:
        type_ = part.dataType
        leaf = type_.elementType if isinstance(type_, ArrayType) else type_
        kind = "text" if isinstance(leaf, StringType) else "bytes" if isinstance(leaf, BinaryType) else "plain"
        many, said = isinstance(type_, ArrayType), part.metadata
        found.append(Cell(said.get("path", part.name), part.nullable, many, kind, said.get("of")))
    return found


def zeek_reader(wanted: list[Cell], compression: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that reads Zeek's logs in Spark's Python workers: a line means what the headers before it say."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for file, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                fields = pyarrow.list_(pyarrow.list_(pyarrow.string()))
                yield from record_batches(zeek_records(file, path, wanted, compression), fields)

    return read


def zeek_records(file: str, path: str, wanted: list[Cell], compression: str) -> Iterator[tuple[Any, ...]]:
    """Records of a log: raw text, file, line, the parts of each wanted cell (null where it is unset), what is wrong."""
    said = {"#separator": chr(9), "#set_separator": ",", "#empty_field": "(empty)", "#unset_field": "-"}
    header: list[str] | None = None
    indices: list[int | None] = []
    with open_lines(path, compression) as lines:
        for number, line in enumerate(lines, 1):
            own = line.removesuffix(b"\n").removesuffix(b"\r")
            text = own.decode(errors="replace")
            if text.startswith("#separator "):
                said["#separator"] = zeek_bytes(text.removeprefix("#separator ")).decode()
            elif text.startswith("#"):
                word, *rest = text.split(said["#separator"])
                if word == "#fields":
                    header, indices = rest, column_indices(file, rest, [each[:2] for each in wanted])
                elif word in said and rest:
                    said[word] = rest[0]
            elif text and own != text.encode():
                yield text, file, number, None, "bad_record: the text is not UTF-8"
            elif not text:
                continue
            elif header is None:
                message = f'cannot read "{file}:{number}": there is no line "#fields" before it'
                hint = "logs of Zeek without headers are JSON lines: format = json."
                raise Refused("GHCM-736", message, "", hint, file=file)
            else:
                cells = text.split(said["#separator"])
                if len(cells) != len(header):
                    wrong = f"bad_record: expected {len(header)} fields as in #fields, found {len(cells)}"
                    yield text, file, number, None, wrong
                    continue
                taken = [None if index is None else cells[index] for index in indices]
                parts: list[list[str | None] | None] = []
                try:
                    for cell, (_, _, many, kind, tags) in zip(taken, wanted, strict=True):
                        other = tags is not None and (parts[0] or [None])[0] not in tags
                        parts.append(None if other else zeek_parts(cell, many, kind, said))
                except UnicodeDecodeError:
                    yield text, file, number, None, "bad_record: an escaped text is not UTF-8"
                    continue
                yield text, file, number, parts, None


def zeek_parts(cell: str | None, many: bool, kind: str, said: dict[str, str]) -> list[str | None] | None:
    """The parts of a cell: one, or those of a set or vector; null where it is unset."""
    if cell is None or cell == said["#unset_field"]:
        return None
    if many and cell == said["#empty_field"]:
        return []
    parts = cell.split(said["#set_separator"]) if many else [cell]
    return [None if part == said["#unset_field"] else zeek_text(part, kind, said["#empty_field"]) for part in parts]


def zeek_text(part: str, kind: str, empty_field: str) -> str:
    """What a part stands for; bytes in base64."""
    if kind == "plain":
        return part
    data = b"" if part == empty_field else zeek_bytes(part)
    return data.decode() if kind == "text" else base64.b64encode(data).decode()


def zeek_bytes(part: str) -> bytes:
    r"""The bytes for which `\xHH` and `\\` stand; another backslash stands for itself."""
    escape = rb"\\x([0-9A-Fa-f]{2})|\\\\"
    return re.sub(escape, lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\", part.encode())


def zeek_value(cell: str, part: StructField) -> tuple[str, str]:
    """The value of a cell, and why it has none."""
    if isinstance(part.dataType, ArrayType):
        each, items = variable(), part.dataType
        value, fits = zeek_kind(each, items.elementType)
        unset = f"{each} IS NULL AND {str(not items.containsNull).lower()}"
        wrong = f"exists({cell}, {each} -> ({unset}) OR ({each} IS NOT NULL AND NOT coalesce({fits}, false)))"
        result = f"transform({cell}, {each} -> cast({value} AS {ddl(items.elementType)}))"
    else:
        only = f"get({cell}, 0)"
        result, fits = zeek_kind(only, part.dataType)
        wrong = f"NOT coalesce({fits}, false)"
    start = text(f'bad_record: field "{part.name}": expected {words(part.dataType)}, found "')
    found = f"concat({start}, substring(array_join({cell}, ','), 1, 60), '\"')"
    error = when(f"{cell} IS NOT NULL AND {wrong}", found)
    if not part.nullable:
        missing = fails(f"{cell} IS NULL", "bad_record", f'field "{part.name}" is missing')
        error = f"coalesce({missing}, {error})"
    return when(f"{cell} IS NULL", "NULL", result), error


def zeek_kind(part: str, type_: DataType) -> tuple[str, str]:
    """The value in a text, and whether the text has its form."""
    match type_:
        case BooleanType():
            return f"{part} = 'T'", f"{part} IN ('T', 'F')"
        case BinaryType():
            return f"unbase64({part})", "true"
        case _:
            return csv_kind(part, type_)
