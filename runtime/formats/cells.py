"""Columns of text into typed columns: what is plainly written is converted at once, the rest is said to be unsure.

An unsure cell may still hold a value, or none; the reader of single records (`fields`) decides. So this may be as
narrow as speed asks for, and is exact where it claims to be sure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from ghcm.types import (
    Bool,
    Date,
    Duration,
    Enumeration,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Timestamp,
    Type,
    strip,
)

_FLOAT = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_LONGEST = 1.9e15
"""Microseconds up to which a product of seconds with a million is off by an eighth of one at most."""
_DATE = "^[12][0-9]{3}-[01][0-9]-[0-3][0-9]$"
_CLOCK = r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ISO = re.compile(rf"{_DATE[1:-1]}([T ]){_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are written. `unset`: the text of null, "" in CSV. `empty`: the text of what is empty, None in CSV."""

    unset: str = ""
    empty: str | None = None
    set_separator: str = ","
    true: str = "true"
    false: str = "false"


def has_columns(type_: Type, dialect: Dialect) -> bool:
    """Whether `typed` knows the type."""
    plain = strip(type_)
    if isinstance(plain, List):
        return dialect.empty is not None and isinstance(strip(plain.item), String)
    return isinstance(plain, Bool | Int | Int32 | Float | String | Enumeration | Timestamp | Date | Duration)


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of text as its type. `made` comes first, where there is one: `value` and `unsure` (None: nowhere) read
    the column that it adds, so that Polars does not do the same twice.
    """

    value: pl.Expr
    unsure: pl.Expr | None = None
    made: pl.Expr | None = None


def typed(cells: pl.Series, type_: Type, dialect: Dialect, *, made: str, escapes: bool) -> Typed:
    """What a column of text is in its type. `made`: the name of the column that may be added; `escapes`: there may be
    backslashes in the text.
    """
    raw = pl.col(cells.name)
    nullable = isinstance(type_, Nullable)
    text = pl.when(raw == dialect.unset).then(None).otherwise(raw) if nullable else raw
    found = _typed(made, text, cells, strip(type_), dialect, escapes=escapes)
    unsure = found.unsure
    if nullable:
        return Typed(found.value, None if unsure is None else unsure.fill_null(False), found.made)
    if isinstance(type_, String) and dialect.unset == "":
        return found
    missing = raw == dialect.unset
    return Typed(found.value, missing if unsure is None else missing | unsure, found.made)


def _typed(name: str, text: pl.Expr, cells: pl.Series, type_: Type, dialect: Dialect, *, escapes: bool) -> Typed:
    made = pl.col(name)
    match type_:
        case String():
            return _string(text, dialect, escapes=escapes)
        case Enumeration(values=values):
            found = _string(text, dialect, escapes=escapes)
            other = ~found.value.is_in(list(values))
            return Typed(found.value, other if found.unsure is None else other | found.unsure)
        case Int() | Int32():
            number = text.cast(pl.Int64 if isinstance(type_, Int) else pl.Int32, strict=False)
            return Typed(made, _no_digits(text) | (text.is_not_null() & made.is_null()), number.alias(name))
        case Float():
            number = text.cast(pl.Float64, strict=False).alias(name)
            return Typed(made, ~text.str.contains(_FLOAT) | ~made.is_finite(), number)
        case Bool():
            return Typed(text == dialect.true, ~text.is_in([dialect.true, dialect.false]))
        case Duration():
            return _micros(name, text, pl.Duration("us"))
        case Timestamp():
            return _timestamp(name, text, cells, dialect)
        case Date():
            date = text.str.to_date("%Y-%m-%d", strict=False).alias(name)
            return Typed(made, ~text.str.contains(_DATE) | made.is_null(), date)
        case _:
            return _strings(text, dialect, escapes=escapes)


def _no_digits(text: pl.Expr) -> pl.Expr:
    """Where there is no digit in the first place or behind a minus there: Polars reads as whole numbers what begins
    with blanks or a plus, too.
    """
    return ~(((text >= "0") & (text < ":")) | ((text >= "-0") & (text < "-:")))


def _string(text: pl.Expr, dialect: Dialect, *, escapes: bool) -> Typed:
    if dialect.empty is None:
        return Typed(text)
    value = pl.when(text == dialect.empty).then(pl.lit("")).otherwise(text)
    return Typed(value, text.str.contains("\\", literal=True) if escapes else None)


def _strings(text: pl.Expr, dialect: Dialect, *, escapes: bool) -> Typed:
    """A set or vector of strings; without escapes, and without items that stand for something else."""
    parts = text.str.split(dialect.set_separator)
    value = pl.when(text == dialect.empty).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(parts)
    unsure = parts.list.contains(pl.lit(dialect.unset))
    empty = (text != pl.lit(dialect.empty)) & parts.list.contains(pl.lit(dialect.empty))
    return Typed(value, unsure | empty | text.str.contains("\\", literal=True) if escapes else unsure | empty)


def _micros(name: str, text: pl.Expr, type_: pl.DataType) -> Typed:
    """Microseconds of seconds; unsure near a half, where the product's own rounding might decide."""
    made = pl.col(name)
    near = (text.cast(pl.Float64, strict=False) * 1e6).alias(name)
    unsure = ~text.str.contains(_FLOAT) | ~(made.abs() < _LONGEST) | ((made - made.round()).abs() > 0.37)
    return Typed(made.round().cast(pl.Int64, strict=False).cast(type_), unsure, near)


def _timestamp(name: str, text: pl.Expr, cells: pl.Series, dialect: Dialect) -> Typed:
    """Seconds since 1970, or ISO 8601 in the form of the first cell."""
    first = next((cell for cell in cells.head(64) if cell not in ("", dialect.unset)), "")
    found = _ISO.fullmatch(first)
    if found is None:
        return _micros(name, text, pl.Datetime("us", "UTC"))
    between, offset = found[1], found[2] or ""
    ends = {"": "", "Z": "Z"}.get(offset, "[+-][0-9]{2}:[0-9]{2}" if ":" in offset else "[+-][0-9]{4}")
    form = f"%Y-%m-%d{between}%H:%M:%S%.f{ends if ends in ('', 'Z') else '%z'}"
    value = text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False).alias(name)
    made = pl.col(name)
    return Typed(made, ~text.str.contains(f"{_DATE[:-1]}{between}{_CLOCK}{ends}$") | made.is_null(), value)
