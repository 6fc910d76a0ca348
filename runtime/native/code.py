"""What a generated native module hands to the operators: the functions of each task, by kind of task.

The module's `TASKS` maps task ids to these. They hold code only; what a task is (its op, types, edges) stands in the
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ghcm.functions import Failure
from ghcm.runtime.data.columns import Row

if TYPE_CHECKING:
    import polars as pl

    from ghcm.runtime.native.clock import PartitionClock


Parameters: TypeAlias = Mapping[str, object]
"""The canonical values of the unit's parameters, by name."""

Function: TypeAlias = Callable[[object], object]
"""A user's Python function, as it was loaded."""


class Dead(Protocol):
    """Where generated code puts a failed record: the id of the task or stage, its canonical input record, why, and
    the details.
    """

    def __call__(self, stage: str, record: object, reason: Failure, detail: str, /) -> None:
        """Take the record; never raises."""


@dataclass(frozen=True, slots=True)
class RowCode:
    """A chain of operations on single records. `rows` takes the failing records out by itself; `columns` gives None if
    any record failed.

    `functions` are the user's functions ("module:function") that `rows` is handed, in this order, as its last argument.
    """

    rows: Callable[[Sequence[Row], Dead, Parameters, Sequence[Function]], list[Row]]
    columns: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None] | None = None
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeCode:
    """A chain that gives event time: as `RowCode`, with the clock of the batch's partition behind the other arguments.
    What the clock says of a batch counts only where that is done.
    """

    rows: Callable[[Sequence[Row], Dead, Parameters, Sequence[Function], PartitionClock], list[Row]]
    columns: Callable[[pl.DataFrame, Parameters, PartitionClock], pl.DataFrame | None] | None = None
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupCode:
    """A keyed aggregation. All but `partial` and `states` work on one key and raise `RecordFailure`.

    `partial` groups a frame by `key` (and window): one row per group with the columns `key`, `start` and `end` (the
    window's, microseconds) and state columns, of which `states` makes states; it gives None if any record failed.
    Where it is `timed`, a value is a pair of the record's event time and its value. `slices` are the arguments of the
    `Slices` of windows whose records come in panes. `arrivals` are the places in a state of
    the aggregates by arrival (`summaries.Arrived`): with them a value is a pair of the record's number and what it is
    else, and a frame has the column `@arrival`. `nothing` is the state of no records, of aggregates of a stream.
    `merged` makes one such row per group where there were several, `results` the output of merged rows; each gives None
    where single states must do it.
    """

    first: Callable[[object, Parameters], object]
    add: Callable[[object, object, Parameters], object]
    merge: Callable[[object, object, Parameters], object]
    result: Callable[[object, Parameters], object]
    partial: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None] | None = None
    states: Callable[[pl.DataFrame], list[object]] | None = None
    timed: bool = False
    arrivals: tuple[int, ...] = ()
    nothing: object = None
    slices: tuple[int, int] | tuple[int, int, int] | None = None
    merged: Callable[[pl.DataFrame], pl.DataFrame | None] | None = None
    results: Callable[[pl.DataFrame], pl.DataFrame | None] | None = None


@dataclass(frozen=True, slots=True)
class ScanCode:
    """A scan: what it begins with, and what it makes of what it gave before and a value. Both raise `RecordFailure`."""

    start: Callable[[Parameters], object]
    step: Callable[[object, object, Parameters], object]


@dataclass(frozen=True, slots=True)
class OrderCode:
    """Sort and Top. `by` gives for each row its two-part sort key (of the function's value, of the record) or None
    where it is dead.

    `columns` adds the function's value as the column `@by` where Polars orders it, and but for `top` of windows the
    other columns, rightly.
    """

    by: Callable[[Sequence[Row], Dead, Parameters], list[tuple[object, object] | None]]
    count: Callable[[Parameters], object] | None = None
    columns: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None] | None = None


@dataclass(frozen=True, slots=True)
class JoinCode:
    """A join. `left` and `right` give for each row its key, () where a part is null, or None where it is dead.

    `residual` says whether two records (canonical values) belong together; it raises `RecordFailure`.
    """

    left: Callable[[Sequence[Row], Dead, Parameters], list[tuple[object, ...] | None]]
    right: Callable[[Sequence[Row], Dead, Parameters], list[tuple[object, ...] | None]]
    residual: Callable[[object, object, Parameters], bool] | None = None
    columns: JoinColumns | None = None


@dataclass(frozen=True, slots=True)
class JoinColumns:
    """A join in columns. `left` and `right` give the keys as `@0`, `@1`, ... and the records as `left` or `right`;
    `belong` keeps the pairs of records for which the residual is true; `joined` makes the result of pairs of which a
    side may be null. All but `joined` give None if any record fails.
    """

    left: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None]
    right: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None]
    joined: Callable[[pl.DataFrame, Parameters], pl.DataFrame]
    belong: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None] | None = None


@dataclass(frozen=True, slots=True)
class TotalsCode:
    """Totals of a whole collection: `add` takes one more record (a canonical value) to the state, from `zero`; None
    where the state is the number of records, for each of its parts.
    """

    zero: tuple[object, ...]
    add: Callable[[object, object, Parameters], object] | None
    result: Callable[[object, Parameters], object]


@dataclass(frozen=True, slots=True)
class IterateCode:
    """An iteration: the most rounds, the code of the tasks of its step, and the condition over the totals of what a
    round took and of what it gave; it and `limit` raise `RecordFailure`.
    """

    limit: Callable[[Parameters], object]
    tasks: Mapping[str, TaskCode]
    until: Callable[[object, object, Parameters], bool] | None = None
    before: TotalsCode | None = None
    after: TotalsCode | None = None


@dataclass(frozen=True, slots=True)
class SinkCode:
    """The key of a row for the sink that it is written to; None where the sink has no key."""

    key: Callable[[Row], object] | None = None


@dataclass(frozen=True, slots=True)
class PolicyCode:
    """A publish policy: `add` gathers what `arguments` sends, from `zero` over the records since the last
    publication. `when` is its condition, `key` what a record is told by whose condition is throttled.
    """

    zero: object
    add: Callable[[object, Row, Parameters], object]
    arguments: Callable[[object, Parameters], dict[str, object]]
    when: Callable[[Row, Parameters], bool] | None = None
    key: Callable[[Row, Parameters], object] | None = None


@dataclass(frozen=True, slots=True)
class ReadCode:
    """The key that a table is read for."""

    key: Callable[[Parameters], object]


TaskCode: TypeAlias = (
    RowCode | TimeCode | GroupCode | ScanCode | OrderCode | JoinCode | IterateCode | SinkCode | PolicyCode | ReadCode
)
