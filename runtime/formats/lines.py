"""Records into texts of JSON, CSV or nothing but their text, one each: lines of files, messages of topics.

Frames, and rows where there are many, are written by whole columns where Polars, or one call for all values, gives the
text that `ghcm.values` gives; other columns value by value, and few rows row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import polars as pl
import pyarrow as pa

from ghcm import types
from ghcm.formats.csv_records import line_writer
from ghcm.runtime.data.arrow import of_arrow
from ghcm.runtime.data.columns import Row, columns_of, rows_of, values
from ghcm.spg.connectors import Format
from ghcm.types import Struct, Type, strip
from ghcm.values import cell_writer, compact, own_writer

Rows: TypeAlias = Sequence[Row] | pl.DataFrame
Encode: TypeAlias = Callable[[Rows], pl.Series]
"""Gives the text of each record."""

_COLUMNAR_FROM = 256
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b"}
_ESCAPED = {chr(code): f"\\u{code:04x}" for code in range(32)} | _SHORT
_TIMESTAMPS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_DATES = (-719_162, 2_932_896)
"""From the year 1 to 9999."""


def encoder(format_: Format, columns: Struct) -> Encode:
    """The encoder of records of these columns. Text is that of the only column."""
    match format_.name:
        case "csv":
            return _Csv(columns, format_.separator)
        case "text":
            return _texts
        case _:
            return _Json(columns)


def framed(rows: Rows, columns: Struct) -> Rows:
    """A frame of rows that are so many that it is worth its making, else what was given; rows of unions stay rows."""
    if isinstance(rows, pl.DataFrame) or len(rows) < _COLUMNAR_FROM or not columns.fields or columns.cases:
        return rows
    return columns_of(rows, _schema(columns))


def json_texts(column: pl.Series, type_: Type) -> pl.Series:
    """The values of a column as JSON."""
    texts, quote = _json_texts(column, type_)
    return quote + texts + quote if quote else texts


def _json_texts(column: pl.Series, type_: Type) -> tuple[pl.Series, str]:
    """The values of a column as JSON, and the quote that is still to stand around each, if any."""
    plain = strip(type_)
    texts, quote = _plain_texts(column, plain), ""
    if texts is None:
        write = own_writer(plain)
        given = (None if value is None else compact(write(value)) for value in values(column, type_))
        texts = pl.Series(column.name, given, dtype=pl.String)
    elif isinstance(plain, types.String | types.Enumeration):
        quote, texts = '"', texts.str.replace_many(_ESCAPED) if _has_to_escape(texts) else texts
    elif isinstance(plain, types.Timestamp | types.Date):
        quote = '"'
    if not texts.null_count():
        return texts, quote
    return (quote + texts + quote if quote else texts).fill_null("null"), ""


def _has_to_escape(texts: pl.Series) -> bool:
    """Whether one of them may hold what JSON escapes: all bytes are compared as numbers, which takes an eighth of the
    time of a search.
    """
    array = cast("Any", texts).to_arrow(compat_level=pl.CompatLevel.oldest())
    *_, content = array.buffers()
    if not content:
        return False
    arrow: Any = pa
    codes = of_arrow(arrow.Array.from_buffers(arrow.uint8(), content.size, [None, content]))
    return cast("int", codes.min()) < ord(" ") or any((codes == ord(each)).any() for each in '"\\')


def cells(column: pl.Series, type_: Type) -> pl.Series:
    """The values of a column as cells (see `cell_writer`)."""
    texts = _plain_texts(column, strip(type_))
    return pl.Series(column.name, map(cell_writer(type_), values(column, type_)), pl.String) if texts is None else texts


class _Json:
    def __init__(self, columns: Struct) -> None:
        self._columns = columns
        self._to_json = own_writer(columns)
        self._begins = [("," if at else "{") + f"{compact(name)}:" for at, name in enumerate(columns.names)]

    def __call__(self, rows: Rows) -> pl.Series:
        columns = self._columns
        frame = framed(rows, columns)
        if not isinstance(frame, pl.DataFrame) or columns.cases or not columns.fields or not frame.height:
            return _series([compact(self._to_json(row)) for row in _rows(frame, columns)])
        parts, behind = list[pl.Expr](), ""
        for begin, field in zip(self._begins, columns.fields, strict=True):
            texts, quote = _json_texts(frame[field.name], field.type)
            parts += [pl.lit(f"{behind}{begin}{quote}"), pl.lit(texts)]
            behind = quote
        return pl.select(pl.concat_str(*parts, pl.lit(behind + "}"))).to_series()


class _Csv:
    """Lines as those of `line_writer`."""

    def __init__(self, columns: Struct, separator: str) -> None:
        self._columns = columns
        self._separator = separator
        self._special = [separator, '"', "\r", "\n"]
        self.line = line_writer(separator)
        self._writers = [cell_writer(field.type) for field in columns.fields]

    def __call__(self, rows: Rows) -> pl.Series:
        frame = framed(rows, self._columns)
        if not isinstance(frame, pl.DataFrame) or not self._columns.fields or not frame.height:
            written = (zip(self._writers, row, strict=True) for row in _rows(frame, self._columns))
            return _series([self.line(write(value) for write, value in row) for row in written])
        texts = [self._quoted(cells(frame[field.name], field.type)) for field in self._columns.fields]
        lines = pl.select(pl.concat_str(*map(pl.lit, texts), separator=self._separator)).to_series()
        return lines.replace("", '""')

    def _quoted(self, texts: pl.Series) -> pl.Series:
        needed = texts.str.contains_any(self._special) | (texts == "")
        if needed.any():
            quoted = '"' + texts.str.replace_all('"', '""', literal=True) + '"'
            texts = quoted.zip_with(needed.fill_null(value=False), texts)
        return texts.fill_null("")


def header(columns: Struct, separator: str) -> str:
    """The line of CSV that names the columns."""
    return line_writer(separator)(columns.names)


def _texts(rows: Rows) -> pl.Series:
    return rows.to_series() if isinstance(rows, pl.DataFrame) else _series([str(text) for (text,) in rows])


def _series(texts: list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def _schema(columns: Struct) -> list[tuple[str, Type]]:
    return [(field.name, field.type) for field in columns.fields]


def _rows(rows: Rows, columns: Struct) -> Sequence[Row]:
    return rows_of(rows, _schema(columns)) if isinstance(rows, pl.DataFrame) else rows


def _plain_texts(column: pl.Series, plain: Type) -> pl.Series | None:
    """The texts of a column without quotes; None where there is no way but value by value."""
    match plain:
        case types.String() | types.Enumeration():
            return column
        case types.Int() | types.Int32() | types.Bool():
            return column.cast(pl.String)
        case types.Float() if not column.null_count() and column.is_finite().all():
            return pl.Series(column.name, compact(column.to_list())[1:-1].split(","), dtype=pl.String)
        case types.Timestamp() if _within(column, _TIMESTAMPS):
            return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.6fZ")
        case types.Date() if _within(column, _DATES):
            return column.dt.to_string("%Y-%m-%d")
        case _:  # they have no such text, or one that is not sure
            return None


def _within(column: pl.Series, limits: tuple[int, int]) -> bool:
    return column.to_physical().is_between(*limits).all()
