"""From Python values to expressions: constants, tuples, lists, dicts, records, lambdas, what says its own tree."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, EnumType
from math import isfinite
from typing import Protocol, cast, runtime_checkable

from ghcm.language import ast
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.references import later
from ghcm.language.fluent.texts import text_of
from ghcm.language.literals import RESERVED
from ghcm.source import Span
from ghcm.types import INT_MAX, INT_MIN, Bool, Duration, Float, Int, Null, String

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@runtime_checkable
class Written(Protocol):
    """What knows the tree that stands for it: a traced value, a pipeline, a sink, a unit, a record."""

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The tree; `span` is where it is used."""
        ...


def plain(name: str) -> str:
    """A name without the underscore that keeps it apart from a word of Python.

    >>> plain("as_"), plain("from_"), plain("id_")
    ('as', 'from', 'id_')
    """
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def name_of(name: str, span: Span) -> ast.Name:
    """A name that is declared; refused where the text language could not say it."""
    text = plain(name)
    if text in RESERVED:
        raise mistake("GHCM-108", f'"{text}" is a reserved word', span, hint="choose another name")
    if not (text.isidentifier() and text.isascii()):
        raise mistake("GHCM-101", f'"{text}" is no name', span, hint="names are of ASCII letters, digits and _")
    return ast.Name(text, span)


def expr_of(value: object, span: Span) -> ast.Expr:
    """The expression that a Python value stands for, used at `span`. Raises `ProgramError` where there is none."""
    match value:
        case None:
            return ast.Literal(None, Null(), span)
        case bool():
            return ast.Literal(value, Bool(), span)
        case int():
            return _int(value, span)
        case float():
            return _float(value, span)
        case Enum() if isinstance(value.value, str):
            return ast.Literal(str(value.value), String(), span)
        case str():
            return text_of(str(value), span)
        case timedelta():
            return duration_of(value // _MICROSECOND, span)
        case datetime():
            return _moment(value, span)
        case tuple():
            return _tuple(cast("tuple[object, ...]", value), span)
        case list():
            return ast.ListExpr(tuple(expr_of(each, span) for each in cast("list[object]", value)), span)
        case dict():
            return _record(cast("dict[object, object]", value), span)
        case Decimal() if value.is_finite():
            return _decimal(value, span)
        case date():
            return _day(value, span)
        case bytes() | Decimal():
            raise mistake("GHCM-132", f'the language has no constant of type "{type(value).__name__}"', span)
        case _ if isinstance(value, Written) and not isinstance(value, type):
            return value.__ghcm_expr__(span)
        case EnumType():
            return later(value, span)
        case type() if hasattr(value, "__ghcm_name__"):
            name: Callable[[Span], ast.Expr] = getattr(value, "__ghcm_name__")  # noqa: B009  (pyright knows no such member)
            return name(span)
        case _ if callable(value) and not isinstance(value, type):
            from ghcm.language.fluent.tracing import trace

            return trace(value, span)
        case _:
            kind = value.__name__ if isinstance(value, type) else type(value).__name__
            hint = f"a record is written class {kind}(Record): ..." if isinstance(value, type) else ""
            raise mistake("GHCM-132", f'"{kind}" is no value of the language', span, hint=hint)


def duration_of(micros: int, span: Span) -> ast.Expr:
    """A constant duration."""
    literal = ast.Literal(abs(micros), Duration(), span)
    return ast.Unary("-", literal, span) if micros < 0 else literal


def _int(value: int, span: Span) -> ast.Expr:
    if not INT_MIN <= value <= INT_MAX:
        raise mistake("GHCM-104", "the number does not fit into 64 bits", span)
    literal = ast.Literal(abs(int(value)), Int(), span)
    return ast.Unary("-", literal, span) if value < 0 else literal


def _float(value: float, span: Span) -> ast.Expr:
    if not isfinite(value):
        hint = f'write fn.to_float("{value}")'
        raise mistake("GHCM-104", f"the language has no constant for {value}", span, hint=hint)
    literal = ast.Literal(abs(float(value)), Float(), span)
    negative = value < 0 or str(value).startswith("-")
    return ast.Unary("-", literal, span) if negative else literal


def _decimal(value: Decimal, span: Span) -> ast.Expr:
    """A constant decimal, with the digits that it has."""
    text = f"{value:f}"
    digits = text.lstrip("-").replace(".", "").lstrip("0")
    scale = len(text.partition(".")[2])
    operands = (ast.Literal(text, String(), span), *(_int(each, span) for each in (max(len(digits), scale, 1), scale)))
    return ast.Apply(
        ast.Ref("to_decimal", span), tuple(ast.Argument(each, None, span) for each in operands), None, span
    )


def _moment(value: datetime, span: Span) -> ast.Expr:
    if value.tzinfo is None:
        hint = "write datetime(..., tzinfo=UTC)"
        raise mistake("GHCM-132", "this moment has no time zone", span, detail="Timestamps are UTC.", hint=hint)
    micros = expr_of((value - _EPOCH) // _MICROSECOND, span)
    return ast.Apply(ast.Ref("from_micros", span), (ast.Argument(micros, None, span),), None, span)


def _day(value: date, span: Span) -> ast.Expr:
    parts = (_int(each, span) for each in (value.year, value.month, value.day))
    return ast.Apply(ast.Ref("date_of", span), tuple(ast.Argument(each, None, span) for each in parts), None, span)


def _tuple(items: tuple[object, ...], span: Span) -> ast.Expr:
    if len(items) < 2:
        raise mistake("GHCM-112", "a tuple has at least two items", span)
    return ast.TupleExpr(tuple(expr_of(each, span) for each in items), span)


def _record(value: dict[object, object], span: Span) -> ast.Expr:
    for name in value:
        if not isinstance(name, str):
            raise mistake("GHCM-132", "the keys of a record are names", span, hint='write {"name": value}')
    fields = tuple((name_of(str(name), span), expr_of(each, span)) for name, each in value.items())
    return ast.RecordExpr(None, fields, span)
