"""Strings in the table of functions.

Positions and lengths are in code points.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, INT, STRING, TEXT2, Resolution, comparable, first, fixed
from ghcm.types import Int32, List, Map, Nullable, Type, strip
from ghcm.types.unification import unify

LONGEST_TEXT = 1_048_576
"""The most code points of a text that `repeat` and the paddings make; more than that fails."""


def list_length(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list or map gives int."""
    return Resolution(arguments, INT) if len(arguments) == 1 and isinstance(arguments[0], List | Map) else None


def list_is_empty(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list or map gives bool."""
    return Resolution(arguments, BOOL) if len(arguments) == 1 and isinstance(arguments[0], List | Map) else None


def list_contains(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of comparable non-null items and one of them give bool."""
    if len(arguments) != 2 or not isinstance(arguments[0], List):
        return None
    item = strip(arguments[0].item)
    fits = item == arguments[0].item and unify(item, arguments[1]) == item and comparable(item)
    return Resolution((arguments[0], item), BOOL) if fits else None


def list_slice(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list and one or two places give a list."""
    if len(arguments) not in (2, 3) or not isinstance(arguments[0], List):
        return None
    fits = all(each in (INT, Int32()) for each in arguments[1:])
    return Resolution((arguments[0], *(INT for _ in arguments[1:])), arguments[0]) if fits else None


def all_strings(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two or more strings give one."""
    fits = len(arguments) >= 2 and all(each == STRING for each in arguments)
    return Resolution(arguments, STRING) if fits else None


_TRIM = first(fixed(STRING, STRING), fixed(STRING, STRING, STRING))
_SPACE = "ASCII white space (space, tab, newline, carriage return, vertical tab, form feed)"

TABLE = (
    Function(
        "length",
        "length(s)",
        first(fixed(INT, STRING), list_length),
        "the number of code points, of items of a list, or of keys of a map",
    ),
    Function("lower", "lower(s)", fixed(STRING, STRING), "in lower case by Unicode's default mapping"),
    Function("upper", "upper(s)", fixed(STRING, STRING), "in upper case by Unicode's default mapping"),
    Function(
        "trim",
        "trim(s), trim(s, characters)",
        _TRIM,
        f"without {_SPACE} at both ends, or without any of these characters",
    ),
    Function("trim_start", "trim_start(s), trim_start(s, characters)", _TRIM, "the same at the beginning only"),
    Function("trim_end", "trim_end(s), trim_end(s, characters)", _TRIM, "the same at the end only"),
    Function(
        "is_empty",
        "is_empty(s)",
        first(fixed(BOOL, STRING), list_is_empty),
        "whether it has no code points, no items of a list, or no keys of a map",
    ),
    Function("starts_with", "starts_with(s, part)", TEXT2, "whether it begins with part"),
    Function("ends_with", "ends_with(s, part)", TEXT2, "whether it ends with part"),
    Function(
        "contains",
        "contains(s, part), contains(list, item), part in s, item in list",
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
    Function(
        "split_part",
        "split_part(s, separator, n)",
        fixed(Nullable(STRING), STRING, STRING, INT),
        "part n (from 0) between separators; null where there are fewer; fails for a negative n or an empty separator",
        failures=(Failure.BAD_PATTERN, Failure.OUT_OF_RANGE),
    ),
    Function(
        "lines",
        "lines(s)",
        fixed(List(STRING), STRING),
        "the lines, which end in a newline or in a carriage return and a newline; the last need not",
    ),
    Function("words", "words(s)", fixed(List(STRING), STRING), f"the parts between {_SPACE}, none of them empty"),
    Function("concat", "concat(s, t, ...)", all_strings, "one after the other"),
    Function(
        "join",
        "join(list, separator)",
        fixed(STRING, List(STRING), STRING),
        "the strings of a list with the separator between them",
    ),
    Function("reverse", "reverse(s)", fixed(STRING, STRING), "its code points from the last to the first"),
    Function(
        "repeat",
        "repeat(s, n)",
        fixed(STRING, STRING, INT),
        f"n times; fails for a negative n and for more than {LONGEST_TEXT:,} code points",
        failures=(Failure.OUT_OF_RANGE, Failure.OVERFLOW),
    ),
    Function(
        "pad_start",
        "pad_start(s, width, fill)",
        fixed(STRING, STRING, INT, STRING),
        f"with fill, repeated and cut, before it up to a width; an empty fill changes nothing; fails where that makes more than {LONGEST_TEXT:,} code points",
        failures=(Failure.OVERFLOW,),
    ),
    Function(
        "pad_end",
        "pad_end(s, width, fill)",
        fixed(STRING, STRING, INT, STRING),
        "the same with fill behind it",
        failures=(Failure.OVERFLOW,),
    ),
    Function(
        "index_of",
        "index_of(s, part)",
        fixed(INT, STRING, STRING),
        "where part first begins (from 0), -1 where it does not occur; 0 for an empty part",
    ),
    Function(
        "last_index_of",
        "last_index_of(s, part)",
        fixed(INT, STRING, STRING),
        "where part last begins (from 0), -1 where it does not occur; the length for an empty part",
    ),
    Function(
        "count_of",
        "count_of(s, part)",
        fixed(INT, STRING, STRING),
        "how often part occurs without overlapping; for an empty part one more than the length",
    ),
    Function(
        "slice",
        "slice(s, start), slice(s, start, end), s[start:end]",
        first(fixed(STRING, STRING, INT), fixed(STRING, STRING, INT, INT), list_slice),
        "from start (from 0) up to before end, as Python's s[start:end]: negative places count from the end, places outside are cut; of a list too",
    ),
    Function(
        "left",
        "left(s, n)",
        fixed(STRING, STRING, INT),
        "the first n code points; fails for a negative n",
        failures=(Failure.OUT_OF_RANGE,),
    ),
    Function(
        "right",
        "right(s, n)",
        fixed(STRING, STRING, INT),
        "the last n code points; fails for a negative n",
        failures=(Failure.OUT_OF_RANGE,),
    ),
    Function(
        "remove_prefix",
        "remove_prefix(s, part)",
        fixed(STRING, STRING, STRING),
        "without part at its beginning, if it is there",
    ),
    Function(
        "remove_suffix",
        "remove_suffix(s, part)",
        fixed(STRING, STRING, STRING),
        "without part at its end, if it is there",
    ),
)
