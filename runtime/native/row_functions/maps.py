"""Maps in generated row code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure

K = TypeVar("K", bool, int, str)
V = TypeVar("V")


def at(of: Mapping[K, V], key: K) -> V:
    """The value of a key."""
    if key not in of:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"the map has no key {key!r}")
    return of[key]


def values(of: Mapping[K, V]) -> list[V]:
    """The values in the order of their keys."""
    return [of[key] for key in sorted(of)]


def entries(of: Mapping[K, V]) -> list[tuple[K, V]]:
    """The keys and values in the order of the keys."""
    return [(key, of[key]) for key in sorted(of)]


def from_entries(pairs: Iterable[tuple[K, V]]) -> dict[K, V]:
    """The map of keys and values, in the order of its keys; the last value of a key counts."""
    return dict(entries(dict(pairs)))
