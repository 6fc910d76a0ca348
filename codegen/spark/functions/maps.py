"""Maps as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.library.sql import fails, when
from ghcm.codegen.spark.sql import Checked, in_lambda, let, partial, pure, variable


def held(a: Checked, key: Checked) -> Checked:
    """The value of a key, null where the map does not have it."""
    return pure(f"try_element_at({a}, {key})", a, key)


def held_surely(a: Checked, key: Checked) -> Checked:
    """The value of a key; it fails where the map does not have it."""
    given = f"{a} IS NOT NULL AND {key} IS NOT NULL"
    lacks = fails(f"{given} AND NOT map_contains_key({a}, {key})", "out_of_range", "no such key in the map")
    return partial(f"try_element_at({a}, {key})", (a, key), lacks)


def map_size(a: Checked) -> Checked:
    """The number of keys of a map."""
    return pure(f"bigint(array_size(map_keys({a})))", a)


def has_no_keys(a: Checked) -> Checked:
    """Whether a map is empty."""
    return pure(f"(array_size(map_keys({a})) = 0)", a)


def has_key(a: Checked, key: Checked) -> Checked:
    """Whether a map has a key."""
    return pure(when(f"{key} IS NOT NULL", f"map_contains_key({a}, {key})"), a, key)


def sorted_keys(value: str) -> str:
    """The keys of a map, ascending."""
    return f"array_sort(map_keys({value}))"


def keys(a: Checked) -> Checked:
    """The keys of a map, ascending."""
    return pure(sorted_keys(a.value), a)


def values(a: Checked) -> Checked:
    """The values of a map in the order of their keys."""
    each = variable("key")

    def made(value: str) -> str:
        return f"transform({sorted_keys(value)}, {each} -> try_element_at({value}, {each}))"

    return pure(in_lambda(a.value, made), a)


def entries(a: Checked) -> Checked:
    """The keys and values of a map in the order of the keys."""
    each = variable("key")

    def made(value: str) -> str:
        entry = f"named_struct('key', {each}, 'value', try_element_at({value}, {each}))"
        return f"transform({sorted_keys(value)}, {each} -> {entry})"

    return pure(in_lambda(a.value, made), a)


def from_entries(a: Checked) -> Checked:
    """The map of keys and values, in the order of its keys; the last value of a key counts."""

    def made(given: Checked) -> Checked:
        key, each, entry = variable("key"), variable("each"), variable("entry")
        distinct = f"array_sort(array_distinct(transform({given}, {entry} -> {entry}.key)))"
        last = f"element_at(filter({given}, {each} -> {each}.key = {key}), -1).value"
        return Checked(f"map_from_arrays({distinct}, transform({distinct}, {key} -> {last}))")

    return let(a, made)


EMITTERS: dict[str, Emit] = {
    "map_at": plain(held_surely),
    "has_key": plain(has_key),
    "keys": plain(keys),
    "values": plain(values),
    "entries": plain(entries),
    "from_entries": plain(from_entries),
}
