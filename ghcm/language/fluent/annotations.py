"""From Python annotations to types as the text language writes them."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from ghcm.language import ast
from ghcm.language.fluent.enums import is_enum, is_literal, literal_type
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.references import Later
from ghcm.source import Span

_KNOWN = (
    "A type is bool, int, int32, float, str, bytes, datetime, date, timedelta, list[T], dict[K, V], tuple[A, B], "
    "a Record, a OneOf, an Enum or Literal of strings, Annotated[Decimal, Digits(10, 2)], or one of these with | None."
)


class int32(int):
    """The annotation for a whole number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Digits:
    """How exact a decimal is: `Annotated[Decimal, Digits(10, 2)]` has ten digits, two of them behind the point."""

    precision: int
    scale: int


_PLAIN: dict[object, str] = {
    bool: "bool",
    int: "int",
    int32: "int32",
    float: "float",
    str: "string",
    bytes: "bytes",
    datetime: "timestamp",
    date: "date",
    timedelta: "duration",
}


def type_of(annotation: object, span: Span) -> ast.TypeExpr:
    """The type that an annotation means. Raises `ProgramError` where it means none."""
    if annotation in _PLAIN if isinstance(annotation, type) else False:
        return ast.NamedType(_PLAIN[annotation], (), span)
    if isinstance(annotation, type) and hasattr(annotation, "__ghcm_name__"):
        return ast.NamedType(Later.of(annotation), (), span)
    if is_enum(annotation):
        return ast.NamedType(Later.of(annotation), (), span)
    if is_literal(annotation):
        return literal_type(annotation, span)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _nullable(arguments, span)
    if origin is typing.Annotated and arguments[0] is Decimal and isinstance(arguments[1], Digits):
        return ast.NamedType("decimal", (arguments[1].precision, arguments[1].scale), span)
    if origin is typing.Annotated:
        return type_of(arguments[0], span)
    inner = tuple(type_of(each, span) for each in arguments)
    match origin, inner:
        case type(), (_,) if origin is list:
            return ast.NamedType("list", inner, span)
        case type(), (_, _) if origin is dict:
            return ast.NamedType("map", inner, span)
        case type(), (_, _, *_) if origin is tuple:
            return ast.TupleType(inner, span)
        case _:
            raise _unknown(annotation, span)


def _nullable(arguments: tuple[object, ...], span: Span) -> ast.TypeExpr:
    given = [each for each in arguments if each is not types.NoneType]
    if len(given) != 1 or len(given) == len(arguments):
        detail = "A value has one type, and may be null where | None says so."
        records = all(hasattr(each, "__ghcm_name__") for each in given)
        hint = 'class Event(OneOf, by="kind"): ... is one of several records' if records else ""
        raise mistake("GHCM-132", "a union of types is no type of the language", span, detail=detail, hint=hint)
    return ast.NullableType(type_of(given[0], span), span)


def _unknown(annotation: object, span: Span) -> Exception:
    said = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
    hints = {"Decimal": "write Annotated[Decimal, Digits(10, 2)]", "list": "write list[T]", "dict": "write dict[K, V]"}
    return mistake("GHCM-132", f'"{said}" is no type of the language', span, detail=_KNOWN, hint=hints.get(said, ""))
