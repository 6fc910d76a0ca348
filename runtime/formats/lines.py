"""Records into texts of JSON, CSV or nothing but their text, one each: lines of files, messages of topics.

Frames are written by whole columns where Polars, or one call for all values, gives the text that `ghcm.values` gives;
other columns value by value, and rows row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from ghcm import types
from ghcm.runtime.data.columns import Row, rows_of, values
from ghcm.spg.connectors import Format
from ghcm.types import Struct, Type, strip
from ghcm.values import cell_writer, compact, own_writer

Rows: TypeAlias = Sequence[Row] | pl.DataFrame
Encode: TypeAlias = Callable[[Rows], list[str]]
"""Gives the text of each record."""

_TO_ESCAPE = '["\\\\\\x00-\\x1f]'
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


def json_texts(column: pl.Series, type_: Type) -> pl.Series:
    """The values of a column as JSON."""
    plain = strip(type_)
    texts = _plain_texts(column, plain)
    if texts is None:
        write = own_writer(plain)
        given = (None if value is None else compact(write(value)) for value in values(column, type_))
        texts = pl.Series(column.name, given, dtype=pl.String)
    elif isinstance(plain, types.String | types.Enumeration):
        if texts.str.contains(_TO_ESCAPE).any():
            texts = texts.str.replace_many(_ESCAPED)
        texts = '"' + texts + '"'
    elif isinstance(plain, types.Timestamp | types.Date):
        texts = '"' + texts + '"'
    return texts.fill_null("null")


def cells(column: pl.Series, type_: Type) -> pl.Series:
    """The values of a column as cells (see `cell_writer`)."""
    texts = _plain_texts(column, strip(type_))
    return pl.Series(column.name, map(cell_writer(type_), values(column, type_)), pl.String) if texts is None else texts


class _Json:
    def __init__(self, columns: Struct) -> None:
        self._columns = columns
        self._to_json = own_writer(columns)
        begins = [f"{compact(name)}:" for name in columns.names]
        self._begins = [pl.lit(("," if at else "{") + begin) for at, begin in enumerate(begins)]

    def __call__(self, rows: Rows) -> list[str]:
        columns = self._columns
        if not isinstance(rows, pl.DataFrame) or columns.cases or not columns.fields or not rows.height:
            return [compact(self._to_json(row)) for row in _rows(rows, columns)]
        texts = [json_texts(rows[field.name], field.type) for field in columns.fields]
        parts = [part for pair in zip(self._begins, map(pl.lit, texts), strict=True) for part in pair]
        return pl.select(pl.concat_str(*parts, pl.lit("}"))).to_series().to_list()


class _Csv:
    """A line of cells as in RFC 4180, which is short: the csv module leaves a lone carriage return unquoted. Nothing
    stands for null, quotes around nothing for an empty text: this reader takes both for null, others tell them apart.
    """

    def __init__(self, columns: Struct, separator: str) -> None:
        self._columns = columns
        self._separator = separator
        self._special = [separator, '"', "\r", "\n"]
        self._find = re.compile("|".join(map(re.escape, self._special))).search
        self._writers = [cell_writer(field.type) for field in columns.fields]

    def __call__(self, rows: Rows) -> list[str]:
        if not isinstance(rows, pl.DataFrame) or not self._columns.fields or not rows.height:
            written = (zip(self._writers, row, strict=True) for row in _rows(rows, self._columns))
            return [self.line([write(value) for write, value in row]) for row in written]
        texts = [self._quoted(cells(rows[field.name], field.type)) for field in self._columns.fields]
        lines = pl.select(pl.concat_str(*map(pl.lit, texts), separator=self._separator)).to_series()
        return lines.replace("", '""').to_list()

    def line(self, row: Sequence[str | None]) -> str:
        """One of these cells."""
        line = self._separator.join("" if text is None else self._cell(text) for text in row)
        return line or '""'  # an empty line would be no record

    def _cell(self, text: str) -> str:
        return text if text and not self._find(text) else _in_quotes(text)

    def _quoted(self, texts: pl.Series) -> pl.Series:
        needed = texts.str.contains_any(self._special) | (texts == "")
        if needed.any():
            quoted = '"' + texts.str.replace_all('"', '""', literal=True) + '"'
            texts = quoted.zip_with(needed.fill_null(value=False), texts)
        return texts.fill_null("")


def header(columns: Struct, separator: str) -> str:
    """The line of CSV that names the columns."""
    return _Csv(columns, separator).line(columns.names)


def _texts(rows: Rows) -> list[str]:
    return rows.to_series().to_list() if isinstance(rows, pl.DataFrame) else [str(text) for (text,) in rows]


def _rows(rows: Rows, columns: Struct) -> Sequence[Row]:
    schema = [(field.name, field.type) for field in columns.fields]
    return rows_of(rows, schema) if isinstance(rows, pl.DataFrame) else rows


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


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
