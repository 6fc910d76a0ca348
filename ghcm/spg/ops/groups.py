"""Operations on groups and whole inputs: aggregations, distinct records, orders, joins, and iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate, Reducer
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops.traits import Arity, State, Time, Together, traits

if TYPE_CHECKING:
    from ghcm.spg.graph import Task  # a task holds an operation; `ghcm.spg.forms` knows both


@traits(state=State.KEYED, exchange=Together.KEY, time=Time.WINDOW)
@dataclass(frozen=True, slots=True)
class ReduceByKey:
    """One value per key (and window)."""

    reducer: Reducer


@traits(state=State.KEYED, exchange=Together.KEY, time=Time.WINDOW)
@dataclass(frozen=True, slots=True)
class AggregateByKey:
    """The aggregates of the values per key (and window); the value becomes a struct of them, or the scalar where
    `scalar`."""

    aggregates: tuple[Aggregate, ...]
    scalar: bool = False


@traits(label="group_by_key", state=State.KEYED, exchange=Together.KEY, time=Time.WINDOW)
@dataclass(frozen=True, slots=True)
class GroupByKey:
    """The list of the values per key (and window), in ascending order of the values (nulls first)."""


@traits(label="count", state=State.KEYED, exchange=Together.KEY_OR_ALL, time=Time.WINDOW)
@dataclass(frozen=True, slots=True)
class Count:
    """On pairs the number of values per key (and window); on a stream the number of records (per window). Without
    input: 0 for a bounded unwindowed stream, else nothing."""


@traits(state=State.KEYED, exchange=Together.KEY, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class Changes:
    """The pairs of a table as records, as its values change: a key with its latest value at a commit where that differs
    from the last one given for the key.

    Which of the values between are seen is a matter of when commits are; those of a key come in their order, no two
    equal ones after each other, and the last one is its final value. `final`: only what the table holds when its input
    has ended, each key once, read where the table stands.
    """

    final: bool = False


@traits(label="distinct", state=State.KEYED, exchange=Together.EQUAL, time=Time.WINDOW)
@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different record once (per window)."""


@traits(state=State.WHOLE, exchange=Together.ALL)
@dataclass(frozen=True, slots=True)
class Sort:
    """Ascending (or descending) by the function's value, nulls first in ascending order, equal ones by the whole
    record ascending. Bounded input only."""

    by: Lambda
    descending: bool


@traits(state=State.WHOLE, exchange=Together.ALL)
@dataclass(frozen=True, slots=True)
class Top:
    """The first `count` records of `Sort` (descending unless told otherwise). `count` is an expression without
    record, so it may be a parameter. Nulls rank last. Of records in windows it gives so many of each window, when that
    closes; other input is bounded."""

    count: Expr
    by: Lambda
    descending: bool


@traits(arity=Arity.TWO, state=State.KEYED, exchange=Together.EQUAL, time=Time.JOINS)
@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of records of the left (first) and right (second) input whose keys are equal and whose `residual` (if
    any) is true. Null keys never join, and records without a partner stay as `kind` says. `within_us`: their event
    times are at most so far apart; both inputs may then be endless. `asof`: of the right records at or before the time
    of a left one (and within the interval) only the latest belongs to it, of several at that time the greatest.

    `left_keys` and `right_keys` have equal length >= 1. The element is `{left, right}`; for two `Pairs` joined by key
    (`by_key`) it is `{key, value: {left, right}}`, and of pairs in windows, which are then keys too, `{key, value,
    window}`; of semi and anti joins it is the left one. A pair of records whose
    residual fails is a dead letter and does not belong together.

    Lookups (`ghcm.spg.joining.is_lookup`) take left records one after the other and keep their order, event time and
    watermark: in the whole right side, for whose end they wait, or in what an endless table had given on by then.
    """

    kind: JoinKind
    left_keys: tuple[Lambda, ...]
    right_keys: tuple[Lambda, ...]
    residual: Lambda | None
    by_key: bool
    within_us: int | None = None
    asof: bool = False

    @property
    def by_time(self) -> bool:
        """Whether the event times of two records decide whether they belong together."""
        return self.within_us is not None or self.asof


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration has come to its end: `condition` over the totals of what a round was given and of what it gave,
    two structs of aggregates of the whole collections."""

    before: tuple[Aggregate, ...]
    after: tuple[Aggregate, ...]
    condition: Lambda


@traits(arity=Arity.SOME, state=State.WHOLE, exchange=Together.ALL, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class Iterate:
    """A step repeated: each round takes what the round before gave, the first one the first input, at most `limit`
    times and until `until` is true behind a round. Bounded input only.

    `tasks` are the step, a graph of its own: the records of the round stand in it as the task `$0`, the further inputs
    as `$1`, `$2`, ..., the same in every round; `result` is the task whose records the next round takes. `limit` is an
    expression without record; null or less than 1 is no round at all. A condition that fails is a dead letter without
    record and is not true.
    """

    tasks: tuple[Task, ...]
    result: str
    limit: Expr
    until: Until | None
