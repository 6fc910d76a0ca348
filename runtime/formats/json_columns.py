"""A block of JSON, one object a line, into columns by Arrow's parser, whose numbers, texts and lists are those of the
language; times are made of texts and numbers here.

The lines that Arrow would read otherwise are none of the block (`json_suspects`). A record that does not fit is nowhere
told here: a block may not be read as a whole, or values are unsure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json as arrow_json

from ghcm import types
from ghcm.formats.fields import look_up
from ghcm.formats.zeek_log import Dialect
from ghcm.runtime.data.arrays import Marks
from ghcm.runtime.data.arrow import of_arrow
from ghcm.runtime.data.columns import dtype
from ghcm.runtime.formats.cells import UNSURE, Typed, date, micros, moment
from ghcm.runtime.formats.json_shape import Cells
from ghcm.runtime.formats.tables import lacks
from ghcm.schemas.arrow import arrow_type
from ghcm.types import Field, Struct, Type, is_nullable, strip
from ghcm.values import Json

_ROW = re.compile(r" in row (\d+)$")
_PLAIN = types.Bool | types.Int | types.Int32 | types.String | types.Float | types.Decimal | types.Enumeration
_TIMES = types.Timestamp | types.Date | types.Duration
_TEXT, _SECONDS = pa.string(), pa.float64()
_ODD = "@odd"
_MOST_ODD = 0.1


class Unfit(Exception):
    """One of the records does not fit, or nothing can be said of the block. `row`: about where, if that is known."""

    def __init__(self, row: int | None) -> None:
        super().__init__(row)
        self.row = row


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field stands: `path` as one key, `parts` in nested objects."""

    path: str
    parts: tuple[str, ...]

    @property
    def dotted(self) -> bool:
        return len(self.parts) > 1


class JsonColumns:
    """Reads blocks as records of a schema. `able`: whether it can read any; `by_paths`: whether a field has a path."""

    def __init__(self, schema: Struct) -> None:
        paths = [field.path or field.name for field in schema.fields]
        self._schema = schema
        self._places = [_Place(path, tuple(path.split("."))) for path in paths]
        self.by_paths = any(place.dotted for place in self._places)
        self.able = (
            bool(paths)
            and all(_is_able(field.type) for field in schema.fields)
            and len(set(paths)) == len(paths)
            and all(path.isascii() and path.isprintable() and not set(path) & set('"\\/') for path in paths)
        )

    def read(self, data: memoryview, rows: int, sample: dict[str, Json]) -> pl.DataFrame:
        """The records and, as `UNSURE`, which of them have to be read again, alone; without that column where none has.
        `sample`: one of the objects, which says where fields stand and how times are written. Raises `Unfit`.
        """
        flat = [not place.dotted or place.path in sample for place in self._places]
        asked = [
            _asked(field.type, place, sample) for field, place in zip(self._schema.fields, self._places, strict=True)
        ]
        table = _parsed(data, _arrow_schema(self._places, flat, asked))
        if table.num_rows != rows:
            raise Unfit(None)
        block = _Block(data)
        columns: list[pl.Series] = []
        found: list[Typed] = []
        for field, place, whole in zip(self._schema.fields, self._places, flat, strict=True):
            array = table.column(place.path) if whole else _within(table, place)
            if place.dotted and not whole and block.has(place.path):
                raise Unfit(None)
            if not isinstance(strip(field.type), _PLAIN | _TIMES) and not _is_sure(array, field.type):
                raise Unfit(None)
            column = pl.Series(field.name, array)
            columns.append(column)
            nested = whole and place.dotted and column.null_count() > 0 and block.has(place.parts[0])
            made = _typed(column, field.type)
            found.append(_doubted(made, column, field.type, nested=nested))
        return self._frame(columns, found)

    def of_cells(self, cells: Cells) -> tuple[list[pl.Series], Marks] | None:
        """The columns of lines that are spelt alike, and which lines have to be read again, alone. None where a field
        is neither a whole number nor a text there, or too many have to.
        """
        numbers, odd = cells.numbers(place.path for place in self._places)
        columns: list[pl.Series] = []
        for field, place in zip(self._schema.fields, self._places, strict=True):
            column = _cells(cells, place.path, field.type, numbers.get(place.path), odd)
            if column is None:
                return None
            columns.append(column)
        return (columns, odd) if odd.mean() <= _MOST_ODD else None

    def joined(self, parts: Sequence[tuple[list[pl.Series], Marks]]) -> pl.DataFrame | None:
        """As `read`, of the parts of a block; None where they are not of the same types."""
        columns: list[pl.Series] = []
        found: list[Typed] = []
        for index, field in enumerate(self._schema.fields):
            series = [part[index] for part, _ in parts]
            if any(each.dtype != series[0].dtype for each in series):
                return None
            column = pl.concat(series, rechunk=True).alias(field.name)
            columns.append(column)
            found.append(_doubted(_typed(column, field.type), column, field.type, nested=False))
        odd = np.concatenate([marks for _, marks in parts])
        if odd.any():
            columns.append(pl.Series(_ODD, odd))
            found[0] = Typed(found[0].value, _either(found[0].unsure, pl.col(_ODD)), found[0].made)
        return self._frame(columns, found)

    def _frame(self, columns: list[pl.Series], found: list[Typed]) -> pl.DataFrame:
        """The values, and where one of them is unsure."""
        schema = self._schema
        if not (schema.cases or schema.needs) and all(map(_is_typed, schema.fields, columns, found)):
            return pl.DataFrame(columns)
        typed = dict(zip(schema.names, found, strict=True))
        tag = found[0].value
        for name, tags in schema.cases:  # a union has the fields of the record that its tag names
            own, one = tag.is_in(list(tags)).fill_null(False), typed[name]
            unsure = None if one.unsure is None else own & one.unsure
            typed[name] = Typed(pl.when(own).then(one.value), unsure, one.made)
        doubts = [each.unsure for each in typed.values() if each.unsure is not None]
        for text, name, _ in schema.needs:
            doubts.append(((tag == text) & typed[name].value.is_null()).fill_null(False))
        frame = pl.DataFrame(columns)
        made = [each.made for each in typed.values() if each.made is not None]
        if made:
            frame = frame.with_columns(made)
        doubt = pl.any_horizontal(doubts) if doubts else pl.lit(False)
        values = [each.value.alias(name) for name, each in typed.items()]
        frame = frame.select(*values, doubt.alias(UNSURE))
        if not frame.get_column(UNSURE).any():
            frame.drop_in_place(UNSURE)
        return frame


def _cells(cells: Cells, key: str, type_: Type, number: pl.Series | None, odd: Marks) -> pl.Series | None:
    """The column of a field, and marks of what is none; None where these cells are of another type."""
    plain = strip(type_)
    if key not in cells.is_text:
        return pl.repeat(None, cells.lines, dtype=dtype(type_), eager=True) if is_nullable(type_) else None
    if number is None:
        if isinstance(plain, types.Timestamp) and (made := cells.moments(key)) is not None:
            odd |= made[1]
            return made[0].cast(dtype(plain))
        texts = types.String | types.Enumeration | types.Date | types.Timestamp
        return cells.texts(key) if isinstance(plain, texts) else None
    match plain:
        case types.Int():
            return number
        case types.Int32():
            small = number.cast(pl.Int32, strict=False)
            odd |= small.is_null().to_numpy()
            return small.fill_null(0)
        case types.Float() | types.Timestamp() | types.Duration():
            return number.cast(pl.Float64)
        case _:  # a number is nothing else
            return None


def _is_typed(field: Field, column: pl.Series, found: Typed) -> bool:
    """Whether a column is of the type of its field as it is."""
    return found.unsure is None and found.made is None and column.dtype == dtype(field.type)


def _either(one: pl.Expr | None, other: pl.Expr) -> pl.Expr:
    return other if one is None else one | other


def _is_able(type_: Type) -> bool:
    plain = strip(type_)
    return isinstance(plain, _PLAIN | _TIMES) or _is_nested(plain)


def _is_nested(type_: Type) -> bool:
    """Whether it is a list or a struct whose parts are as Arrow gives them."""
    match type_:
        case types.List(item=item):
            return _is_part(strip(item))
        case types.Struct(fields=fields, variants=variants, needs=needs):
            named = all(each.path in (None, each.name) for each in fields)
            return (
                bool(fields)
                and not variants
                and not needs
                and named
                and all(_is_part(strip(each.type)) for each in fields)
            )
        case _:  # the others are read value by value
            return False


def _is_part(type_: Type) -> bool:
    return isinstance(type_, types.Bool | types.Int | types.Int32 | types.String | types.Float) or _is_nested(type_)


def _asked(type_: Type, place: _Place, sample: dict[str, Json]) -> pa.DataType:
    """What Arrow is asked for; of times, what the sample has."""
    plain = strip(type_)
    if isinstance(plain, types.Timestamp):
        return _SECONDS if isinstance(look_up(sample, place.path), int | float) else _TEXT
    if isinstance(plain, types.Duration):
        return _SECONDS
    return _TEXT if isinstance(plain, types.Date) else arrow_type(type_, maps=False)


def _arrow_schema(places: list[_Place], flat: list[bool], asked: list[pa.DataType]) -> pa.Schema:
    """Raises `Unfit` where a key is to be an object and a value."""
    tree: dict[str, Any] = {}
    for place, whole, type_ in zip(places, flat, asked, strict=True):
        here, parts = tree, (place.path,) if whole else place.parts
        for part in parts[:-1]:
            inner: Any = here.setdefault(part, {})
            if not isinstance(inner, dict):
                raise Unfit(None)
            here = cast("dict[str, Any]", inner)
        if parts[-1] in here:
            raise Unfit(None)
        here[parts[-1]] = type_
    return pa.schema(_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[Any]:
    return [
        (name, pa.struct(_fields(cast("dict[str, Any]", part))) if isinstance(part, dict) else part)
        for name, part in tree.items()
    ]


def _parsed(data: memoryview, schema: pa.Schema) -> Any:
    arrow: Any = arrow_json
    try:
        return arrow.read_json(
            pa.BufferReader(data),
            arrow.ReadOptions(use_threads=False, block_size=len(data) + 1),
            arrow.ParseOptions(explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowInvalid as error:
        row = _ROW.search(str(error))
        raise Unfit(int(row[1]) if row else None) from None


def _within(table: Any, place: _Place) -> Any:
    import pyarrow.compute as pc  # large, and few programs need it

    compute: Any = pc
    return compute.struct_field(table.column(place.parts[0]), list(place.parts[1:]))


class _Block:
    """The bytes of a block, in which keys are looked for."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._texts: pl.Series | None = None

    def has(self, key: str) -> bool:
        """Whether the key, or a text that is spelt so, is in it."""
        if self._texts is None:
            arrow: Any = pa
            buffers = [None, arrow.array([0, len(self._data)]).buffers()[1], arrow.py_buffer(self._data)]
            self._texts = of_arrow(arrow.Array.from_buffers(pa.large_binary(), 1, buffers))
        return bool(self._texts.bin.contains(f'"{key}"'.encode()).item())


def _is_sure(array: Any, type_: Type) -> bool:
    """Whether nested values are those of the type: without nulls that it does not know, and odd numbers."""
    return not lacks(array, type_) and _are_numbers(pl.Series(array), strip(type_))


def _are_numbers(values: pl.Series, type_: Type) -> bool:
    match type_:
        case types.Float():
            frame = values.alias("value").to_frame()
            return not frame.select(_odd_number(pl.col("value")).any()).item()
        case types.List(item=item):
            return _are_numbers(values.explode(), strip(item))
        case types.Struct(fields=fields):
            return all(_are_numbers(values.struct.field(each.name), strip(each.type)) for each in fields)
        case _:  # of the other types Arrow gives what is written
            return True


def _odd_number(value: pl.Expr) -> pl.Expr:
    """Where it may be a whole number that is too large, or a zero with a sign, which whole numbers have not."""
    return ~value.is_finite() | ((value == 0) & (1 / value < 0))


def _typed(column: pl.Series, type_: Type) -> Typed:
    """The values of a column that are not null."""
    value, made, plain = pl.col(column.name), f"@made-{column.name}", strip(type_)
    if column.null_count() == len(column):
        return Typed(value.cast(dtype(plain), strict=False))
    match plain:
        case types.Float():
            return Typed(value, _odd_number(value))
        case types.Enumeration(values=values):
            return Typed(value, ~value.is_in(list(values)))
        case types.Date():
            return date(made, value)
        case types.Timestamp() if column.dtype == dtype(plain):
            return Typed(value)
        case types.Timestamp() if column.dtype == pl.String:
            return moment(made, value, column, Dialect())
        case types.Timestamp() | types.Duration():
            return micros(made, value, dtype(plain))
        case _:  # Arrow gives them as they are
            return Typed(value.cast(dtype(plain)))


def _doubted(typed: Typed, column: pl.Series, type_: Type, *, nested: bool) -> Typed:
    """Nulls may be nulls of the type; `nested`: there may be a value in a nested object instead."""
    if not column.null_count():
        return typed
    missing = pl.col(column.name).is_null()
    unsure = None if typed.unsure is None else ~missing & typed.unsure
    if nested or not is_nullable(type_):
        unsure = missing if unsure is None else missing | unsure
    return Typed(typed.value, unsure, typed.made)
