"""The table of the functions of expressions: name, types, nulls, failures, meaning.

The lowering types calls with it, the documentation and the conformance tests are driven by it, and a test holds every engine's emitter total over
it. The meaning in the last column is binding; `ghcm.spg.reference` executes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ghcm.signatures import (
    ARITHMETIC,
    BOOL,
    DIFFERENCE,
    DURATION,
    FLOAT,
    FLOORED,
    INT,
    PRODUCT,
    STRING,
    SUM,
    TEXT2,
    TIMESTAMP,
    UNARY,
    Resolution,
    Rule,
    any_to_bool,
    coalesce,
    comparable,
    compare,
    first,
    fixed,
    known,
    list_contains,
    list_get,
    list_length,
    logic,
    same,
    to_string,
    widen,
)
from ghcm.types import List, Null, Type, as_nullable, is_nullable, strip

__all__ = ["FUNCTIONS", "OPERATORS", "Failure", "Function", "Nulls", "Resolution", "comparable", "resolve"]


class Failure(Enum):
    """Why a record becomes a dead letter: the closed list of reasons, the same on every engine."""

    OVERFLOW = "overflow"
    ZERO_DIVISOR = "zero_divisor"
    BAD_CAST = "bad_cast"
    OUT_OF_RANGE = "out_of_range"
    BAD_PATTERN = "bad_pattern"
    BAD_RECORD = "bad_record"
    LATE = "late"
    NULL_TIME = "null_time"
    PYTHON = "python"
    WRONG_RESULT = "wrong_result"


class Nulls(Enum):
    """What a null argument does: makes the result null, or is the function's own matter."""

    PROPAGATE = "propagate"
    HANDLED = "handled"


@dataclass(frozen=True, slots=True)
class Function:
    """One function. `signature` is for people; `rule` is what the lowering uses."""

    name: str
    signature: str
    rule: Rule
    meaning: str
    nulls: Nulls = Nulls.PROPAGATE
    failures: tuple[Failure, ...] = ()
    method: bool = True
    """Whether it may be written `x.name(...)` as well as `name(x, ...)`."""


def resolve(function: Function, arguments: tuple[Type, ...]) -> Resolution | None:
    """Type a call: the rule on the stripped types, then nullability as `nulls` says."""
    if function.nulls is Nulls.HANDLED:
        return function.rule(arguments)
    if any(isinstance(argument, Null) for argument in arguments):
        return None
    found = function.rule(tuple(map(strip, arguments)))
    if found is None:
        return None
    parameters = tuple(
        as_nullable(to) if is_nullable(argument) else to
        for to, argument in zip(found.parameters, arguments, strict=True)
    )
    result = as_nullable(found.result) if any(map(is_nullable, arguments)) else found.result
    return Resolution(parameters, result)


_F, _P = Failure, Nulls.HANDLED

_TABLE = (
    # arithmetic; floats never fail but for a zero divisor
    Function(
        "add",
        "a + b",
        SUM,
        "the sum; strings are joined; a timestamp and a duration give a timestamp",
        failures=(_F.OVERFLOW,),
        method=False,
    ),
    Function(
        "sub",
        "a - b",
        DIFFERENCE,
        "the difference; of two timestamps a duration",
        failures=(_F.OVERFLOW,),
        method=False,
    ),
    Function("mul", "a * b", PRODUCT, "the product", failures=(_F.OVERFLOW,), method=False),
    Function(
        "div",
        "a / b",
        fixed(FLOAT, FLOAT, FLOAT),
        "the quotient as a float, the operands converted to float first",
        failures=(_F.ZERO_DIVISOR,),
        method=False,
    ),
    Function(
        "floordiv",
        "a // b",
        FLOORED,
        "the quotient rounded towards minus infinity, as Python's; floats too",
        failures=(_F.ZERO_DIVISOR, _F.OVERFLOW),
        method=False,
    ),
    Function(
        "mod",
        "a % b",
        ARITHMETIC,
        "the remainder with the sign of the divisor, as Python's; floats too",
        failures=(_F.ZERO_DIVISOR,),
        method=False,
    ),
    Function("neg", "-a", UNARY, "the negative", failures=(_F.OVERFLOW,), method=False),
    Function("abs", "abs(a)", UNARY, "the magnitude", failures=(_F.OVERFLOW,)),
    # comparison; strings by code point, structs and lists field by field, NaN equals itself and is greatest, -0.0 = 0.0;
    # inside structs and lists null equals null and is least
    Function("eq", "a == b", compare, "whether both are the same value", method=False),
    Function("ne", "a != b", compare, "whether they differ", method=False),
    Function("lt", "a < b", compare, "whether a is less", method=False),
    Function("le", "a <= b", compare, "whether a is less or equal", method=False),
    Function("gt", "a > b", compare, "whether a is greater", method=False),
    Function("ge", "a >= b", compare, "whether a is greater or equal", method=False),
    Function("least", "min(a, b)", same, "the smaller of two values; null if either is null", method=False),
    Function("greatest", "max(a, b)", same, "the greater of two values; null if either is null", method=False),
    # three-valued logic, the right side evaluated only where the left does not decide
    Function("and", "a and b", logic, "false if either is false, else null if either is null", _P, method=False),
    Function("or", "a or b", logic, "true if either is true, else null if either is null", _P, method=False),
    Function("not", "not a", fixed(BOOL, BOOL), "the opposite", method=False),
    Function("is_null", "a is null", any_to_bool, "whether it is null", _P, method=False),
    Function("is_not_null", "a is not null", any_to_bool, "whether it is a value", _P, method=False),
    Function(
        "coalesce",
        "a ?? b, coalesce(a, b, ...)",
        coalesce,
        "the first that is not null; later ones are evaluated only where needed",
        _P,
    ),
    Function(
        "known",
        "a, where it is known not to be null",
        known,
        "the same value, typed without its `?`: the compiler has proved that it is not null; engines need no check",
        _P,
        method=False,
    ),
    # conversion; `widen` and `to_float` of an int are also what the language inserts by itself
    Function("widen", "an int32 as int", widen, "the same number", method=False),
    Function(
        "to_int",
        "to_int(a)",
        first(fixed(INT, INT), fixed(INT, FLOAT), fixed(INT, STRING), fixed(INT, BOOL)),
        "a float cut towards zero; a string of an optional sign and ASCII digits, nothing else; true is 1",
        failures=(_F.BAD_CAST, _F.OVERFLOW),
    ),
    Function(
        "to_float",
        "to_float(a)",
        first(fixed(FLOAT, INT), fixed(FLOAT, FLOAT), fixed(FLOAT, STRING)),
        "the nearest double; a string in the form [+-]digits[.digits][e[+-]digits], or nan, inf, -inf",
        failures=(_F.BAD_CAST,),
    ),
    Function(
        "to_string",
        "to_string(a)",
        to_string,
        "as Python's str for numbers; true and false; a timestamp as 2026-01-02T03:04:05.000006Z, always six decimals; a date as 2026-01-02; a duration in seconds with six decimals",
        failures=(),
    ),
    # strings; positions and lengths in code points
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
        failures=(_F.OUT_OF_RANGE,),
    ),
    Function(
        "split",
        "split(s, separator)",
        fixed(List(STRING), STRING, STRING),
        "the parts between separators; an empty separator fails",
        failures=(_F.BAD_PATTERN,),
    ),
    # Regular expressions: the subset that RE2, Java and Python agree on, ASCII classes; the pattern must be a constant.
    # The lowering rewrites it so that all three read it alike without flags: classes and `.` are spelt out, groups capture
    # nothing, and every `$` left in it means the end of the text (Python writes `\Z`, the others `\z`).
    Function("matches", "matches(s, pattern)", TEXT2, "whether the pattern is found anywhere in it"),
    Function(
        "extract_all",
        "extract_all(s, pattern)",
        fixed(List(STRING), STRING, STRING),
        "all matches from the left that do not overlap, whole match each",
    ),
    # lists
    Function(
        "get",
        "get(list, index)",
        list_get,
        "the item at index (from 0); fails outside the list or for a negative index",
        failures=(_F.OUT_OF_RANGE,),
    ),
    # time
    Function(
        "truncate",
        "truncate(t, unit)",
        fixed(TIMESTAMP, TIMESTAMP, DURATION),
        "the last multiple of unit since 1970 that is not after t; fails for a unit that is not positive",
        failures=(_F.ZERO_DIVISOR,),
    ),
    Function(
        "to_micros",
        "to_micros(t)",
        first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        "microseconds since 1970, or of the duration",
    ),
    Function("from_micros", "from_micros(n)", fixed(TIMESTAMP, INT), "the timestamp so many microseconds after 1970"),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}

OPERATORS: dict[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "and": "and", "or": "or", "??": "coalesce",
}  # fmt: skip
"""From the operators of the text language to functions."""
