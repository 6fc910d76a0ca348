"""Arithmetic in the table of functions.

Floats never fail but for a zero divisor. Decimals are never rounded, and have digits enough for every result, so that they never fail.
"""

from __future__ import annotations

from collections.abc import Callable

from ghcm.functions.table import Failure, Function
from ghcm.signatures import DURATION, FLOAT, INT, STRING, TIMESTAMP, Resolution, Rule, first, fixed
from ghcm.types import Decimal, List, Type
from ghcm.types.unification import as_decimal, decimal_of, unify


def lists_joined(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two lists whose items are of one type give a list."""
    match arguments:
        case (List(), List()):
            both = unify(*arguments)
            return None if both is None else Resolution((both, both), both)
        case _:
            return None


def decimals(result: Callable[[Decimal, Decimal], Decimal | None]) -> Rule:
    """Two decimals of whatever digits, one of which may be a whole number; nothing is rounded."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        if len(arguments) != 2 or not any(isinstance(each, Decimal) for each in arguments):
            return None
        left, right = map(as_decimal, arguments)
        found = None if left is None or right is None else result(left, right)
        return None if left is None or right is None or found is None else Resolution((left, right), found)

    return rule


def sum_of(left: Decimal, right: Decimal) -> Decimal | None:
    """The decimal that holds every sum and difference."""
    whole = max(left.precision - left.scale, right.precision - right.scale) + 1
    return decimal_of(whole, max(left.scale, right.scale))


def product_of(left: Decimal, right: Decimal) -> Decimal | None:
    """The decimal that holds every product."""
    scale = left.scale + right.scale
    return decimal_of(left.precision + right.precision - scale, scale)


def rounded(of: Decimal, scale: int) -> Decimal:
    """The decimal of a number rounded to a lower scale: rounding may carry into one more digit ahead of the point."""
    return of if scale >= of.scale else Decimal(of.precision - of.scale + 1 + scale, scale)


def same_decimal(arguments: tuple[Type, ...]) -> Resolution | None:
    """A decimal gives one of the same digits."""
    return Resolution(arguments, arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], Decimal) else None


def round_half_up(arguments: tuple[Type, ...]) -> Resolution | None:
    """A decimal and a list of the decimal that it becomes."""
    match arguments:
        case (Decimal() as of, List(item=Decimal() as to)) if to == rounded(of, to.scale):
            return Resolution(arguments, to)
        case _:
            return None


ARITHMETIC = first(fixed(INT, INT, INT), fixed(FLOAT, FLOAT, FLOAT))
SUM = first(
    ARITHMETIC,
    fixed(STRING, STRING, STRING),
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, DURATION, DURATION),
    lists_joined,
    decimals(sum_of),
)
DIFFERENCE = first(
    ARITHMETIC,
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, TIMESTAMP, TIMESTAMP),
    fixed(DURATION, DURATION, DURATION),
    decimals(sum_of),
)
PRODUCT = first(ARITHMETIC, fixed(DURATION, DURATION, INT), decimals(product_of))
FLOORED = first(ARITHMETIC, fixed(INT, DURATION, DURATION))
UNARY = first(fixed(INT, INT), fixed(FLOAT, FLOAT), fixed(DURATION, DURATION), same_decimal)

TABLE = (
    Function(
        "add",
        "a + b",
        SUM,
        "the sum; strings are joined, and lists; a timestamp and a duration give a timestamp; decimals are exact, and the result has digits enough for every sum",
        failures=(Failure.OVERFLOW,),
        method=False,
    ),
    Function(
        "sub",
        "a - b",
        DIFFERENCE,
        "the difference; of two timestamps a duration",
        failures=(Failure.OVERFLOW,),
        method=False,
    ),
    Function(
        "mul",
        "a * b",
        PRODUCT,
        "the product; of decimals exactly, with the digits of both; of a duration and a whole number, in either order, a duration",
        failures=(Failure.OVERFLOW,),
        method=False,
    ),
    Function(
        "div",
        "a / b",
        first(fixed(FLOAT, FLOAT, FLOAT), fixed(FLOAT, DURATION, DURATION)),
        "the quotient as a float, the operands converted to float first; of two durations too",
        failures=(Failure.ZERO_DIVISOR,),
        method=False,
    ),
    Function(
        "floordiv",
        "a // b",
        FLOORED,
        "the quotient rounded towards minus infinity, as Python's; floats too",
        failures=(Failure.ZERO_DIVISOR, Failure.OVERFLOW),
        method=False,
    ),
    Function(
        "mod",
        "a % b",
        ARITHMETIC,
        "the remainder with the sign of the divisor, as Python's; floats too",
        failures=(Failure.ZERO_DIVISOR,),
        method=False,
    ),
    Function("neg", "-a", UNARY, "the negative", failures=(Failure.OVERFLOW,), method=False),
    Function("abs", "abs(a)", UNARY, "the magnitude", failures=(Failure.OVERFLOW,)),
    Function(
        "round_half_up",
        "round_half_up(a, scale)",
        round_half_up,
        "a decimal with at most so many digits behind the point; a half goes away from zero. It has one digit more ahead of the point",
        constants=(1,),
    ),
)
