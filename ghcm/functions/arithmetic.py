"""Arithmetic in the table of functions.

Floats never fail but for a zero divisor.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import DURATION, FLOAT, INT, STRING, TIMESTAMP, Resolution, first, fixed
from ghcm.types import List, Type
from ghcm.unification import unify

__all__ = ["TABLE"]


def lists_joined(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two lists whose items are of one type give a list."""
    match arguments:
        case (List(), List()):
            both = unify(*arguments)
            return None if both is None else Resolution((both, both), both)
        case _:
            return None


ARITHMETIC = first(fixed(INT, INT, INT), fixed(FLOAT, FLOAT, FLOAT))
SUM = first(
    ARITHMETIC,
    fixed(STRING, STRING, STRING),
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, DURATION, DURATION),
    lists_joined,
)
DIFFERENCE = first(
    ARITHMETIC,
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, TIMESTAMP, TIMESTAMP),
    fixed(DURATION, DURATION, DURATION),
)
PRODUCT = first(ARITHMETIC, fixed(DURATION, DURATION, INT))
FLOORED = first(ARITHMETIC, fixed(INT, DURATION, DURATION))
UNARY = first(fixed(INT, INT), fixed(FLOAT, FLOAT), fixed(DURATION, DURATION))

TABLE = (
    Function(
        "add",
        "a + b",
        SUM,
        "the sum; strings are joined, and lists; a timestamp and a duration give a timestamp",
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
    Function("mul", "a * b", PRODUCT, "the product", failures=(Failure.OVERFLOW,), method=False),
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
)
