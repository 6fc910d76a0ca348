"""The number of different values, nearly, as generated aggregations count it: HyperLogLog over a fixed hash.

A state of nothing is None and nulls change none. `add` and `merge` may reuse their first argument, never the second.
States are plain Python values. Entries (register and rank) of texts that come often are remembered by the process.
"""

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import polars as pl

_REGISTERS = 4096
_REST = 52
_RAISED = 6
_MOST = (1 << _RAISED) - 1
_SCALE = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS


@dataclass(frozen=True, slots=True)
class Approximate:
    """`approx_distinct`: HyperLogLog registers that are not empty, as a dict; `text` is what is hashed of a value."""

    text: Callable[[Any], str]

    def add(self, state: Any, value: object) -> Any:
        """The state with one more value."""
        return state if value is None else _raised(state, (_entry(self.text(value)),))

    def merge(self, left: Any, right: Any) -> Any:
        """One state of two."""
        return left if right is None else _raised(left, right.items())

    def of(self, values: Iterable[object]) -> Any:
        """The state of several values."""
        different = set(values)
        return _raised(None, map(_entry, map(self.text, different))) if different else None

    def places(self, values: pl.Series) -> pl.Series:
        """For each value its register and what it raises it to, as one number; null for null."""
        if self.text is str:
            return _entries(values.cast(pl.String))
        return _entries(pl.Series([None if value is None else self.text(value) for value in values], dtype=pl.String))

    def of_places(self, places: Iterable[int]) -> Any:
        """The state of several values of which `places` were taken."""
        found = [(entry >> _RAISED, entry & _MOST) for entry in places]
        return _raised(None, found) if found else None

    def result(self, state: dict[int, int] | None) -> int:
        """About how many."""
        entries = sorted((state or {}).items(), key=itemgetter(0))
        empty = _REGISTERS - len(entries)
        raw = _SCALE / (empty + sum(2.0**-rank for _, rank in entries))
        if empty and raw <= 2.5 * _REGISTERS:
            return round(_REGISTERS * math.log(_REGISTERS / empty))
        return round(raw)


def lower(value: object) -> str:
    """A number, moment or bool as text to be hashed."""
    return str(value).lower()


@lru_cache(maxsize=1 << 17)
def _entry(text: str) -> tuple[int, int]:
    """The register of a value and what it raises it to; hashing again what comes often is dearer than looking it up."""
    hashed = int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[:8])
    rest = hashed & ((1 << _REST) - 1)
    return hashed >> _REST, _REST + 1 - rest.bit_length()


_REMEMBERED = 1 << 18
"""Texts whose entries are kept: to look one up costs a fraction of hashing it."""


class _Known:
    """Texts as numbers, and the entries that are known by number; null where one is not yet."""

    __slots__ = ("entries", "texts")

    def __init__(self) -> None:
        self.texts = pl.Series([], dtype=pl.Categorical(pl.Categories.random()))  # numbers last as long as a column
        self.entries = pl.Series([], dtype=pl.UInt32)


_known = _Known()


def _entries(texts: pl.Series) -> pl.Series:
    """The entries of texts as numbers. Threads do not disturb each other: what one does not know it finds."""
    global _known  # noqa: PLW0603 - what is remembered is the process's
    if len(_known.entries) > _REMEMBERED:
        _known = _Known()
    known = _known
    numbers = texts.cast(known.texts.dtype).to_physical()
    greatest = numbers.max()
    if not isinstance(greatest, int):
        return pl.Series([None], dtype=pl.UInt32).new_from_index(0, len(texts))
    before = known.entries
    if greatest >= len(before):
        before = before.extend_constant(None, greatest + 1 - len(before))
    entries = before.gather(numbers)
    if entries.null_count() > numbers.null_count():
        fresh = pl.DataFrame([numbers.alias("number"), texts.alias("text")]).filter(entries.is_null()).drop_nulls()
        fresh = fresh.unique("number")
        known.entries = before = before.clone().scatter(fresh["number"], _hashed(fresh["text"]))
        entries = before.gather(numbers)
    return entries


def _hashed(texts: pl.Series) -> pl.Series:
    """As `_entry`, each packed into one number."""
    hashed = [hashlib.md5(text, usedforsecurity=False).digest()[:8] for text in texts.cast(pl.Binary)]
    number = pl.Series(hashed, dtype=pl.Binary).bin.reinterpret(dtype=pl.UInt64, endianness="big")
    rest = number & ((1 << _REST) - 1)
    raised = rest.bitwise_leading_zeros().cast(pl.UInt64) - (63 - _REST)
    return ((number // (1 << _REST) * (1 << _RAISED)) | raised).cast(pl.UInt32)


def _raised(state: dict[int, int] | None, entries: Iterable[tuple[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {} if state is None else state
    for register, rank in entries:
        if found.get(register, 0) < rank:
            found[register] = rank
    return found
