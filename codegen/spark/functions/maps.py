"""Maps as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.sql import Checked, in_lambda, let, pure, variable


def held(a: Checked, key: Checked) -> Checked:
    """The value of a key, null where the map does not have it."""
    return pure(f"try_element_at({a}, {key})", a, key)


def sorted_keys(value: str) -> str:
    """The keys of a map, ascending."""
    return f"array_sort(map_keys({value}))"


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


EMITTERS: dict[str, Emit] = {"values": plain(values), "entries": plain(entries), "from_entries": plain(from_entries)}
