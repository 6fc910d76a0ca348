"""One file into one record: the format's own decoder reads the sample before and after a type is chosen."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, cast

from ghcm.errors import GhcmError
from ghcm.formats.files import BYTE_ORDER_MARK, UNREADABLE, nothing_to_read, open_file, unreadable
from ghcm.inference.sample import Decoded, Sample, TableSample, table_columns, take
from ghcm.inference.types import cell_type, is_clock, json_struct, unit_of, zeek_columns
from ghcm.runtime.data.columns import Row
from ghcm.schemas.records import distinct, field_name, named, record_name
from ghcm.spg.connectors import Format
from ghcm.types import Bytes, Field, Int, List, Map, Nullable, String, Struct, Type, as_nullable, strip
from ghcm.values import Json

FORMATS = ("json", "csv", "tsv", "zeek", "eve", "text", "parquet", "arrow")
_FIELD = re.compile(r'field "([^"]+)":')


@dataclass(frozen=True, slots=True)
class Inferred:
    """The record of a file. `rows` records were looked at and are decoded by it (`whole`: there are no more),
    `dead` says why others are not; `left_out` are the fields that have no type; `separator` stands between the cells of
    CSV; `units` say what the numbers of fields count that are timestamps.
    """

    record: Struct
    format: str
    separator: str
    rows: int
    whole: bool
    dead: tuple[str, ...]
    left_out: tuple[str, ...]
    units: Mapping[str, str]


def infer(path: Path, format_: str | None = None, name: str | None = None, rows: int = 1000) -> Inferred:
    """The record that the first `rows` records of a file are. GhcmError where it cannot be read, or has none."""
    if not path.is_file():
        raise nothing_to_read(str(path), Path.cwd())
    try:
        known = format_ or guess_format(path)
        left: list[str] = []
        separator = guess_separator(path) if known == "csv" else ","
        struct, decoded = _struct(path, known, separator, rows, left)
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error
    if not struct.fields:
        raise _no_record(path, known, decoded.dead, left)
    record = named(struct, name or record_name(path.name.lstrip(".").split(".")[0]))
    dead, units = tuple(decoded.dead), _units(struct, decoded.rows)
    return Inferred(record, known, separator, len(decoded.rows), decoded.whole, dead, tuple(left), units)


def _units(struct: Struct, rows: Sequence[Row]) -> dict[str, str]:
    """The fields of whole numbers that are moments, by their names and by how large they are."""
    clocks = [
        (index, field.name)
        for index, field in enumerate(struct.fields)
        if isinstance(strip(field.type), Int) and is_clock(field.name)
    ]
    numbers = {name: [row[index] for row in rows if isinstance(row[index], int)] for index, name in clocks}
    found = {name: unit_of(cast("list[int]", each)) for name, each in numbers.items()}
    return {name: unit for name, unit in found.items() if unit is not None}


def _no_record(path: Path, format_: str, dead: Sequence[str], left: Sequence[str]) -> GhcmError:
    """What a user reads where no field has a type, or nothing could be read."""
    cannot = f'cannot infer a record from "{path}"'
    if left:
        hint = ""
        if format_ in ("json", "eve"):
            hint = "json_get and its kin take values of any type out of lines that are read as text."
        shown = "; ".join(left[:3]) + ("; ..." if len(left) > 3 else "")
        return GhcmError(f"{cannot}: no field of it has a type", code="GHCM-736", detail=f"{shown}.", hint=hint)
    return GhcmError(
        f"{cannot}: no record of it can be read as {format_}",
        code="GHCM-736",
        detail=next(iter(dead), "It has no records."),
        hint="JSON is read as lines, one object each: jq -c makes them of anything else."
        if format_ in ("json", "eve")
        else "say what it is with --format: json, csv, tsv, zeek, eve, parquet or arrow.",
    )


def guess_format(path: Path) -> str:
    """The format by the file's name as `files` takes it, else by how it begins."""
    from ghcm.lowering.operators.sources import format_of

    by_name = format_of(path.name)
    if by_name is not None:
        return by_name
    with open_file(path, "ending", 0) as stream:
        head = stream.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
    if head.startswith((b"#separator", b"#fields", b"#set_separator")):
        return "zeek"
    starts = {b"{": "json", b"PAR1": "parquet", b"ARROW1": "arrow"}
    return next((name for start, name in starts.items() if head.startswith(start)), "text")


def guess_separator(path: Path) -> str:
    """What stands between the names of a CSV file's columns: another character only where no comma does."""
    lines = take(path, Format("csv"), 1).lines()
    header = re.sub(r'"[^"]*"', "", next(filter(None, lines), ""))
    return "," if "," in header else next((each for each in ";|\t" if each in header), ",")


def _struct(path: Path, format_: str, separator: str, rows: int, left: list[str]) -> tuple[Struct, Decoded]:
    match format_:
        case "parquet" | "arrow":
            table = TableSample(path, format_, rows)
            return _fitted(table_columns(path, format_, left), table, left)
        case "json" | "eve":
            sample = take(path, Format("json"), rows)
            struct = json_struct(_objects(sample), left)
            return struct, sample.decode(struct)
        case "csv" | "tsv":
            sample = take(path, Format("csv", "\t" if format_ == "tsv" else separator), rows)
            return _cells(sample, _header(sample), left)
        case "zeek":
            sample = take(path, Format("zeek"), rows)
            return _zeek(sample, left)
        case _:
            raise GhcmError(
                f'"{path}" is read as lines of text, which need no record',
                code="GHCM-618",
                detail="They are records Line {text: string, file: string, number: int} as they come.",
                hint=f'files("{path.name}", format = text), or say what it is: --format json.',
            )


def _objects(sample: Sample) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for line in sample.lines():
        try:
            data: object = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            found.append(cast("dict[str, Json]", data))
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"no JSON: {word}")


def _header(sample: Sample) -> list[str]:
    csv.field_size_limit(2**31 - 1)
    none: list[str] = []
    try:
        return next((cells for cells in csv.reader(sample.lines(), delimiter=sample.format.separator) if cells), none)
    except csv.Error:
        return none


def _texts(columns: Sequence[str], left: list[str]) -> Struct:
    """All columns as text that may be missing."""
    left += ["a column without a name"] if "" in columns else []
    again = dict.fromkeys(column for index, column in enumerate(columns) if column and column in columns[:index])
    left += [f'"{column}": another column of that name' for column in again]
    kept = [column for column in dict.fromkeys(columns) if column]
    names = distinct(field_name(column) for column in kept)
    return Struct(
        tuple(
            Field(name, Nullable(String()), None if name == column else column)
            for column, name in zip(kept, names, strict=True)
        )
    )


def _cells(sample: Sample, columns: Sequence[str], left: list[str]) -> tuple[Struct, Decoded]:
    texts, decoded = _lowered(_texts(columns, left), sample)
    rows = decoded.rows
    fields: list[Field] = []
    for index, field in enumerate(texts.fields):
        given = [str(row[index]) for row in rows if row[index] is not None]
        words = sample.format.name == "csv"
        type_ = cell_type(given, field.name, words=words) if field.type == Nullable(String()) else strip(field.type)
        fields.append(Field(field.name, type_ if given and len(given) == len(rows) else as_nullable(type_), field.path))
    struct = Struct(tuple(fields))
    return struct, sample.decode(struct)


def _zeek(sample: Sample, left: list[str]) -> tuple[Struct, Decoded]:
    """As `#types` says where that holds for the sample, text elsewhere."""
    columns = zeek_columns(sample.lines())
    if not any(columns.values()):
        return _cells(sample, list(columns), left)
    texts = _texts(list(columns), left)
    said = (
        Field(field.name, as_nullable(columns[field.path or field.name] or String()), field.path)
        for field in texts.fields
    )
    struct, decoded = _lowered(Struct(tuple(said)), sample)
    struct = _tightened(struct, decoded.rows)
    return struct, sample.decode(struct)


def _lowered(struct: Struct, sample: Sample) -> tuple[Struct, Decoded]:
    """Fields that do not fit as text, and as bytes where they are no text."""
    while True:
        decoded = sample.decode(struct)
        wrong = _named_in(decoded.dead, struct)
        fields = tuple(_lower(field) if field.name in wrong else field for field in struct.fields)
        if fields == struct.fields:
            return struct, decoded
        struct = Struct(fields)


def _lower(field: Field) -> Field:
    type_ = Bytes() if strip(field.type) in (String(), Bytes()) else String()
    return Field(field.name, Nullable(type_), field.path)


def _fitted(struct: Struct, sample: Sample | TableSample, left: list[str]) -> tuple[Struct, Decoded]:
    """The fields that decode every row, not null where none is."""
    decoded = sample.decode(struct)
    while wrong := _named_in(decoded.dead, struct):
        left += [f'"{name}": {decoded.dead[0].partition(": ")[2]}' for name in wrong]
        struct = Struct(tuple(field for field in struct.fields if field.name not in wrong))
        decoded = sample.decode(struct)
    return _tightened(struct, decoded.rows), decoded


def _named_in(dead: Sequence[str], struct: Struct) -> list[str]:
    """The fields that letters give as the reason."""
    named_there = dict.fromkeys(found[1] for letter in dead if (found := _FIELD.search(letter)))
    return [name for name in named_there if name in struct.names]


def _tightened(struct: Struct, rows: Sequence[Row]) -> Struct:
    """The struct without the `?` of what is never null in these rows; as it is where there are none."""
    if not rows:
        return struct
    return Struct(
        tuple(
            Field(field.name, _tight(field.type, [row[index] for row in rows]), field.path)
            for index, field in enumerate(struct.fields)
        ),
        struct.name,
    )


def _tight(type_: Type, values: Sequence[object]) -> Type:
    given = [value for value in values if value is not None]
    if isinstance(type_, Nullable):
        inner = _tight(type_.of, given)
        return inner if given and len(given) == len(values) else as_nullable(inner)
    match type_:
        case List(item=item):
            lists: list[list[object]] = [value for value in given if isinstance(value, list)]
            items = [each for value in lists for each in value]
            return List(_tight(item, items) if items else strip(item))
        case Map(key=key, value=held):
            maps: list[dict[object, object]] = [value for value in given if isinstance(value, dict)]
            return Map(key, _tight(held, [each for value in maps for each in value.values()]))
        case Struct():
            return _tightened(type_, cast("list[Row]", given))
        case _:  # a type that holds no others
            return type_
