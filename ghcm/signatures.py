"""Typing rules of functions: from the types of the arguments to what they are converted to and the type of the result.

The rules see types *without* their `?`; nullability is added by `ghcm.functions.resolve`, but for the functions that handle nulls themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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

__all__ = [
    "ARITHMETIC",
    "BOOL",
    "DIFFERENCE",
    "DURATION",
    "FLOAT",
    "FLOORED",
    "INT",
    "PRODUCT",
    "STRING",
    "SUM",
    "TEXT2",
    "TIMESTAMP",
    "UNARY",
    "Resolution",
    "Rule",
    "any_to_bool",
    "coalesce",
    "comparable",
    "compare",
    "first",
    "fixed",
    "known",
    "list_contains",
    "list_get",
    "list_length",
    "logic",
    "same",
    "to_string",
    "widen",
]


@dataclass(frozen=True, slots=True)
class Resolution:
    """A call that fits: the types that the arguments are converted to, and the type of the result."""

    parameters: tuple[Type, ...]
    result: Type


Rule = Callable[[tuple[Type, ...]], Resolution | None]
"""From the argument types *without* their `?` to a resolution of non-null types; None where they do not fit."""


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


INT, FLOAT, STRING, BOOL, TIMESTAMP, DURATION = Int(), Float(), String(), Bool(), Timestamp(), Duration()


def fixed(result: Type, *parameters: Type) -> Rule:
    """Exactly these parameter types; arguments may be narrower."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        fits = len(arguments) == len(parameters) and all(
            unify(a, p) == p for a, p in zip(arguments, parameters, strict=True)
        )
        return Resolution(parameters, result) if fits else None

    return rule


def first(*rules: Rule) -> Rule:
    """The first of several rules that fits."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        return next((found for each in rules if (found := each(arguments)) is not None), None)

    return rule


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


def any_to_bool(arguments: tuple[Type, ...]) -> Resolution | None:
    """Any one value gives bool."""
    return Resolution(arguments, BOOL) if len(arguments) == 1 else None


def logic(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two bools, either perhaps null."""
    if len(arguments) != 2 or not all(strip(each) == BOOL for each in arguments):
        return None
    return Resolution(arguments, as_nullable(BOOL) if any(map(is_nullable, arguments)) else BOOL)


def coalesce(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two or more values that unify; nullable only if the last is."""
    if len(arguments) < 2:
        return None
    result: Type | None = arguments[0]
    for each in arguments[1:]:
        result = None if result is None else unify(result, each)
    if result is None or isinstance(result, Null):
        return None
    last = result if is_nullable(arguments[-1]) else strip(result)
    return Resolution((*(as_nullable(result) if is_nullable(each) else strip(result) for each in arguments),), last)


def known(arguments: tuple[Type, ...]) -> Resolution | None:
    """A nullable value that is proved not to be null."""
    fits = len(arguments) == 1 and isinstance(arguments[0], Nullable)
    return Resolution(arguments, strip(arguments[0])) if fits else None


def widen(arguments: tuple[Type, ...]) -> Resolution | None:
    """An int32 as int."""
    return Resolution(arguments, INT) if arguments == (Int32(),) else None


def list_length(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list gives int."""
    return Resolution(arguments, INT) if len(arguments) == 1 and isinstance(arguments[0], List) else None


def list_get(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list and an index give an item."""
    if len(arguments) != 2 or not isinstance(arguments[0], List) or arguments[1] not in (INT, Int32()):
        return None
    return Resolution((arguments[0], INT), arguments[0].item)


def list_contains(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of comparable non-null items and one of them give bool."""
    if len(arguments) != 2 or not isinstance(arguments[0], List):
        return None
    item = strip(arguments[0].item)
    fits = item == arguments[0].item and unify(item, arguments[1]) == item and comparable(item)
    return Resolution((arguments[0], item), BOOL) if fits else None


def to_string(arguments: tuple[Type, ...]) -> Resolution | None:
    """A scalar that has a text form."""
    text = (
        isinstance(arguments[0], Bool | Int | Int32 | Float | String | Timestamp | Date | Duration)
        if len(arguments) == 1
        else False
    )
    return Resolution(arguments, STRING) if text else None


ARITHMETIC = first(fixed(INT, INT, INT), fixed(FLOAT, FLOAT, FLOAT))
TEXT2 = fixed(BOOL, STRING, STRING)
SUM = first(
    ARITHMETIC,
    fixed(STRING, STRING, STRING),
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, DURATION, DURATION),
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
