"""Operations on groups and whole inputs: aggregations, distinct records, orders."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate, Reducer


@dataclass(frozen=True, slots=True)
class ReduceByKey:
    """One value per key (and window)."""

    reducer: Reducer


@dataclass(frozen=True, slots=True)
class AggregateByKey:
    """The aggregates of the values per key (and window); the value becomes a struct of them, or the scalar where
    `scalar`."""

    aggregates: tuple[Aggregate, ...]
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class GroupByKey:
    """The list of the values per key (and window), in ascending order of the values (nulls first)."""


@dataclass(frozen=True, slots=True)
class Count:
    """On pairs the number of values per key (and window); on a stream the number of records (per window). Without
    input: 0 for a bounded unwindowed stream, else nothing."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The pairs of a table as records, as its values change: a key with its latest value at a commit where that differs
    from the last one given for the key.

    Which of the values between are seen is a matter of when commits are; those of a key come in their order, no two
    equal ones after each other, and the last one is its final value. `final`: only what the table holds when its input
    has ended, each key once, read where the table stands.
    """

    final: bool = False


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different record once (per window)."""


@dataclass(frozen=True, slots=True)
class Sort:
    """Ascending (or descending) by the function's value, nulls first in ascending order, equal ones by the whole
    record ascending. Bounded input only."""

    by: Lambda
    descending: bool


@dataclass(frozen=True, slots=True)
class Top:
    """The first `count` records of `Sort` (descending unless told otherwise). `count` is an expression without
    record, so it may be a parameter. Nulls rank last. Of records in windows it gives so many of each window, when that
    closes; other input is bounded."""

    count: Expr
    by: Lambda
    descending: bool
