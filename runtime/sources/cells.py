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

__all__ = ["Dialect", "has_columns", "typed"]

_INT = "^-?[0-9]{1,18}$"
_INT32 = "^-?[0-9]{1,9}$"
_FLOAT = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_LONGEST = 1.9e9
"""Seconds up to which a product with a million is off by an eighth of a microsecond at most."""
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


def typed(name: str, cells: pl.Series, type_: Type, dialect: Dialect) -> tuple[pl.Expr, pl.Expr | None]:
    """The expressions of the values of a column of text, and of where they are unsure (None: nowhere)."""
    raw = pl.col(name)
    if isinstance(type_, Nullable):
        text = pl.when(raw == dialect.unset).then(None).otherwise(raw)
        value, unsure = _typed(text, cells, type_.of, dialect)
        return value, None if unsure is None else unsure.fill_null(False)
    value, unsure = _typed(raw, cells, type_, dialect)
    if isinstance(type_, String) and dialect.unset == "":
        return value, unsure
    missing = raw == dialect.unset
    return value, missing if unsure is None else missing | unsure


def _typed(text: pl.Expr, cells: pl.Series, type_: Type, dialect: Dialect) -> tuple[pl.Expr, pl.Expr | None]:
    match type_:
        case String():
            return _string(text, dialect)
        case Enumeration(values=values):
            value, unsure = _string(text, dialect)
            other = ~value.is_in(list(values))
            return value, other if unsure is None else other | unsure
        case Int():
            return text.cast(pl.Int64, strict=False), ~text.str.contains(_INT)
        case Int32():
            return text.cast(pl.Int32, strict=False), ~text.str.contains(_INT32)
        case Float():
            value = text.cast(pl.Float64, strict=False)
            return value, ~text.str.contains(_FLOAT) | ~value.is_finite()
        case Bool():
            return text == dialect.true, ~text.is_in([dialect.true, dialect.false])
        case Duration():
            micros, unsure = _micros(text)
            return micros.cast(pl.Duration("us")), unsure
        case Timestamp():
            return _timestamp(text, cells, dialect)
        case Date():
            value = text.str.to_date("%Y-%m-%d", strict=False)
            return value, ~text.str.contains(_DATE) | value.is_null()
        case _:
            return _strings(text, dialect)


def _string(text: pl.Expr, dialect: Dialect) -> tuple[pl.Expr, pl.Expr | None]:
    if dialect.empty is None:
        return text, None
    value = pl.when(text == dialect.empty).then(pl.lit("")).otherwise(text)
    return value, text.str.contains("\\", literal=True)


def _strings(text: pl.Expr, dialect: Dialect) -> tuple[pl.Expr, pl.Expr | None]:
    """A set or vector of strings; without escapes, and without items that stand for something else."""
    parts = text.str.split(dialect.set_separator)
    value = pl.when(text == dialect.empty).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(parts)
    unsure = text.str.contains("\\", literal=True) | parts.list.contains(pl.lit(dialect.unset))
    empty = (text != pl.lit(dialect.empty)) & parts.list.contains(pl.lit(dialect.empty))
    return value, unsure | empty


def _micros(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Microseconds of seconds; unsure near a half, where the product's own rounding might decide."""
    seconds = text.cast(pl.Float64, strict=False)
    near = seconds * 1e6
    unsure = ~text.str.contains(_FLOAT) | ~(seconds.abs() < _LONGEST) | ((near - near.round()).abs() > 0.37)
    return near.round().cast(pl.Int64, strict=False), unsure


def _timestamp(text: pl.Expr, cells: pl.Series, dialect: Dialect) -> tuple[pl.Expr, pl.Expr]:
    """Seconds since 1970, or ISO 8601 in the form of the first cell."""
    first = next((cell for cell in cells.head(64) if cell not in ("", dialect.unset)), "")
    found = _ISO.fullmatch(first)
    if found is None:
        micros, unsure = _micros(text)
        return micros.cast(pl.Datetime("us", "UTC")), unsure
    between, offset = found[1], found[2] or ""
    ends = {"": "", "Z": "Z"}.get(offset, "[+-][0-9]{2}:[0-9]{2}" if ":" in offset else "[+-][0-9]{4}")
    form = f"%Y-%m-%d{between}%H:%M:%S%.f{ends if ends in ('', 'Z') else '%z'}"
    value = text.str.to_datetime(form, time_unit="us", time_zone="UTC", strict=False)
    return value, ~text.str.contains(f"{_DATE[:-1]}{between}{_CLOCK}{ends}$") | value.is_null()
