"""Values that the compiler knows: defaults of parameters, rows written into a program, fixed moments."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from ghcm.expr import Call, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Value, Var
from ghcm.types import Date, Timestamp, Type, strip
from ghcm.values.timestamps import parse_date, parse_timestamp


class NotConstant(ValueError):
    """An expression whose value is known only when it runs."""


def constant(expr: Expr) -> Value:
    """The canonical value of an expression of literals; NotConstant for any other."""
    match expr:
        case Literal(value=value):
            return value
        case MakeStruct(values=values):
            return tuple(map(constant, values))
        case MakeList(items=items):
            return list(map(constant, items))
        case Call(function="from_micros", arguments=(micros,)):
            return constant(micros)
        case Call(function="to_timestamp", arguments=(Literal(value=str() as text),)):
            return _read(parse_timestamp, text)
        case Call(function="to_date", arguments=(Literal(value=str() as text),)):
            return _read(parse_date, text)
        case Call(function="date_of", arguments=(Literal(value=year), Literal(value=month), Literal(value=day))):
            return _day(year, month, day)
        case Call() | Get() | If() | Var() | Param() | ForEach() | Let() | Try():
            raise NotConstant


def how_written(type_: Type) -> str:
    """How a moment or a day is written into a program; nothing for what has literals."""
    match strip(type_):
        case Timestamp():
            return 'A moment is written to_timestamp("2026-01-02T03:04:05Z").'
        case Date():
            return 'A day is written to_date("2026-01-02").'
        case _:
            return ""


def _read(parse: Callable[[str], int], text: str) -> int:
    try:
        return parse(text if text[:1].isdigit() else "")
    except ValueError:
        raise NotConstant from None


def _day(*parts: Value) -> int:
    year, month, day = (part if isinstance(part, int) else 0 for part in parts)
    try:
        return date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except (ValueError, OverflowError):
        raise NotConstant from None
