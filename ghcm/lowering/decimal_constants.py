"""Constant numbers as decimals, where they stand beside a decimal or where one is asked for.

`9.99` is a float, but beside a decimal it is the number that was written, as in SQL.
"""

from __future__ import annotations

from decimal import Decimal as Number

from ghcm.expr import Expr, Literal, MakeList
from ghcm.types import Decimal, Float, List, Type, strip
from ghcm.types.unification import MAX_PRECISION, unify
from ghcm.values.decimals import at_scale

_SURE = 15
"""So many digits of a constant every float keeps."""
_BESIDE = ("add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge", "least", "greatest", "coalesce")


def written_decimal(literal: Literal) -> Literal | None:
    """A constant number as the decimal that was written; None of other constants, and of too many digits.

    >>> written_decimal(Literal(0.25, Float()))
    Literal(value=Decimal('0.25'), type=Decimal(precision=2, scale=2))
    """
    if isinstance(literal.value, bool) or not isinstance(literal.value, int | float):
        return None
    number = Number(repr(literal.value))
    if not number.is_finite() or len(number.as_tuple().digits) > (_SURE if isinstance(literal.value, float) else 19):
        return None
    _, behind = f"{number.normalize() if isinstance(literal.value, float) else number:f}.".split(".")[:2]
    if len(behind) > MAX_PRECISION:
        return None
    exact = at_scale(number, len(behind))
    precision = max(len(exact.as_tuple().digits), len(behind))
    return Literal(exact, Decimal(precision, len(behind))) if precision <= MAX_PRECISION else None


def decimal_constant(value: object, to: Decimal) -> Literal | None:
    """A constant as one of that decimal type; None where it does not fit or is no number."""
    if isinstance(value, float):
        found = written_decimal(Literal(value, Float()))
        return None if found is None else decimal_constant(found.value, to)
    if isinstance(value, bool) or not isinstance(value, int | Number):
        return None
    try:
        number = at_scale(Number(value), to.scale)
    except ArithmeticError:
        return None
    return Literal(number, to) if len(number.as_tuple().digits) <= to.precision else None


def beside_decimals(function: str, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The arguments of arithmetic, a comparison or a choice, constant numbers beside a decimal as decimals."""
    if function == "contains" and len(arguments) == 2:
        return _in_list(*arguments)
    if function not in _BESIDE or not any(isinstance(strip(each.type), Decimal) for each in arguments):
        return arguments
    return tuple(_beside(each) for each in arguments)


def _in_list(several: Expr, one: Expr) -> tuple[Expr, ...]:
    """A list of constant numbers in which a decimal is looked for, as decimals that hold them all and it too."""
    common: Type | None = strip(one.type)
    if not isinstance(several, MakeList) or not isinstance(common, Decimal):
        return several, one
    found = [_beside(each) for each in several.items]
    for each in found:
        common = None if common is None else unify(common, each.type)
    if not isinstance(common, Decimal):
        return several, one
    items = [decimal_constant(each.value, common) if isinstance(each, Literal) else None for each in found]
    known = tuple(each for each in items if each is not None)
    return (MakeList(known, List(common)), one) if len(known) == len(items) else (several, one)


def _beside(expr: Expr) -> Expr:
    return (written_decimal(expr) or expr) if isinstance(expr, Literal) else expr
