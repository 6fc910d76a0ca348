"""Pieces of generated Polars: how tightly they bind, their masks of failing records, and what literals look like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import cast

from ghcm import types
from ghcm.codegen.native.rows.text import literal as python_literal
from ghcm.codegen.native.snippets import ATOM, BITAND, BITOR
from ghcm.expr import Expr, free_names


class Unsupported(Exception):
    """An expression has no columnar form; the text says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """A Polars expression as text, how tightly it binds, and the mask of its failing records (None: it cannot fail).

    `bare`: the Python literal where it is one, usable beside an operator. `level` is a precedence.
    """

    text: str
    level: int = ATOM
    fails: Column | None = None
    bare: str | None = None

    def at(self, level: int) -> str:
        """The text, in parentheses where an operand of this precedence needs them."""
        return self.text if self.level >= level else f"({self.text})"


def varies(expr: Expr, column: Column) -> bool:
    """Whether a column differs from record to record; where it does not, Polars makes one row of it."""
    return bool(free_names(expr)) and "pl.col(" in column.text


def either(*masks: Column | None) -> Column | None:
    """The mask that is true where any of the masks is; repeated ones once."""
    known = list(dict.fromkeys(mask for mask in masks if mask is not None))
    if len(known) <= 1:
        return known[0] if known else None
    return Column(" | ".join(mask.at(BITOR) for mask in known), BITOR)


def where(condition: str, mask: Column | None) -> Column | None:
    """The mask where a condition (as text) holds."""
    return None if mask is None else Column(f"{condition} & {mask.at(BITAND)}", BITAND)


# --- literals --------------------------------------------------------------------------------------------------------


def typed(text: str, type_: types.Type) -> Column:
    """Python text of a canonical value as a column."""
    match types.strip(type_):
        case types.Timestamp():
            return Column(f"columns.timestamp(pl.lit({text}, pl.Int64))")
        case types.Duration():
            return Column(f"columns.duration(pl.lit({text}, pl.Int64))")
        case types.Date():
            return Column(f"pl.lit({text}, pl.Int32).cast(pl.Date)")
        case types.List(item=item) if not isinstance(types.strip(item), _CONVERTED):
            return Column(f"pl.lit({text}, dtype={dtype_text(type_)})")
        case types.List() | types.Struct() | types.Map():
            raise Unsupported(f"a constant of {type_}")
        case _:  # a scalar
            return Column(f"pl.lit({text}, {dtype_text(type_)})")


_CONVERTED = types.List | types.Map | types.Struct | types.Timestamp | types.Duration | types.Date | types.Decimal
"""Types whose canonical values Polars does not take as items of a list."""


def literal(value: object, type_: types.Type) -> Column:
    """A canonical value as a column; `Unsupported` where Polars has no literal of the type."""
    if value is None:
        return Column(f"pl.lit(None, {dtype_text(type_)})")
    match value, types.strip(type_):
        case Number(), _:
            return Column(f'pl.lit("{value}").cast({dtype_text(type_)})')
        case tuple(), types.Struct(fields=fields):
            each_of = zip(cast("tuple[object, ...]", value), fields, strict=True)
            parts = [f'{literal(each, part.type).text}.alias("{part.name}")' for each, part in each_of]
            return Column(f"pl.struct({', '.join(parts)})")
        case bool() | str(), _:
            text = python_literal(value, type_).text
            return Column(f"pl.lit({text})", bare=text)
        case float(), _ if math.isfinite(value):
            return Column(f"pl.lit({value!r}, pl.Float64)", bare=repr(value))
        case int(), types.Int():
            text = python_literal(value, type_).text
            return Column(f"pl.lit({text}, pl.Int64)", bare=text)
        case _:  # what has no literal of its own
            return typed(python_literal(value, type_).text, type_)


def dtype_text(type_: types.Type) -> str:
    """The data type that holds values of a type, as `ghcm.runtime.data.columns.dtype` makes it.

    >>> dtype_text(types.Nullable(types.List(types.Int())))
    'pl.List(pl.Int64)'
    """
    match type_:
        case types.Nullable(of=of):
            return dtype_text(of)
        case types.List(item=item):
            return f"pl.List({dtype_text(item)})"
        case types.Map(key=key, value=value):
            return f'pl.List(pl.Struct({{"key": {dtype_text(key)}, "value": {dtype_text(value)}}}))'
        case types.Struct(fields=fields):
            parts = [f'"{part.name}": {dtype_text(part.type)}' for part in fields]
            return f"pl.Struct({{{', '.join(parts)}}})"
        case types.Decimal(precision=precision, scale=scale):
            return f"pl.Decimal({precision}, {scale})"
        case _:  # scalars
            return _SCALARS[type(type_)]


_SCALARS: dict[type[types.Type], str] = {
    types.Bool: "pl.Boolean",
    types.Int: "pl.Int64",
    types.Int32: "pl.Int32",
    types.Float: "pl.Float64",
    types.String: "pl.String",
    types.Enumeration: "pl.String",
    types.Bytes: "pl.Binary",
    types.Timestamp: "columns.TIMESTAMP",
    types.Date: "pl.Date",
    types.Duration: "columns.DURATION",
    types.Null: "pl.Null",
}
