"""What a task does: the closed set of operations of the SPG.

Plain frozen data. The facts of an operation stand beside it as traits; where a layer has to choose by class, the
`match` is total. Types of inputs and outputs stand on the tasks; `ghcm.spg.verify` checks how they belong together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate, Phase, Reducer
from ghcm.spg.connectors import Connector
from ghcm.spg.joining import JoinKind
from ghcm.spg.publishing import CallTemplate as CallTemplate  # noqa: PLC0414 - a part of an operation
from ghcm.spg.publishing import Policy as Policy  # noqa: PLC0414
from ghcm.spg.python_calls import PythonAsync as PythonAsync  # noqa: PLC0414 - operations like the others
from ghcm.spg.python_calls import PythonBatch as PythonBatch  # noqa: PLC0414
from ghcm.spg.python_calls import PythonCall as PythonCall  # noqa: PLC0414
from ghcm.spg.python_calls import PythonOp as PythonOp  # noqa: PLC0414
from ghcm.spg.sequences import SequenceOp
from ghcm.spg.services import Lookup as Lookup  # noqa: PLC0414 - an operation like the others
from ghcm.spg.traits import TIMED, Arity, Role, State, Time, Together, Traits, operation
from ghcm.spg.windows import Assigner
from ghcm.types import Struct, Type

if TYPE_CHECKING:
    from ghcm.spg.graph import Task  # a task holds an operation; `ghcm.spg.forms` knows both


@operation(Traits(label="arrival_time", time=Time.DECLARES))
class ArrivalTime:
    """Gives each record the time at which it came here, by the clock of the unit, in place of any event time.

    That time never goes back, and it is the watermark behind the task too, whether records come or not: windows close
    when the clock has passed their end, and nothing is late. After a recovery a record that comes again has the time
    at which it came again. Stream units only: a batch has no moment at which its records come.
    """


@operation(Traits(hidden=TIMED))
class Window:
    """Adds the column `window` by event time: each record once for each of its windows that is open, in their order.

    A window is closed for a record where `end + allowed_lateness` <= its partition's watermark; a record without an
    open window is a dead letter (`late`). In a batch unit no window is closed before the input ends, and the lateness
    is zero.
    """

    assigner: Assigner
    allowed_lateness_us: int


@operation(Traits(state=State.KEYED, exchange=Together.KEY_OR_ALL, hidden=TIMED))
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


@operation(Traits(time=Time.DECLARES))
class EventTime:
    """Gives each record its event time and its partition's watermark just before it (greatest time so far - disorder).

    `disorder_us` None: nothing is ever late, the watermark stays at minus infinity until the input ends (bounded
    input only, and always so in a batch unit). So does that of what is read from a sink or a table, which has no
    order, whatever the disorder. A null time is a dead letter (`null_time`).

    A partition of which nothing came for `idle_us` by the clock of the unit is idle until a record comes: its watermark
    goes on with the least of those partitions that are not idle, of this task and of all others whose records may meet
    its records (`ghcm.spg.graph`), and never goes back. Where all are idle it stays, but for what those that
    have ended had come to. None: no partition is ever idle. Stream units only.
    """

    time: Lambda
    disorder_us: int | None
    idle_us: int | None = None


@operation(Traits(label="filter {predicate}", picks=True))
class Filter:
    """Keeps the records for which the predicate is true (not false, not null)."""

    predicate: Lambda


@operation(Traits(label="map {function}"))
class Map:
    """One record for one record."""

    function: Lambda


@operation(Traits(label="flat_map {function}"))
class FlatMap:
    """The items of the list that the function gives; none for null."""

    function: Lambda


@operation(Traits(label="map_to_pair {function}"))
class MapToPair:
    """A pair for each record; the body is a tuple `(key, value)`."""

    function: Lambda


@operation(Traits(label="map_values {function}"))
class MapValues:
    """A new value for each pair under the same key; the parameter is the value."""

    function: Lambda


@operation(Traits(label="key_by {function}"))
class KeyBy:
    """The pair of the function's result and the record itself."""

    function: Lambda


@operation(Traits(label="union", arity=Arity.SOME))
class Union:
    """All records of all inputs; the inputs have the same element."""


RowOp: TypeAlias = Filter | Map | FlatMap | MapToPair | MapValues | KeyBy | PythonCall | Window
"""What takes each record by itself, without state."""
ChainOp: TypeAlias = RowOp | EventTime
"""What a chain is made of."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One task inside a fused one, kept so that dead letters and explanations name what the user wrote."""

    id: str
    op: ChainOp | Union
    element: Type
    origin: str = field(compare=False)


@operation(Traits(arity=Arity.SOME))
class Fused:
    """Operations in order, one task by compression: the first may be a union, one an event time, whose state it has."""

    stages: tuple[Stage, ...]


@operation(Traits(state=State.KEYED, exchange=Together.KEY, time=Time.WINDOW))
class ReduceByKey:
    """One value per key (and window)."""

    reducer: Reducer
    phase: Phase = Phase.WHOLE


@operation(Traits(state=State.KEYED, exchange=Together.KEY_OR_ALL, time=Time.WINDOW))
class AggregateByKey:
    """The aggregates of the values per key (and window): a struct of them, or where `scalar` the only one.

    On a stream they are of all records (per window), as one record of them and the window. Without input: what they are
    of nothing for a bounded unwindowed stream, else nothing."""

    aggregates: tuple[Aggregate, ...]
    scalar: bool = False
    phase: Phase = Phase.WHOLE


@operation(Traits(label="group_by_key", state=State.KEYED, exchange=Together.KEY, time=Time.WINDOW))
class GroupByKey:
    """The list of the values per key (and window), in ascending order of the values (nulls first)."""


@operation(Traits(label="count", state=State.KEYED, exchange=Together.KEY_OR_ALL, time=Time.WINDOW))
class Count:
    """On pairs the number of values per key (and window); on a stream the number of records (per window). Without
    input: 0 for a bounded unwindowed stream, else nothing."""

    phase: Phase = Phase.WHOLE


@operation(Traits(state=State.KEYED, exchange=Together.KEY, time=Time.NONE))
class Changes:
    """The pairs of a table as records, as its values change: a key with its latest value at a commit where that differs
    from the last one given for the key.

    Which of the values between are seen is a matter of when commits are; those of a key come in their order, no two
    equal ones after each other, and the last one is its final value. Of a table that may lose keys a null says that one
    is gone. `final`: only what the table holds when its input has ended, each key once, read where the table stands.
    """

    final: bool = False


@operation(Traits(state=State.KEYED, exchange=Together.KEY, time=Time.NONE))
class Latest:
    """The newest record of each key, of a key whose newest one is deleted none.

    The values are a struct of the `record`, perhaps of its `order` before that, and perhaps of whether it is `deleted`
    behind it. Newest is the one with the greatest order, and of several with that order the greatest; without an order
    the one that came last. A null `deleted` is no deletion.

    A key is forgotten when the watermark is `ttl_us` (None: never) behind the greatest event time of its records since
    it was there last; at the end of the input that of the last record, which has no other behind it.
    """

    ttl_us: int | None = None


@operation(Traits(state=State.KEYED, exchange=Together.KEY, time=Time.NONE))
class Forgetting:
    """What an aggregation makes of the values of each key, which is forgotten as in `Latest`."""

    group: GroupOp
    ttl_us: int


@operation(Traits(state=State.KEYED, exchange=Together.KEY, hidden=TIMED))
class Versions:
    """What a table of event time holds of a key from each time on at which records of it have come, which records of
    later times see: what the aggregation makes of all up to then. A record before its partition's watermark is a dead
    letter (`late`); where the aggregation fails, that is one at each such time, and the version before stays.

    With `ttl_us` a record is the first one of its key again whose time is so much later than that of the one before.
    """

    group: GroupOp
    ttl_us: int | None = None


@operation(Traits(label="revisions", state=State.KEYED, exchange=Together.KEY, time=Time.NONE))
class Revisions:
    """The pairs of a table, so that whatever follows always has what the table holds: at each commit the pairs that the
    table no longer holds are taken back, and those that it holds since then are given."""


@operation(Traits(label="distinct", state=State.KEYED, exchange=Together.EQUAL, time=Time.WINDOW))
class Distinct:
    """Each different record once (per window)."""


@operation(Traits(state=State.WHOLE, exchange=Together.ALL))
class Sort:
    """Ascending (or descending) by the function's value, nulls first in ascending order, equal ones by the whole
    record ascending. Bounded input only."""

    by: Lambda
    descending: bool


@operation(Traits(state=State.WHOLE, exchange=Together.ALL))
class Top:
    """The first `count` records of `Sort` (descending unless told otherwise). `count` has no record, so it may be a
    parameter. Nulls rank last. Of records in windows it gives so many of each, when that closes; others are bounded."""

    count: Expr
    by: Lambda
    descending: bool


@operation(Traits(arity=Arity.TWO, state=State.KEYED, exchange=Together.EQUAL, time=Time.JOINS))
class Join:
    """Pairs of records of the left (first) and right (second) input whose keys are equal and whose `residual` (if
    any) is true. Null keys never join, and records without a partner stay as `kind` says. `within_us`: the right one is
    so much later at most, and `from_us` at least (None: as much earlier); both may then be endless. `asof`: of those at
    or before the time of a left one (and in the interval) only the latest, of several at that time the greatest.
    `versions`: the right ones are those of a table (`Versions`), and the residual is asked of the latest one, which is
    there for `ttl_us` of the table: within one microsecond less.

    `left_keys` and `right_keys` have equal length >= 1. The element is `{left, right}`; for two `Pairs` joined by key
    (`by_key`) it is `{key, value: {left, right}}`, and of pairs in windows, which are then keys too, `{key, value,
    window}`; of semi and anti joins it is the left one. A pair whose residual fails is a dead letter, and no pair.

    Lookups (`ghcm.spg.joining.is_lookup`) take left records one after the other and keep their order, event time and
    watermark: in the whole right side, for whose end they wait, or in what an endless table had given on by then."""

    kind: JoinKind
    left_keys: tuple[Lambda, ...]
    right_keys: tuple[Lambda, ...]
    residual: Lambda | None
    by_key: bool
    within_us: int | None = None
    asof: bool = False
    from_us: int | None = None
    versions: bool = False

    @property
    def by_time(self) -> bool:
        """Whether the event times of two records decide whether they belong together."""
        return self.within_us is not None or self.asof

    @property
    def interval_us(self) -> tuple[int, int] | None:
        """How much later a right record is, at least and at most; None where there is no interval."""
        most, least = self.within_us, self.from_us
        return None if most is None else (-most if least is None else least, most)


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration has come to its end: `condition` over the totals of what a round was given and of what it gave,
    two structs of aggregates of the whole collections."""

    before: tuple[Aggregate, ...]
    after: tuple[Aggregate, ...]
    condition: Lambda


@operation(Traits(arity=Arity.SOME, state=State.WHOLE, exchange=Together.ALL, time=Time.NONE))
class Iterate:
    """A step repeated: each round takes what the round before gave, the first one the first input, at most `limit`
    times and until `until` is true behind a round. Bounded input only.

    `tasks` are the step, a graph of its own: the records of the round stand in it as the task `$0`, the further inputs
    as `$1`, `$2`, ..., the same in every round; `result` is the task whose records the next round takes. `limit` is an
    expression without record; null or less than 1 is no round at all. A condition that fails is a dead letter without
    record and is not true.

    With `known` the step is run on the delta: on those records alone that the round before added. `known` is a task of
    it behind `$0` and maps that cannot fail. The next round takes what has been added before, each record of it as
    `known` makes it, once, and behind these, as added, the `result` of the delta.
    """

    tasks: tuple[Task, ...]
    result: str
    limit: Expr
    until: Until | None
    known: str | None = None


@operation(Traits(role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE))
class Source:
    """Records from outside as the task's element; what cannot be decoded is a dead letter (`bad_record`). `whole`: what
    is decoded and checked, where the task gives only some of its columns on (None: all of it).
    """

    connector: Connector
    whole: Struct | None = None


@operation(Traits(label="read {sink}", role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE))
class ReadSink:
    """The records of a sink: its latest complete version, or the one that the instruction names; bounded. `whole` as of
    a source."""

    sink: str
    whole: Struct | None = None


@operation(Traits(role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE))
class ReadTable:
    """A consistent copy of a named table of a stream unit: its pairs; bounded. `key`, if given, is an expression
    without record: only that key."""

    unit: str
    task: str
    key: Expr | None


@operation(Traits(label="to {sink}", role=Role.SINK, time=Time.NONE))
class To:
    """Writes each record to a sink; gives nothing on."""

    sink: str


@operation(Traits(role=Role.CALL, exchange=Together.ALL, time=Time.NONE))
class Publish:
    """Calls a responsive unit by a policy. Its input is what its sibling `To` writes: the instruction leaves after
    the commit that holds the records. Gives nothing on."""

    call: CallTemplate
    policy: Policy
    after: str | None
    """The id of the `To` task whose commit comes first, if the statement has one."""


@operation(Traits(label="reply", role=Role.REPLY, time=Time.NONE))
class Reply:
    """Writes its records to the implicit sink of the call; gives nothing on."""


FlowOp: TypeAlias = Source | EventTime | ArrivalTime | RowOp | PythonOp | Lookup | Sessions | SequenceOp | Union
Phased: TypeAlias = ReduceByKey | AggregateByKey | Count
GroupOp: TypeAlias = ReduceByKey | AggregateByKey | GroupByKey | Count
WholeOp: TypeAlias = (
    GroupOp | Forgetting | Versions | Latest | Changes | Revisions | Distinct | Sort | Top | Join | Iterate
)
EndOp: TypeAlias = To | Publish | Reply
Op: TypeAlias = FlowOp | WholeOp | ReadSink | ReadTable | EndOp | Fused
