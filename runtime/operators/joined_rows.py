"""The rows that a join makes of those of its two sides, one of which may be missing."""

from __future__ import annotations

from typing import cast

from ghcm.runtime.contract import NEVER
from ghcm.runtime.data.columns import Row
from ghcm.spg.joining import JoinKind, is_lookup, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.types import Collection, Struct, Type


class JoinedRows:
    """Makes rows of the join's element, with the later of the two times and a watermark for which nothing is late;
    those of lookups keep the watermark of the left record.
    """

    def __init__(self, op: Join, left: Collection, right: Collection, gives: Collection) -> None:
        self._alone = op.kind.left_alone
        self._by_key = op.by_key
        self._windowed = op.by_key and left.windowed
        self._lookup = is_lookup(left, right)
        self._sides = (left, right)
        self._timed = gives.timed
        self._widths = tuple(len(side.columns.fields) for side in self._sides)
        self._places = [
            (side.columns.index("key"), side.columns.index("value")) if op.by_key else (0, 0) for side in self._sides
        ]

    def row(self, left: Row | None, right: Row | None) -> Row:
        """What the two give; None for one that is missing (or, where the left one is given alone, not asked for)."""
        made = self._visible(left, right)
        if not self._timed:
            return made
        pairs = zip((left, right), self._sides, strict=True)
        times = [cast("int", row[-2]) for row, side in pairs if row is not None and side.timed]
        return (*made, max(times), left[-1] if self._lookup and left is not None else NEVER)

    def _visible(self, left: Row | None, right: Row | None) -> Row:
        if self._alone:
            assert left is not None, "a left record that is given alone is there"
            return tuple(left[: self._widths[0]])
        one, two = self.records(left, right)
        if not self._by_key:
            return (one, two)
        return self._keyed(left, right)

    def _keyed(self, left: Row | None, right: Row | None) -> Row:
        (left_key, left_value), (right_key, right_value) = self._places
        values = (None if left is None else left[left_value], None if right is None else right[right_value])
        row, key, side = (left, left_key, 0) if left is not None else (right, right_key, 1)
        assert row is not None, "one of the two is there"
        window = (row[self._sides[side].columns.index("window")],) if self._windowed else ()
        return (row[key], values, *window)

    def records(self, left: Row | None, right: Row | None) -> tuple[object, object]:
        """The two as canonical values."""
        return self._record(0, left), self._record(1, right)

    def _record(self, side: int, row: Row | None) -> object:
        if row is None:
            return None
        return tuple(row[: self._widths[side]]) if isinstance(self._sides[side].element, Struct) else row[0]

    def pair(self, left: Row, right: Row) -> tuple[object, Type]:
        """Two records that were held against each other, as a dead letter has them, with their type."""
        first, second = self._sides
        if not self._by_key:
            return self.records(left, right), joined_element(first.element, second.element, JoinKind.INNER)
        one, two = (side.columns.fields for side in self._sides)
        type_ = joined_pair(
            (one[0].type, one[1].type), (two[0].type, two[1].type), JoinKind.INNER, windowed=self._windowed
        )
        return self._keyed(left, right), type_
