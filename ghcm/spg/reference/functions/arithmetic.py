"""The meanings of the functions of arithmetic."""

import math
from collections.abc import Callable
from decimal import Context
from decimal import Decimal as Number
from fractions import Fraction
from typing import Any, TypeAlias

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail, number_of, rounded_half_up, units_of
from ghcm.types import Decimal, strip

_Two: TypeAlias = Callable[[Types, Any, Any], Any]


def _arithmetic(compute: Callable[[Any, Any], Any]) -> _Two:
    """Whole numbers are checked; floats go on to infinity; strings are joined."""

    def meaning(_: Types, left: Any, right: Any) -> Any:
        result = compute(left, right)
        return checked(result) if isinstance(result, int) else result

    return meaning


def _exact(compute: Callable[[int, int], int], otherwise: _Two) -> _Two:
    """Decimals as whole numbers of the smallest unit of the result."""

    def meaning(types: Types, left: Any, right: Any) -> Any:
        result = strip(types.result)
        if not isinstance(result, Decimal):
            return otherwise(types, left, right)
        return number_of(compute(units_of(left, result.scale), units_of(right, result.scale)), result.scale)

    return meaning


def _product(types: Types, left: Any, right: Any) -> Any:
    result, one, two = map(strip, (types.result, *types.arguments))
    if not isinstance(result, Decimal):
        return _arithmetic(lambda a, b: a * b)(types, left, right)
    assert isinstance(one, Decimal) and isinstance(two, Decimal)
    return number_of(units_of(left, one.scale) * units_of(right, two.scale), result.scale)


def _of_one(compute: Callable[[Any], Any]) -> Callable[[Types, Any], Any]:
    def meaning(types: Types, value: Any) -> Any:
        if isinstance(types.first, Decimal):
            return number_of(compute(units_of(value, types.first.scale)), types.first.scale)
        return checked(compute(value)) if isinstance(value, int) else compute(value)

    return meaning


def _round_half_up(types: Types, value: Any, shown: Any) -> Any:
    of, to = types.first, strip(types.result)
    assert isinstance(of, Decimal) and isinstance(to, Decimal)
    return rounded_half_up(Fraction(value), to.scale)


def _quotient(types: Types, left: Any, right: Any, shown: Any) -> Any:
    to = strip(types.result)
    assert isinstance(to, Decimal)
    if right == 0:
        fail(Failure.ZERO_DIVISOR, f"{left} is divided by {right}")
    return rounded_half_up(Fraction(left) / Fraction(right), to.scale)


def _divisor(compute: Callable[[Any, Any], Any]) -> _Two:
    def meaning(types: Types, left: Any, right: Any) -> Any:
        if right == 0:
            fail(Failure.ZERO_DIVISOR, f"{left} is divided by {right}")
        return _arithmetic(compute)(types, left, right)

    return meaning


def _whole(made: Callable[[float], int]) -> Callable[[Types, Any], int]:
    def meaning(_: Types, value: float) -> int:
        if not math.isfinite(value):
            fail(Failure.BAD_CAST, f"{value} is no whole number")
        return checked(made(value))

    return meaning


_MANY = Context(prec=60, Emin=-999_999_999, Emax=999_999_999, traps=[])
"""Digits enough for the float that is nearest to what is found."""


def _double(exact: Number) -> float:
    return float(exact)  # what is too large is infinite


def _logarithm(of: Callable[[Number], Number], value: float) -> float:
    if value == 0:
        return -math.inf
    return _double(of(Number(value))) if value > 0 else math.nan


def _power(base: float, exponent: float) -> float:
    """As IEEE 754 defines `pow`: a whole exponent decides the sign of a negative base, and an odd one that of zero."""
    if exponent == 0 or base == 1:
        return 1.0
    if math.isnan(base) or math.isnan(exponent):
        return math.nan
    if math.isinf(exponent):
        size = abs(base)
        return 1.0 if size == 1 else math.inf if (size > 1) == (exponent > 0) else 0.0
    odd, negative = exponent % 2 == 1, math.copysign(1, base) < 0
    if base == 0 or math.isinf(base):
        size = 0.0 if (base == 0) == (exponent > 0) else math.inf
    elif negative and exponent % 1:
        return math.nan
    else:
        size = _double(_MANY.power(Number(abs(base)), Number(exponent)))
    return -size if negative and odd else size


MEANINGS: dict[str, Meaning] = {
    "add": _exact(lambda a, b: a + b, _arithmetic(lambda a, b: a + b)),
    "sub": _exact(lambda a, b: a - b, _arithmetic(lambda a, b: a - b)),
    "mul": _product,
    "div": _divisor(lambda a, b: float(a) / float(b)),
    "floordiv": _divisor(lambda a, b: a // b),
    "mod": _divisor(lambda a, b: a % b),
    "neg": _of_one(lambda a: -a),
    "abs": _of_one(abs),
    "round_half_up": _round_half_up,
    "quotient": _quotient,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _whole(round),
    "exp": lambda _, a: a if math.isnan(a) else _double(_MANY.exp(Number(a))),
    "log": lambda _, a: _logarithm(_MANY.ln, a),
    "log10": lambda _, a: _logarithm(_MANY.log10, a),
    "pow": lambda _, a, b: _power(a, b),
    "sqrt": lambda _, a: math.sqrt(a) if a >= 0 else math.nan,
}
