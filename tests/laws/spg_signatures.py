"""The calls that the table of functions allows, found by asking its typing rules: a new function needs nothing here.

Arguments that have to be constants are taken from the conformance cases of the function; every function has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from ghcm.functions import FUNCTIONS, Nulls, resolve
from ghcm.types import (
    Bool,
    Date,
    Duration,
    Float,
    Int,
    List,
    Map,
    Nullable,
    String,
    Timestamp,
    Type,
    as_nullable,
    strip,
    tuple_of,
)
from ghcm.unification import accepts
from tests.conformance.functions.case import argument_types
from tests.conformance.functions.families import FAMILY_CASES
from tests.laws.spg_values import SCALARS

__all__ = ["Signature", "signatures", "signatures_by_result"]

_LISTS: tuple[Type, ...] = (List(Int()), List(String()), List(Float()), List(Nullable(Int())))
_MAPS: tuple[Type, ...] = (Map(String(), Int()), Map(Int(), String()))
_ANY: tuple[Type, ...] = (*SCALARS, *_LISTS, *_MAPS, tuple_of(Int(), String()))
_SOME: tuple[Type, ...] = (Int(), Float(), String(), Bool(), Timestamp(), Duration(), Date(), *_LISTS[:2], _MAPS[0])
_FEW: tuple[Type, ...] = (Int(), String(), Timestamp())
_BY_COUNT: dict[int, tuple[Type, ...]] = {0: _ANY, 1: _ANY, 2: _ANY, 3: _SOME, 4: _FEW}
_ELSEWHERE = {"known", "coalesce", "is_null", "is_not_null"}
"""Written with the tests around them that their types ask for."""
_INEXACT = {name for name, function in FUNCTIONS.items() if function.inexact}
"""What follows from their last digits, such as what a filter keeps, may differ by engine."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function on arguments of exactly these types; the last of them are these constants."""

    function: str
    arguments: tuple[Type, ...]
    result: Type
    constants: tuple[object, ...] = field(default=(), hash=False)


@cache
def signatures() -> dict[str, tuple[Signature, ...]]:
    """All of them by function; none is nullable unless the function minds nulls itself."""
    found: dict[str, dict[Signature, None]] = {name: {} for name in FUNCTIONS if name not in _ELSEWHERE | _INEXACT}
    for cases in FAMILY_CASES.values():
        for case in cases:
            if case.function in found:
                types = argument_types(case)
                free = len(types) - len(case.constants)
                plain = (*map(strip, types[:free]), *types[free:])
                found[case.function] |= dict.fromkeys(_typed(case.function, plain, case.constants))
    for name, known in found.items():
        if not FUNCTIONS[name].constants:
            known.update(dict.fromkeys(_probed(name)))
    return {name: tuple(known) for name, known in found.items()}


def _probed(name: str) -> Iterator[Signature]:
    for count, types in _BY_COUNT.items():
        for arguments in product(types, repeat=count):
            yield from _typed(name, arguments, ())


def _typed(name: str, arguments: tuple[Type, ...], constants: tuple[object, ...]) -> Iterator[Signature]:
    function = FUNCTIONS[name]
    resolution = resolve(function, arguments)
    exact = resolution is not None and resolution.parameters == arguments
    if resolution is not None and exact:
        yield Signature(name, arguments, resolution.result, constants)
    if function.nulls is Nulls.HANDLED and arguments and arguments[0] == strip(arguments[0]):
        yield from _typed(name, (as_nullable(arguments[0]), *arguments[1:]), constants)


@cache
def signatures_by_result(type_: Type, *, fails: bool) -> dict[str, tuple[Signature, ...]]:
    """By function those whose result is of that type; without `fails` those that cannot fail a record."""
    wanted = as_nullable(type_)
    some = {
        name: tuple(each for each in known if accepts(wanted, each.result))
        for name, known in signatures().items()
        if fails or not FUNCTIONS[name].failures
    }
    return {name: known for name, known in some.items() if known}
