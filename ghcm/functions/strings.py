"""Strings in the table of functions.

Positions and lengths are in code points.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, INT, STRING, TEXT2, Resolution, comparable, first, fixed
from ghcm.types import List, Type, strip, unify

__all__ = ["TABLE"]


def list_length(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list gives int."""
    return Resolution(arguments, INT) if len(arguments) == 1 and isinstance(arguments[0], List) else None


def list_contains(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of comparable non-null items and one of them give bool."""
    if len(arguments) != 2 or not isinstance(arguments[0], List):
        return None
    item = strip(arguments[0].item)
    fits = item == arguments[0].item and unify(item, arguments[1]) == item and comparable(item)
    return Resolution((arguments[0], item), BOOL) if fits else None


TABLE = (
    Function(
        "length",
        "length(s)",
        first(fixed(INT, STRING), list_length),
        "the number of code points, or of items of a list",
    ),
    Function("lower", "lower(s)", fixed(STRING, STRING), "in lower case by Unicode's default mapping"),
    Function("upper", "upper(s)", fixed(STRING, STRING), "in upper case by Unicode's default mapping"),
    Function(
        "trim",
        "trim(s)",
        fixed(STRING, STRING),
        "without ASCII white space (space, tab, newline, carriage return, vertical tab, form feed) at both ends",
    ),
    Function("starts_with", "starts_with(s, part)", TEXT2, "whether it begins with part"),
    Function("ends_with", "ends_with(s, part)", TEXT2, "whether it ends with part"),
    Function(
        "contains",
        "contains(s, part), contains(list, item)",
        first(TEXT2, list_contains),
        "whether part occurs in it; whether a list has the item",
    ),
    Function(
        "replace",
        "replace(s, old, new)",
        fixed(STRING, STRING, STRING, STRING),
        "every occurrence of old, from the left, replaced; an empty old changes nothing",
    ),
    Function(
        "substring",
        "substring(s, start, count)",
        fixed(STRING, STRING, INT, INT),
        "up to count code points from start (from 0); fails for a negative start or count",
        failures=(Failure.OUT_OF_RANGE,),
    ),
    Function(
        "split",
        "split(s, separator)",
        fixed(List(STRING), STRING, STRING),
        "the parts between separators; an empty separator fails",
        failures=(Failure.BAD_PATTERN,),
    ),
)
