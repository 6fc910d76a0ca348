"""What each operation asks of its inputs and gives: the typing rules of tasks, re-derived for the verifier.

They say what must hold of a finished graph, however it was built; `ghcm.lowering` reports the same to users in their
own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from ghcm.spg.connectors import Connector, Files, Generate, Kafka, Memory, Parquet, Redis, Socket
from ghcm.spg.group_rules import changes_problems, grouped_problems, join_problems, whole_record_problems
from ghcm.spg.iteration_rules import iterate_problems
from ghcm.spg.ops import (
    AggregateByKey,
    ArrivalTime,
    Changes,
    Count,
    Distinct,
    EventTime,
    Filter,
    FlatMap,
    Fused,
    GroupByKey,
    Iterate,
    Join,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    Op,
    Publish,
    PythonBatch,
    PythonCall,
    ReadSink,
    ReadTable,
    ReduceByKey,
    Reply,
    Sessions,
    Sliding,
    Sort,
    Source,
    To,
    Top,
    Tumbling,
    Union,
    Window,
)
from ghcm.spg.rule_parts import Around, collection_problems, flowing, function_problems, keyed, pairs, part, with_value
from ghcm.spg.well_typed import is_value
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
    Field,
    Int,
    List,
    Shape,
    Struct,
    Timestamp,
    Type,
    pair_of,
    strip,
)


def arity(op: Op) -> tuple[int, int]:
    """The least and the greatest number of inputs."""
    match op:
        case Source() | ReadSink() | ReadTable():
            return (0, 0)
        case Union():
            return (1, 1_000_000)
        case Join():
            return (2, 2)
        case Iterate():
            return (1, 1_000_000)
        case _:
            return (1, 1)


def task_problems(around: Around) -> Iterator[str]:
    """What is wrong with a task of the right number of inputs, but for what needs the rest of the program."""
    op, gives = around.op, around.gives
    match op:
        case Source(connector=connector):
            yield from _source(connector, gives)
        case ReadSink() | ReadTable():
            yield from collection_problems(gives, Collection(gives.shape, gives.element, bounded=True))
        case (
            EventTime()
            | ArrivalTime()
            | Filter()
            | Map()
            | FlatMap()
            | MapToPair()
            | MapValues()
            | KeyBy()
            | PythonCall()
            | PythonBatch()
            | Window()
        ):
            yield from _row(around, op)
        case Sessions():
            yield from _sessions(around, op)
        case Fused(stages=stages):
            yield from _fused(around, stages)
        case Union():
            yield from _union(around)
        case ReduceByKey() | AggregateByKey() | GroupByKey() | Count():
            yield from grouped_problems(around, op)
        case Changes(final=final):
            yield from changes_problems(around, final=final)
        case Distinct() | Sort() | Top():
            yield from whole_record_problems(around, op)
        case Join():
            yield from join_problems(around, op)
        case Iterate():
            yield from iterate_problems(around, op)
        case To() | Publish() | Reply():
            yield from collection_problems(gives, around.takes[0])
        case _:
            assert_never(op)


def _ends(connector: Connector) -> bool:
    """Whether what comes from there has an end."""
    match connector:
        case Files(follow=follow):
            return not follow
        case Generate(rows=rows):
            return rows is not None
        case _:
            return not isinstance(connector, Socket | Kafka)


def _source(connector: Connector, gives: Collection) -> Iterator[str]:
    yield from collection_problems(gives, Collection(Shape.STREAM, gives.element, _ends(connector)))
    match connector:
        case Memory(rows=rows):
            fields = gives.columns.fields
            for row in rows:
                if len(row) != len(fields) or not all(is_value(v, f.type) for v, f in zip(row, fields, strict=True)):
                    yield f'{row!r} is no row of "{gives.element}"'
        case Generate():
            if not isinstance(gives.element, Struct) or [f.type for f in gives.element.fields] != [Int(), Timestamp()]:
                yield f'generated records are {{number: int, time: timestamp}}, not "{gives.element}"'
        case Files(follow=False, tail=True):
            yield "files that are tailed are followed"
        case Files() | Socket() | Kafka():
            if not isinstance(gives.element, Struct):
                yield f'"{gives.element}" cannot be decoded: it is no record'
        case Parquet() | Redis():
            yield f"{type(connector).__name__} is read through a sink"
        case _:
            assert_never(connector)


RowOp = (
    EventTime | ArrivalTime | Filter | Map | FlatMap | MapToPair | MapValues | KeyBy | PythonCall | PythonBatch | Window
)


def _row(around: Around, op: RowOp) -> Iterator[str]:
    takes, gives = around.takes[0], around.gives
    made = replace(takes, shape=Shape.STREAM, windowed=False)
    yield from flowing(takes)
    match op:
        case EventTime(time=time, disorder_us=disorder, idle_us=idle):
            yield from function_problems(around, time, takes.element, Timestamp())
            if idle is not None and (idle <= 0 or disorder is None):
                yield "a partition becomes idle after no time" if idle <= 0 else "idle without a bound of disorder"
            if disorder is None and not takes.bounded:
                yield "unbounded input has event time without a bound of disorder"
            yield from collection_problems(gives, replace(takes, timed=True))
        case ArrivalTime():
            yield from collection_problems(gives, replace(takes, timed=True))
        case Filter(predicate=predicate):
            yield from function_problems(around, predicate, takes.element, Bool())
            yield from collection_problems(gives, takes, narrowed=True)
        case Map(function=function):
            yield from around.of(function, takes.element)
            yield from collection_problems(gives, replace(made, element=function.body.type))
        case FlatMap(function=function):
            yield from around.of(function, takes.element)
            items = strip(function.body.type)
            if isinstance(items, List):
                yield from collection_problems(gives, replace(made, element=items.item))
            else:
                yield f'flat_map makes "{items}", which is no list'
        case MapToPair(function=function):
            yield from around.of(function, takes.element)
            pair = function.body.type
            if isinstance(pair, Struct) and pair.names == ("_1", "_2"):
                element = pair_of(*(field.type for field in pair.fields))
                yield from pairs(gives, replace(made, shape=Shape.PAIRS, element=element))
            else:
                yield f'map_to_pair makes "{pair}", which is no pair'
        case MapValues(function=function):
            yield from keyed(takes)
            yield from around.of(function, part(takes, "value"))
            yield from collection_problems(gives, replace(takes, element=with_value(takes, function.body.type)))
        case KeyBy(function=function):
            yield from around.of(function, takes.element)
            element = pair_of(function.body.type, takes.element)
            yield from pairs(gives, replace(made, shape=Shape.PAIRS, element=element))
        case PythonCall() | PythonBatch():
            yield from collection_problems(gives, replace(made, element=gives.element))
        case Window(assigner=assigner):
            yield from _assigner(assigner)
            yield from _windowed(takes, gives)
        case _:
            assert_never(op)


def _windowed(takes: Collection, gives: Collection) -> Iterator[str]:
    if not takes.timed or takes.windowed:
        yield "windows need event time and records that are in none"
    columns = Struct((*takes.columns.fields, Field("window", WINDOW)))
    yield from collection_problems(gives, replace(takes, element=columns, windowed=True))


def _sessions(around: Around, op: Sessions) -> Iterator[str]:
    takes = around.takes[0]
    yield from flowing(takes)
    if op.gap_us < 1:
        yield f"there are no sessions with a gap of {op.gap_us} us"
    yield from _windowed(takes, around.gives)


def _assigner(assigner: Tumbling | Sliding) -> Iterator[str]:
    match assigner:
        case Tumbling(size_us=size):
            every = size
        case Sliding(size_us=size, every_us=every):
            pass
        case _:
            assert_never(assigner)
    if not 0 < every <= size:
        yield f"there are no windows of {size} us every {every} us"
    if not 0 <= assigner.offset_us < every:
        yield f"windows every {every} us do not start {assigner.offset_us} us later"


def _fused(around: Around, stages: tuple[object, ...]) -> Iterator[str]:
    takes = around.takes[0]
    if not stages:
        yield "it has no stages"
    op = around.op
    for stage in op.stages if isinstance(op, Fused) else ():
        gives = _after(stage.op, takes, stage.element)
        for problem in _row(Around(stage.op, (takes,), gives, around.parameters), stage.op):
            yield f'stage "{stage.id}": {problem}'
        takes = gives
    yield from collection_problems(around.gives, takes)


def _after(op: RowOp, takes: Collection, element: Type) -> Collection:
    if isinstance(op, Filter | MapValues | Window):
        return replace(takes, element=element, windowed=takes.windowed or isinstance(op, Window))
    shape = Shape.PAIRS if isinstance(op, MapToPair | KeyBy) else Shape.STREAM
    return replace(takes, shape=shape, element=element, windowed=False)


def _union(around: Around) -> Iterator[str]:
    for takes in around.takes:
        yield from flowing(takes)
        bounded = all(each.bounded for each in around.takes)
        yield from collection_problems(around.gives, replace(takes, bounded=bounded))
