"""Cases of maps."""

from __future__ import annotations

from typing import cast

from ghcm.signatures import BOOL, INT, STRING, TIMESTAMP
from ghcm.types import Field, List, Map, Nullable, Struct, Type, pair_of
from tests.conformance.functions.case import Case, case

__all__ = ["CASES", "KEYED", "MAPS"]

WORDS, NUMBERS = Map(STRING, INT), Map(INT, Nullable(STRING))
NESTED = Map(STRING, Struct((Field("x", Nullable(INT)), Field("y", List(STRING)))))
DEEP, FLAGS, MOMENTS = Map(STRING, Map(STRING, INT)), Map(BOOL, INT), Map(TIMESTAMP, Nullable(INT))

MAPS: dict[Type, tuple[object, ...]] = {
    WORDS: ({}, {"a": 1}, {"b": 2, "a": -1, "é": 0, "😀": 2**63 - 1, "\uffff": 3, "": 7}, {"B": 1, "a": 2}, None),
    NUMBERS: ({}, {1: None}, {3: "c", -(2**63): "", 2: None, 2**63 - 1: "z"}, None),
    NESTED: ({}, {"a": (1, ["x"])}, {"b": (None, []), "a": (2, [])}, None),
    DEEP: ({}, {"b": {}, "a": {"y": 1, "x": 2}}, None),
    FLAGS: ({}, {True: 1, False: 2}, {True: 0}, None),
    MOMENTS: ({}, {5: 1, -7: None}, None),
}

KEYED: dict[Type, tuple[object, ...]] = {
    WORDS: ("", "a", "b", "é", "😀", "missing", None),
    NUMBERS: (0, 1, 2, -(2**63), 2**63 - 1, None),
    NESTED: ("a", "b", "c", None),
    DEEP: ("a", "b", "c", None),
    FLAGS: (True, False, None),
    MOMENTS: (5, -7, 0, None),
}

ENTRIES: dict[Type, tuple[object, ...]] = {
    pair_of(STRING, INT): ([], [("a", 1)], [("b", 1), ("a", 2), ("b", 3), ("😀", 4), ("\uffff", 5), ("a", 6)], None),
    pair_of(INT, Nullable(STRING)): ([], [(1, None)], [(2, "x"), (1, None), (2, None)], [(3, None), (3, "y")], None),
    pair_of(BOOL, List(INT)): ([], [(True, [1]), (False, []), (True, [2, 3])], None),
}


def _key(type_: Type) -> Type:
    assert isinstance(type_, Map)
    return type_.key


def _small(type_: Type) -> tuple[object, ...]:
    """The maps of one key at most: dead letters hold them, and Spark hands over those of more keys in any order."""
    found = [each for each in MAPS[type_] if isinstance(each, dict)]
    singles = [(key, value) for each in found for key, value in cast("dict[object, object]", each).items()]
    return ({}, *({key: value} for key, value in singles if not isinstance(value, dict) or len(value) < 2), None)


CASES: tuple[Case, ...] = (
    *(case("map_at", type_, _key(type_), values=(_small(type_), KEYED[type_])) for type_ in MAPS),
    *(case("has_key", type_, _key(type_), values=(MAPS[type_], KEYED[type_])) for type_ in MAPS),
    *(case(name, type_, values=(MAPS[type_],)) for name in ("keys", "values", "entries") for type_ in MAPS),
    *(case("from_entries", List(type_), values=(values,)) for type_, values in ENTRIES.items()),
)
