"""Conversion in the table of functions.

`widen`, and `to_float` of an int, are also what the language inserts by itself.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, STRING, Resolution, Rule, first, fixed
from ghcm.types import Bool, Date, Decimal, Duration, Enumeration, Float, Int, Int32, List, String, Timestamp, Type


def widen(arguments: tuple[Type, ...]) -> Resolution | None:
    """An int32 as int."""
    return Resolution(arguments, INT) if arguments == (Int32(),) else None


def to_string(arguments: tuple[Type, ...]) -> Resolution | None:
    """A scalar that has a text form."""
    text = (
        isinstance(
            arguments[0], Bool | Int | Int32 | Float | Decimal | String | Enumeration | Timestamp | Date | Duration
        )
        if len(arguments) == 1
        else False
    )
    return Resolution(arguments, STRING) if text else None


def to_enum(arguments: tuple[Type, ...]) -> Resolution | None:
    """A text and the list of an enum's values."""
    match arguments:
        case (String(), List(item=Enumeration() as enum)):
            return Resolution(arguments, enum)
        case _:
            return None


def to_decimal(arguments: tuple[Type, ...]) -> Resolution | None:
    """A number that is exact, or a text, and a list of the decimal that it becomes."""
    match arguments:
        case (Int() | Decimal() | String(), List(item=Decimal() as to)):
            return Resolution(arguments, to)
        case (Int32(), List(item=Decimal() as to) as shown):
            return Resolution((INT, shown), to)
        case _:
            return None


def of_decimal(result: Type) -> Rule:
    """A decimal of whatever digits."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        fits = len(arguments) == 1 and isinstance(arguments[0], Decimal)
        return Resolution(arguments, result) if fits else None

    return rule


TABLE = (
    Function("widen", "an int32 as int", widen, "the same number", method=False),
    Function(
        "to_int",
        "to_int(a)",
        first(fixed(INT, INT), fixed(INT, FLOAT), fixed(INT, STRING), fixed(INT, BOOL), of_decimal(INT)),
        "a float or decimal cut towards zero; a string of an optional sign and ASCII digits, nothing else; true is 1",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
    ),
    Function(
        "to_float",
        "to_float(a)",
        first(fixed(FLOAT, INT), fixed(FLOAT, FLOAT), fixed(FLOAT, STRING), of_decimal(FLOAT)),
        "the nearest double; a string in the form [+-]digits[.digits][e[+-]digits], or nan, inf, -inf",
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "to_string",
        "to_string(a)",
        to_string,
        "as Python's str for ints and floats; a decimal with all digits of its scale, never with an exponent; true and false; a timestamp as 2026-01-02T03:04:05.000006Z, always six decimals; a date as 2026-01-02; a duration in seconds with six decimals",
        failures=(),
    ),
    Function(
        "to_decimal",
        "to_decimal(a, digits, scale)",
        to_decimal,
        "an int, a decimal or a string of an optional sign, digits and perhaps a point and digits as a decimal(digits, scale); nothing is rounded: it fails (bad_cast) where digits other than zeros would be lost behind the point, and (overflow) where those ahead of it do not fit",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        constants=(1,),
    ),
    Function(
        "to_enum",
        "to_enum(s, values)",
        to_enum,
        "the string as a value of an enum, which is given by its name or as a list of its values; fails for any other string",
        failures=(Failure.BAD_CAST,),
        constants=(1,),
    ),
)
