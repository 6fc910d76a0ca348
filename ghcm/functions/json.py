"""JSON texts in the table of functions.

The text must be JSON as RFC 8259 has it, nested at most 200 deep; of several members of one name the last counts. A path is a
constant of names, quoted names and places.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, STRING, Resolution, Rule, fixed
from ghcm.support import Never
from ghcm.types import List, Nullable, String, Struct, Type

_COLUMNAR = Never("Polars takes malformed JSON for missing, and writes numbers otherwise than they stand there")


def _read(name: str, result: Type, meaning: str, *failures: Failure) -> Function:
    rule: Rule = fixed(Nullable(result), STRING, STRING)
    signature = f"{name}(s, path)"
    return Function(
        name, signature, rule, meaning, failures=(Failure.BAD_CAST, *failures), constants=(1,), columnar=_COLUMNAR
    )


def _any(arguments: tuple[Type, ...]) -> Resolution | None:
    """Any value gives a string."""
    return Resolution(arguments, STRING) if len(arguments) == 1 else None


def _record(arguments: tuple[Type, ...]) -> Resolution | None:
    """A text, an empty list of what is read from it, and that type with the places of its fields."""
    match arguments:
        case (String(), List(item=(Struct() | List(item=Struct())) as type_), String()):
            return Resolution(arguments, type_)
        case _:
            return None


TABLE = (
    Function(
        "to_json",
        "to_json(x)",
        _any,
        "the value as compact JSON, as sinks write it: fields in their order, floats as the shortest text that reads back the same (NaN and the infinities as strings), timestamps, dates and decimals as strings, durations in seconds, bytes as base64, maps as objects in the order of their keys, or as lists of pairs where keys are no strings",
        columnar=_COLUMNAR,
    ),
    Function(
        "json_to",
        "json_to(s, Record)",
        _record,
        "the record that a JSON object holds, by the rules of JSON sources: fields stand at their paths, a field that is missing or null is null where its type allows that, other members are ignored; `json_to(s, [Record])` gives the list of an array; fails where the text is malformed, holds half a surrogate pair, or does not fit the record",
        failures=(Failure.BAD_CAST,),
        constants=(1,),
        columnar=_COLUMNAR,
    ),
    _read(
        "json_get",
        STRING,
        'what stands at a path such as `$.user.tags[0]` or `$["a b"]` in a JSON text: a string as it is, a number as it is written, true and false, an object or array as compact JSON; null where nothing or null stands there; fails for malformed JSON',
    ),
    _read(
        "json_string",
        STRING,
        "the string at a path; null where nothing or null stands there; fails for any other value",
    ),
    _read(
        "json_int",
        INT,
        "the whole number at a path, written without point and exponent; null where nothing or null stands there; fails for any other value",
        Failure.OVERFLOW,
    ),
    _read(
        "json_float",
        FLOAT,
        "the number at a path as the nearest double; null where nothing or null stands there; fails for any other value",
        Failure.OVERFLOW,
    ),
    _read(
        "json_bool", BOOL, "true or false at a path; null where nothing or null stands there; fails for any other value"
    ),
    _read(
        "json_list",
        List(Nullable(STRING)),
        "the items of the array at a path, each as `json_get` gives it; null where nothing or null stands there; fails for any other value",
    ),
)
