"""Typing rules of functions: from the types of the arguments to what they are converted to and the type of the result.

The rules see types *without* their `?`; nullability is added by `ghcm.functions.resolve`, but for the functions that handle nulls themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghcm.types import Bool, Bytes, Date, Duration, Float, Int, List, Map, String, Struct, Timestamp, Type, strip
from ghcm.unification import unify


@dataclass(frozen=True, slots=True)
class Resolution:
    """A call that fits: the types that the arguments are converted to, and the type of the result."""

    parameters: tuple[Type, ...]
    result: Type


Rule = Callable[[tuple[Type, ...]], Resolution | None]
"""From the argument types *without* their `?` to a resolution of non-null types; None where they do not fit."""


def comparable(type_: Type) -> bool:
    """Whether values of the type have an order and may be keys: everything but maps and what holds them."""
    match strip(type_):
        case Map():
            return False
        case List(item=item):
            return comparable(item)
        case Struct(fields=fields):
            return all(comparable(part.type) for part in fields)
        case _:  # scalars
            return True


COMPARISONS = ("eq", "same", "ne", "lt", "le", "gt", "ge")
"""The functions that compare two values of one type."""

OF_MAPS = (
    "Maps have no order and are no keys; a == b tells whether two are equal, "
    "m.entries() is a list in the order of the keys."
)
"""What to do where values are not `comparable`."""

INT, FLOAT, STRING, BOOL, TIMESTAMP, DURATION = Int(), Float(), String(), Bool(), Timestamp(), Duration()
BYTES = Bytes()
DATE = Date()


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


TEXT2 = fixed(BOOL, STRING, STRING)
