"""Maps in the table of functions; `get` and `length` stand with those of lists and strings.

Keys are exact scalars: no floats, and never null. Where an order shows, it is that of the keys.
"""

from __future__ import annotations

from ghcm import types
from ghcm.functions.table import Example, Failure, Function
from ghcm.signatures import BOOL, Resolution, Rule
from ghcm.types import pair_of
from ghcm.types.unification import unify

_KEYS = (
    *(types.Bool, types.Int, types.Int32, types.String, types.Enumeration),
    *(types.Timestamp, types.Date, types.Duration),
)


def _with_key(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A map and a key give bool."""
    match arguments:
        case (types.Map(key=key) as map_, given) if isinstance(key, _KEYS) and unify(given, key) == key:
            return Resolution((map_, key), BOOL)
        case _:  # these do not fit
            return None


def _value_of(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A map and a key give a value."""
    match arguments:
        case (types.Map(key=key, value=value) as map_, _) if _with_key(arguments):
            return Resolution((map_, key), value)
        case _:  # these do not fit
            return None


def _listed(field: str) -> Rule:
    """A map gives a list of that part of its entries, or of the entries."""

    def rule(arguments: tuple[types.Type, ...]) -> Resolution | None:
        match arguments:
            case (types.Map(key=key, value=value),) if isinstance(key, _KEYS):
                parts: dict[str, types.Type] = {"key": key, "value": value, "": pair_of(key, value)}
                return Resolution(arguments, types.List(parts[field]))
            case _:  # these do not fit
                return None

    return rule


def _from_entries(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A list of records of a key and a value gives a map."""
    match arguments:
        case (types.List(item=types.Struct(fields=(key, value))),) if (key.name, value.name) == ("key", "value"):
            return Resolution(arguments, types.Map(key.type, value.type)) if isinstance(key.type, _KEYS) else None
        case _:  # these do not fit
            return None


# fmt: off
TABLE = (
    Function(
        "map_at", "map[key]", _value_of, method=False, failures=(Failure.OUT_OF_RANGE,),
        says="the value of the key; fails where the map does not have it, for which `get(map, key)` gives null",
        examples=(
            Example('map_of("a", 1, "b", 2)["b"]', "2"),
            Example('map_of("a", 1)["b"]', fails=Failure.OUT_OF_RANGE),
        ),
        python="row_collections.at({0}, {1})",
        polars="column_collections.value({0}, {1}, {type})", polars_fails="column_collections.lacks_key({0}, {1})",
        spark="try_element_at({0}, {1})",
        spark_fails=(
            ("{given}NOT map_contains_key({0}, {1})", Failure.OUT_OF_RANGE, "no such key in the map"),
        ),
    ),
    Function(
        "has_key", "has_key(map, key), key in map", _with_key,
        says="whether the map has the key; its value may be null",
        examples=(Example('has_key(map_of("a", 1, "b", 2), "b")', "true"),),
        polars="column_collections.has_key({0}, {1})",
        spark="CASE WHEN {1} IS NOT NULL THEN map_contains_key({0}, {1}) END",
    ),
    Function(
        "keys", "(map)", _listed("key"), says="the keys, ascending",
        examples=(Example('keys(map_of("b", 2, "a", 1))', '["a", "b"]'),),
        python="sorted({0})", polars='{0}.list.eval(pl.element().struct.field("key").sort()).cast({type})',
        spark="array_sort(map_keys({0}))",
    ),
    Function(
        "values", "(map)", _listed("value"), says="the values in the order of their keys",
        examples=(Example('values(map_of("b", 2, "a", 1))', "[1, 2]"),),
        python="row_collections.values({0})", polars="column_collections.values({0}, {type})",
    ),
    Function(
        "entries", "(map)", _listed(""), says="records `{key, value}` in the order of their keys",
        examples=(Example('entries(map_of("a", 1))', '[{"key": "a", "value": 1}]'),),
        python="row_collections.entries({0})", polars="column_collections.entries({0}, {type})",
    ),
    Function(
        "from_entries", "from_entries(list), map_of(key, value, ...)", _from_entries,
        says="the map of a list of records `{key, value}`, or of keys and values as arguments; of several entries with "
        "one key the last counts; keys are neither null nor floats",
        examples=(
            Example('map_of("a", 1, "b", 2)', '{"a": 1, "b": 2}'),
            Example('from_entries([{ key: "a", value: 1 }])', '{"a": 1}'),
        ),
        python="dict(row_collections.entries(dict({0})))", polars="column_collections.from_entries({0}, {type})",
    ),
)
