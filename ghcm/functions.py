"""The table of the functions of expressions: name, types, nulls, failures, meaning.

The lowering types calls with it, the documentation and the conformance tests are driven by it, and a test holds every engine's emitter total over
it. The meaning in the last column is binding; `ghcm.spg.reference` executes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ghcm.types import (
    Bool,
    Date,
    Duration,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    is_nullable,
    strip,
    unify,
)

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
class Resolution:
    """A call that fits: the types that the arguments are converted to, and the type of the result."""

    parameters: tuple[Type, ...]
    result: Type


Rule = Callable[[tuple[Type, ...]], Resolution | None]
"""From the argument types *without* their `?` to a resolution of non-null types; None where they do not fit."""


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


def comparable(type_: Type) -> bool:
    """Whether values of the type can be compared and used as keys: everything but maps and what holds them."""
    match strip(type_):
        case Map():
            return False
        case List(item=item):
            return comparable(item)
        case Struct(fields=fields):
            return all(comparable(part.type) for part in fields)
        case _:
            return True


# --- rules -----------------------------------------------------------------------------------------------------------

_INT, _FLOAT, _STRING, _BOOL, _TIMESTAMP, _DURATION = Int(), Float(), String(), Bool(), Timestamp(), Duration()


def _fixed(result: Type, *parameters: Type) -> Rule:
    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        fits = len(arguments) == len(parameters) and all(
            unify(a, p) == p for a, p in zip(arguments, parameters, strict=True)
        )
        return Resolution(parameters, result) if fits else None

    return rule


def _first(*rules: Rule) -> Rule:
    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        return next((found for each in rules if (found := each(arguments)) is not None), None)

    return rule


def _compare(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), _BOOL) if both is not None and comparable(both) else None


def _same(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), both) if both is not None and comparable(both) else None


def _any_to_bool(arguments: tuple[Type, ...]) -> Resolution | None:
    return Resolution(arguments, _BOOL) if len(arguments) == 1 else None


def _logic(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) != 2 or not all(strip(each) == _BOOL for each in arguments):
        return None
    return Resolution(arguments, as_nullable(_BOOL) if any(map(is_nullable, arguments)) else _BOOL)


def _coalesce(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) < 2:
        return None
    result: Type | None = arguments[0]
    for each in arguments[1:]:
        result = None if result is None else unify(result, each)
    if result is None or isinstance(result, Null):
        return None
    last = result if is_nullable(arguments[-1]) else strip(result)
    return Resolution((*(as_nullable(result) if is_nullable(each) else strip(result) for each in arguments),), last)


def _known(arguments: tuple[Type, ...]) -> Resolution | None:
    fits = len(arguments) == 1 and isinstance(arguments[0], Nullable)
    return Resolution(arguments, strip(arguments[0])) if fits else None


def _widen(arguments: tuple[Type, ...]) -> Resolution | None:
    return Resolution(arguments, _INT) if arguments == (Int32(),) else None


def _list_length(arguments: tuple[Type, ...]) -> Resolution | None:
    return Resolution(arguments, _INT) if len(arguments) == 1 and isinstance(arguments[0], List) else None


def _list_get(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) != 2 or not isinstance(arguments[0], List) or arguments[1] not in (_INT, Int32()):
        return None
    return Resolution((arguments[0], _INT), arguments[0].item)


def _list_contains(arguments: tuple[Type, ...]) -> Resolution | None:
    if len(arguments) != 2 or not isinstance(arguments[0], List):
        return None
    item = strip(arguments[0].item)
    fits = item == arguments[0].item and unify(item, arguments[1]) == item and comparable(item)
    return Resolution((arguments[0], item), _BOOL) if fits else None


def _to_string(arguments: tuple[Type, ...]) -> Resolution | None:
    text = (
        isinstance(arguments[0], Bool | Int | Int32 | Float | String | Timestamp | Date | Duration)
        if len(arguments) == 1
        else False
    )
    return Resolution(arguments, _STRING) if text else None


_ARITHMETIC = _first(_fixed(_INT, _INT, _INT), _fixed(_FLOAT, _FLOAT, _FLOAT))
_TEXT2 = _fixed(_BOOL, _STRING, _STRING)
_SUM = _first(
    _ARITHMETIC,
    _fixed(_STRING, _STRING, _STRING),
    _fixed(_TIMESTAMP, _TIMESTAMP, _DURATION),
    _fixed(_DURATION, _DURATION, _DURATION),
)
_DIFFERENCE = _first(
    _ARITHMETIC,
    _fixed(_TIMESTAMP, _TIMESTAMP, _DURATION),
    _fixed(_DURATION, _TIMESTAMP, _TIMESTAMP),
    _fixed(_DURATION, _DURATION, _DURATION),
)
_PRODUCT = _first(_ARITHMETIC, _fixed(_DURATION, _DURATION, _INT))
_FLOORED = _first(_ARITHMETIC, _fixed(_INT, _DURATION, _DURATION))
_UNARY = _first(_fixed(_INT, _INT), _fixed(_FLOAT, _FLOAT), _fixed(_DURATION, _DURATION))

_F, _P = Failure, Nulls.HANDLED

_TABLE = (
    # arithmetic; floats never fail but for a zero divisor
    Function(
        "add",
        "a + b",
        _SUM,
        "the sum; strings are joined; a timestamp and a duration give a timestamp",
        failures=(_F.OVERFLOW,),
        method=False,
    ),
    Function(
        "sub",
        "a - b",
        _DIFFERENCE,
        "the difference; of two timestamps a duration",
        failures=(_F.OVERFLOW,),
        method=False,
    ),
    Function("mul", "a * b", _PRODUCT, "the product", failures=(_F.OVERFLOW,), method=False),
    Function(
        "div",
        "a / b",
        _fixed(_FLOAT, _FLOAT, _FLOAT),
        "the quotient as a float, the operands converted to float first",
        failures=(_F.ZERO_DIVISOR,),
        method=False,
    ),
    Function(
        "floordiv",
        "a // b",
        _FLOORED,
        "the quotient rounded towards minus infinity, as Python's; floats too",
        failures=(_F.ZERO_DIVISOR, _F.OVERFLOW),
        method=False,
    ),
    Function(
        "mod",
        "a % b",
        _ARITHMETIC,
        "the remainder with the sign of the divisor, as Python's; floats too",
        failures=(_F.ZERO_DIVISOR,),
        method=False,
    ),
    Function("neg", "-a", _UNARY, "the negative", failures=(_F.OVERFLOW,), method=False),
    Function("abs", "abs(a)", _UNARY, "the magnitude", failures=(_F.OVERFLOW,)),
    # comparison; strings by code point, structs and lists field by field, NaN equals itself and is greatest, -0.0 = 0.0;
    # inside structs and lists null equals null and is least
    Function("eq", "a == b", _compare, "whether both are the same value", method=False),
    Function("ne", "a != b", _compare, "whether they differ", method=False),
    Function("lt", "a < b", _compare, "whether a is less", method=False),
    Function("le", "a <= b", _compare, "whether a is less or equal", method=False),
    Function("gt", "a > b", _compare, "whether a is greater", method=False),
    Function("ge", "a >= b", _compare, "whether a is greater or equal", method=False),
    Function("least", "min(a, b)", _same, "the smaller of two values; null if either is null", method=False),
    Function("greatest", "max(a, b)", _same, "the greater of two values; null if either is null", method=False),
    # three-valued logic, the right side evaluated only where the left does not decide
    Function("and", "a and b", _logic, "false if either is false, else null if either is null", _P, method=False),
    Function("or", "a or b", _logic, "true if either is true, else null if either is null", _P, method=False),
    Function("not", "not a", _fixed(_BOOL, _BOOL), "the opposite", method=False),
    Function("is_null", "a is null", _any_to_bool, "whether it is null", _P, method=False),
    Function("is_not_null", "a is not null", _any_to_bool, "whether it is a value", _P, method=False),
    Function(
        "coalesce",
        "a ?? b, coalesce(a, b, ...)",
        _coalesce,
        "the first that is not null; later ones are evaluated only where needed",
        _P,
    ),
    Function(
        "known",
        "a, where it is known not to be null",
        _known,
        "the same value, typed without its `?`: the compiler has proved that it is not null; engines need no check",
        _P,
        method=False,
    ),
    # conversion; `widen` and `to_float` of an int are also what the language inserts by itself
    Function("widen", "an int32 as int", _widen, "the same number", method=False),
    Function(
        "to_int",
        "to_int(a)",
        _first(_fixed(_INT, _INT), _fixed(_INT, _FLOAT), _fixed(_INT, _STRING), _fixed(_INT, _BOOL)),
        "a float cut towards zero; a string of an optional sign and ASCII digits, nothing else; true is 1",
        failures=(_F.BAD_CAST, _F.OVERFLOW),
    ),
    Function(
        "to_float",
        "to_float(a)",
        _first(_fixed(_FLOAT, _FLOAT), _fixed(_FLOAT, _STRING)),
        "the nearest double; a string in the form [+-]digits[.digits][e[+-]digits], or nan, inf, -inf",
        failures=(_F.BAD_CAST,),
    ),
    Function(
        "to_string",
        "to_string(a)",
        _to_string,
        "as Python's str for numbers; true and false; a timestamp as 2026-01-02T03:04:05.000006Z, always six decimals; a date as 2026-01-02; a duration in seconds with six decimals",
        failures=(),
    ),
    # strings; positions and lengths in code points
    Function(
        "length",
        "length(s)",
        _first(_fixed(_INT, _STRING), _list_length),
        "the number of code points, or of items of a list",
    ),
    Function("lower", "lower(s)", _fixed(_STRING, _STRING), "in lower case by Unicode's default mapping"),
    Function("upper", "upper(s)", _fixed(_STRING, _STRING), "in upper case by Unicode's default mapping"),
    Function(
        "trim",
        "trim(s)",
        _fixed(_STRING, _STRING),
        "without ASCII white space (space, tab, newline, carriage return, vertical tab, form feed) at both ends",
    ),
    Function("starts_with", "starts_with(s, part)", _TEXT2, "whether it begins with part"),
    Function("ends_with", "ends_with(s, part)", _TEXT2, "whether it ends with part"),
    Function(
        "contains",
        "contains(s, part), contains(list, item)",
        _first(_TEXT2, _list_contains),
        "whether part occurs in it; whether a list has the item",
    ),
    Function(
        "replace",
        "replace(s, old, new)",
        _fixed(_STRING, _STRING, _STRING, _STRING),
        "every occurrence of old, from the left, replaced; an empty old changes nothing",
    ),
    Function(
        "substring",
        "substring(s, start, count)",
        _fixed(_STRING, _STRING, _INT, _INT),
        "up to count code points from start (from 0); fails for a negative start or count",
        failures=(_F.OUT_OF_RANGE,),
    ),
    Function(
        "split",
        "split(s, separator)",
        _fixed(List(_STRING), _STRING, _STRING),
        "the parts between separators; an empty separator fails",
        failures=(_F.BAD_PATTERN,),
    ),
    # Regular expressions: the subset that RE2, Java and Python agree on, ASCII classes; the pattern must be a constant.
    # The lowering rewrites it so that all three read it alike without flags: classes and `.` are spelt out, groups capture
    # nothing, and every `$` left in it means the end of the text (Python writes `\Z`, the others `\z`).
    Function("matches", "matches(s, pattern)", _TEXT2, "whether the pattern is found anywhere in it"),
    Function(
        "extract_all",
        "extract_all(s, pattern)",
        _fixed(List(_STRING), _STRING, _STRING),
        "all matches from the left that do not overlap, whole match each",
    ),
    # lists
    Function(
        "get",
        "get(list, index)",
        _list_get,
        "the item at index (from 0); fails outside the list or for a negative index",
        failures=(_F.OUT_OF_RANGE,),
    ),
    # time
    Function(
        "truncate",
        "truncate(t, unit)",
        _fixed(_TIMESTAMP, _TIMESTAMP, _DURATION),
        "the last multiple of unit since 1970 that is not after t; fails for a unit that is not positive",
        failures=(_F.ZERO_DIVISOR,),
    ),
    Function(
        "to_micros",
        "to_micros(t)",
        _first(_fixed(_INT, _TIMESTAMP), _fixed(_INT, _DURATION)),
        "microseconds since 1970, or of the duration",
    ),
    Function(
        "from_micros", "from_micros(n)", _fixed(_TIMESTAMP, _INT), "the timestamp so many microseconds after 1970"
    ),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _TABLE}

OPERATORS: dict[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "and": "and", "or": "or", "??": "coalesce",
}  # fmt: skip
"""From the operators of the text language to functions."""
