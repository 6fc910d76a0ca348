"""Comparison in the table of functions.

Strings by code point, structs and lists field by field, NaN equals itself and is greatest, -0.0 = 0.0; inside structs and
lists null equals null and is least.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, STRING, Resolution, comparable, fixed
from ghcm.types import Type
from ghcm.types.unification import unify


def compare(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two comparable values of one type give bool."""
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), BOOL) if both is not None and comparable(both) else None


def same(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two comparable values of one type give that type."""
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), both) if both is not None and comparable(both) else None


TABLE = (
    Function("eq", "a == b", compare, "whether both are the same value", method=False),
    Function("ne", "a != b", compare, "whether they differ", method=False),
    Function("lt", "a < b", compare, "whether a is less", method=False),
    Function("le", "a <= b", compare, "whether a is less or equal", method=False),
    Function("gt", "a > b", compare, "whether a is greater", method=False),
    Function("ge", "a >= b", compare, "whether a is greater or equal", method=False),
    Function("least", "min(a, b)", same, "the smaller of two values; null if either is null", method=False),
    Function("greatest", "max(a, b)", same, "the greater of two values; null if either is null", method=False),
    Function(
        "ensure",
        "ensure(condition, message)",
        fixed(BOOL, BOOL, STRING),
        "true; fails with the message where the condition is false. A filter by it makes dead letters of records that a program does not expect",
        failures=(Failure.BAD_RECORD,),
        method=False,
        constants=(1,),
    ),
)
