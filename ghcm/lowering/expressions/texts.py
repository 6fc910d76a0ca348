"""Constant texts that stand beside values of an enum, days or moments, and are such values: `f.proto == "tcp"`,
`o.day < "2026-01-02"`.
"""

from typing import TypeAlias

from ghcm.codes import Code
from ghcm.errors import Reported, every
from ghcm.expr import Expr, MakeList
from ghcm.lowering.context import Context
from ghcm.lowering.expressions.conversion import convert, text_of
from ghcm.lowering.expressions.enums import report_no_value
from ghcm.signatures import COMPARISONS
from ghcm.source import Span
from ghcm.types import Date, Enumeration, List, Map, String, Timestamp, Type, nullable_like, strip
from ghcm.values.timestamps import how_written

_Written: TypeAlias = Enumeration | Date | Timestamp
"""The types whose values are written as texts."""

_JOINED = ("coalesce", "least", "greatest")
"""Where one that is no value of an enum makes a string of both."""
_LOOKED_UP = ("contains", "get", "has_key")


def check_constant(expr: Expr, to: Type, span: Span | None, context: Context) -> None:
    """Report a constant text that is no value of the type asked for."""
    kind, text = strip(to), text_of(expr)
    if text is not None and isinstance(kind, _Written):
        raise _report(text, kind, span, context)


def beside_texts(function: str, arguments: tuple[Expr, ...], span: Span | None, context: Context) -> tuple[Expr, ...]:
    """The arguments of a comparison or choice, constant texts as values of the type beside which they stand."""
    if function in _LOOKED_UP and len(arguments) == 2:
        return _in_list(arguments, span, context)
    kind = next((found for each in arguments if isinstance(found := strip(each.type), _Written)), None)
    if kind is None or function not in (*COMPARISONS, *_JOINED):
        return arguments
    return every(lambda each: _beside(each, kind, function, span, context), arguments)


def _beside(expr: Expr, kind: _Written, function: str, span: Span | None, context: Context) -> Expr:
    text = text_of(expr)
    if text is None:
        return expr
    made = convert(expr, kind)
    if made is not None:
        return made
    if function in _JOINED and isinstance(kind, Enumeration):
        return expr
    raise _report(text, kind, span, context)


def _in_list(arguments: tuple[Expr, ...], span: Span | None, context: Context) -> tuple[Expr, ...]:
    """`list.contains(value)` and `map.get(key)`, where one of the two is such a value and the other is written out."""
    several, one = arguments
    held, kind = strip(several.type), strip(one.type)
    looked_in = strip(held.item) if isinstance(held, List) else held.key if isinstance(held, Map) else None
    if isinstance(looked_in, _Written) and kind == String():
        return several, _beside(one, looked_in, "eq", span, context)
    if (
        isinstance(kind, _Written)
        and looked_in == String()
        and isinstance(several, MakeList)
        and isinstance(held, List)
    ):
        every(lambda each: _beside(each, kind, "eq", span, context), several.items)
        return convert(several, List(nullable_like(kind, held.item))) or several, one
    return arguments


def _report(text: str, kind: _Written, span: Span | None, context: Context) -> Reported:
    if isinstance(kind, Enumeration):
        return report_no_value(kind, text, span, context)
    return context.report(Code.BAD_CONSTANT, f'"{text}" is no {kind}', span, hint=how_written(kind))
