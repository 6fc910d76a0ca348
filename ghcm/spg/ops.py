"""What a task does: the closed set of operations of the SPG.

Plain frozen data. Every choice over `Op` is a total `match`. Types of inputs and outputs stand on the tasks; the
rules that relate them are in the
operator table (`ghcm.operators`) and are checked by `ghcm.spg.verify`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate, Reducer
from ghcm.spg.connectors import Connector, Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.spg.joining import JoinKind
from ghcm.types import Type

if TYPE_CHECKING:
    from ghcm.spg.graph import Task  # a task holds an operation; `ghcm.spg.forms` knows both

__all__ = [
    "AggregateByKey",
    "CallTemplate",
    "Connector",
    "Count",
    "Distinct",
    "EventTime",
    "Files",
    "Filter",
    "FlatMap",
    "Format",
    "Fused",
    "Generate",
    "GroupByKey",
    "Iterate",
    "Join",
    "JoinKind",
    "Kafka",
    "KeyBy",
    "Map",
    "MapToPair",
    "MapValues",
    "Memory",
    "Op",
    "Parquet",
    "Policy",
    "Publish",
    "PythonBatch",
    "PythonCall",
    "ReadSink",
    "ReadTable",
    "Redis",
    "ReduceByKey",
    "Reply",
    "Sliding",
    "Socket",
    "Sort",
    "Source",
    "Stage",
    "To",
    "Top",
    "Tumbling",
    "Union",
    "Until",
    "Window",
]


# --- tasks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """Records from outside, decoded to the task's element. A record that cannot be decoded is a dead letter
    (`bad_record`) that holds the raw text."""

    connector: Connector


@dataclass(frozen=True, slots=True)
class EventTime:
    """Gives each record its event time and its partition's watermark just before it (greatest time so far - disorder).

    `disorder_us` None: nothing is ever late, the watermark stays at minus infinity until the input ends (bounded
    input only). A null time is a dead letter (`null_time`).
    """

    time: Lambda
    disorder_us: int | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the records for which the predicate is true (not false, not null)."""

    predicate: Lambda


@dataclass(frozen=True, slots=True)
class Map:
    """One record for one record."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class FlatMap:
    """The items of the list that the function gives; none for null."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class MapToPair:
    """A pair for each record; the body is a tuple `(key, value)`."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class MapValues:
    """A new value for each pair under the same key; the parameter is the value."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class KeyBy:
    """The pair of the function's result and the record itself."""

    function: Lambda


@dataclass(frozen=True, slots=True)
class PythonBatch:
    """The user's `module:function`, called with a pyarrow table of many records (a scalar in the column `value`), which
    gives as many records back, in the same order: a table, a record batch, for scalars an array, or a list.

    Results are checked as those of `PythonCall`. A batch that fails is replayed record by record, with tables of one.
    """

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class PythonCall:
    """The user's `module:function`, called with one record (a scalar as itself, a struct as a namedtuple-like object
    with attributes) and checked against the task's element.

    An exception is a dead letter (`python`), a result of another type too (`wrong_result`).
    """

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size_us` that start at multiples of it since 1970; the end is exclusive."""

    size_us: int


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size_us` that start at multiples of `every_us` (at most the size) since 1970; a record is in all that
    hold its time."""

    size_us: int
    every_us: int


@dataclass(frozen=True, slots=True)
class Window:
    """Adds the column `window` by event time: each record once for each of its windows that is open, in their order.

    A window is closed for a record where `end + allowed_lateness` <= its partition's watermark; a record without an
    open window is a dead letter (`late`).
    """

    assigner: Tumbling | Sliding
    allowed_lateness_us: int


@dataclass(frozen=True, slots=True)
class Union:
    """All records of all inputs; the inputs have the same element."""


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


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of records of the left (first) and right (second) input whose keys are equal and whose `residual` (if
    any) is true. Null keys never join, and records without a partner stay as `kind` says. `within_us`: their event
    times are at most so far apart.

    `left_keys` and `right_keys` have equal length >= 1. The element is `{left, right}`; for two `Pairs` joined by key
    (`by_key`) it is `{key, value: {left, right}}`; of semi and anti joins it is the left one. A pair of records whose
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


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration has come to its end: `condition` over the totals of what a round was given and of what it gave,
    two structs of aggregates of the whole collections."""

    before: tuple[Aggregate, ...]
    after: tuple[Aggregate, ...]
    condition: Lambda


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


@dataclass(frozen=True, slots=True)
class ReadSink:
    """The records of a sink: its latest complete version, or the one that the instruction names; bounded."""

    sink: str


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A consistent copy of a named table of a stream unit: its pairs; bounded. `key`, if given, is an expression
    without record: only that key."""

    unit: str
    task: str
    key: Expr | None


@dataclass(frozen=True, slots=True)
class To:
    """Writes each record to a sink; gives nothing on."""

    sink: str


@dataclass(frozen=True, slots=True)
class Policy:
    """When a unit publishes: exactly one of `every_records`, `every_us`, `on` ("window_close", "completion") or
    `when` (a predicate on one record)."""

    every_records: int | None = None
    every_us: int | None = None
    on: str | None = None
    when: Lambda | None = None
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """The instruction that a policy sends: unit, and per parameter an aggregate over the records since the last
    publication (or a constant's literal)."""

    unit: str
    arguments: tuple[tuple[str, Aggregate | Expr], ...]


@dataclass(frozen=True, slots=True)
class Publish:
    """Calls a responsive unit by a policy. Its input is what its sibling `To` writes: the instruction leaves after
    the commit that holds the records. Gives nothing on."""

    call: CallTemplate
    policy: Policy
    after: str | None
    """The id of the `To` task whose commit comes first, if the statement has one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Writes its records to the implicit sink of the call; gives nothing on."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One task inside a fused one: its id, op, element and place, kept so that dead letters and explanations name
    what the user wrote."""

    id: str
    op: Filter | Map | FlatMap | MapToPair | MapValues | KeyBy | PythonCall | Window
    element: Type
    origin: str


@dataclass(frozen=True, slots=True)
class Fused:
    """A chain of row operations made one task by compression; records go through the stages in order."""

    stages: tuple[Stage, ...]


Op: TypeAlias = (
    Source
    | EventTime
    | Filter
    | Map
    | FlatMap
    | MapToPair
    | MapValues
    | KeyBy
    | PythonCall
    | PythonBatch
    | Window
    | Union
    | ReduceByKey
    | AggregateByKey
    | GroupByKey
    | Count
    | Distinct
    | Sort
    | Top
    | Join
    | Iterate
    | ReadSink
    | ReadTable
    | To
    | Publish
    | Reply
    | Fused
)
