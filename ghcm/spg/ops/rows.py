"""Operations that take one record after the other where it is: functions of records, event time and windows, unions,
and the chains that compression makes of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm.expr import Lambda
from ghcm.spg.ops.traits import TIME, WATERMARK, Arity, State, Time, Together, traits
from ghcm.types import Type


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size_us` that start `offset_us` (less than the size) behind multiples of it since 1970; the end is
    exclusive.
    """

    size_us: int
    offset_us: int = 0


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size_us` that start `offset_us` (less than `every_us`) behind multiples of `every_us` (at most the
    size) since 1970; a record is in all that hold its time.
    """

    size_us: int
    every_us: int
    offset_us: int = 0


@traits(label="arrival_time", time=Time.DECLARES)
@dataclass(frozen=True, slots=True)
class ArrivalTime:
    """Gives each record the time at which it came here, by the clock of the unit, in place of any event time.

    That time never goes back, and it is the watermark behind the task too, whether records come or not: windows close
    when the clock has passed their end, and nothing is late. After a recovery a record that comes again has the time
    at which it came again. Stream units only: a batch has no moment at which its records come.
    """


@traits(hidden=(TIME, WATERMARK))
@dataclass(frozen=True, slots=True)
class Window:
    """Adds the column `window` by event time: each record once for each of its windows that is open, in their order.

    A window is closed for a record where `end + allowed_lateness` <= its partition's watermark; a record without an
    open window is a dead letter (`late`).
    """

    assigner: Tumbling | Sliding
    allowed_lateness_us: int


@traits(state=State.KEYED, exchange=Together.KEY_OR_ALL, hidden=(TIME, WATERMARK))
@dataclass(frozen=True, slots=True)
class Sessions:
    """Adds the column `window`: the session that the record is in, of all records or, of pairs, of those of its key.

    A session holds records of which each comes less than `gap_us` after the one before, and lasts from the first until
    `gap_us` behind the last, which it excludes: a record exactly then begins another one. A record by itself would end
    its session `gap_us` after it; where that + `allowed_lateness` <= its partition's watermark it is a dead letter
    (`late`), whatever session it would have fallen into, so that no other partition decides about it. Sessions are
    made of all other records, in whatever order they come.
    """

    gap_us: int
    allowed_lateness_us: int


@traits(time=Time.DECLARES)
@dataclass(frozen=True, slots=True)
class EventTime:
    """Gives each record its event time and its partition's watermark just before it (greatest time so far - disorder).

    `disorder_us` None: nothing is ever late, the watermark stays at minus infinity until the input ends (bounded
    input only). A null time is a dead letter (`null_time`).

    A partition of which nothing came for `idle_us` by the clock of the unit is idle until a record comes: its watermark
    goes on with the least of those partitions that are not idle, of this task and of all others whose records may meet
    its records (`ghcm.spg.traversal`), and never goes back. Where all are idle it stays, but for what those that
    have ended had come to. None: no partition is ever idle. Stream units only.
    """

    time: Lambda
    disorder_us: int | None
    idle_us: int | None = None


@traits(label="filter {predicate}", picks=True)
@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the records for which the predicate is true (not false, not null)."""

    predicate: Lambda


@traits(label="map {function}")
@dataclass(frozen=True, slots=True)
class Map:
    """One record for one record."""

    function: Lambda


@traits(label="flat_map {function}")
@dataclass(frozen=True, slots=True)
class FlatMap:
    """The items of the list that the function gives; none for null."""

    function: Lambda


@traits(label="map_to_pair {function}")
@dataclass(frozen=True, slots=True)
class MapToPair:
    """A pair for each record; the body is a tuple `(key, value)`."""

    function: Lambda


@traits(label="map_values {function}")
@dataclass(frozen=True, slots=True)
class MapValues:
    """A new value for each pair under the same key; the parameter is the value."""

    function: Lambda


@traits(label="key_by {function}")
@dataclass(frozen=True, slots=True)
class KeyBy:
    """The pair of the function's result and the record itself."""

    function: Lambda


@traits(word="python", label="python {module}:{function} by batch")
@dataclass(frozen=True, slots=True)
class PythonBatch:
    """The user's `module:function`, called with a pyarrow table of many records (a scalar in the column `value`), which
    gives as many records back, in the same order: a table, a record batch, for scalars an array, or a list.

    Results are checked as those of `PythonCall`. A batch that fails is replayed record by record, with tables of one.
    """

    module: str
    function: str


@traits(word="python", label="python {module}:{function}")
@dataclass(frozen=True, slots=True)
class PythonCall:
    """The user's `module:function`, called with one record (a scalar as itself, a struct as a namedtuple-like object
    with attributes) and checked against the task's element.

    An exception is a dead letter (`python`), a result of another type too (`wrong_result`).
    """

    module: str
    function: str


@traits(label="union", arity=Arity.SOME)
@dataclass(frozen=True, slots=True)
class Union:
    """All records of all inputs; the inputs have the same element."""


RowOp: TypeAlias = Filter | Map | FlatMap | MapToPair | MapValues | KeyBy | PythonCall | Window
"""What a chain is made of: each record by itself, no state."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One task inside a fused one: its id, op, element and source position, kept so that dead letters and explanations
    name what the user wrote.
    """

    id: str
    op: RowOp
    element: Type
    origin: str = field(compare=False)


@traits()
@dataclass(frozen=True, slots=True)
class Fused:
    """A chain of row operations made one task by compression; records go through the stages in order."""

    stages: tuple[Stage, ...]
