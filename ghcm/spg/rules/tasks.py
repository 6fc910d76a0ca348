"""The choice of an operation's rule, and the rules of sources and of operations on single records.

They say what must hold of a finished graph, however it was built; `ghcm.lowering` reports the same to users in their
own words.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import chain
from typing import assert_never

from ghcm.expr import Lambda
from ghcm.formats.avro_schema import conversions, read_schema
from ghcm.formats.messages import field_problems, holds_raw, value_of
from ghcm.spg import ops, sequences, windows
from ghcm.spg.connectors import Connector, Files, Generate, Kafka, Memory, Socket, SourceConnector, SqlQuery, Table
from ghcm.spg.ops import RowOp
from ghcm.spg.rules import checks, groups
from ghcm.spg.rules.checks import Around, collection_problems, is_value
from ghcm.spg.stages import given_by, united
from ghcm.spg.traits import traits_of
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
    Duration,
    Field,
    Int,
    List,
    Nullable,
    Shape,
    Struct,
    Timestamp,
    Type,
    before_silence,
    beside_others,
    is_nullable,
    pair_of,
    strip,
)


def task_problems(around: Around) -> Iterator[str]:
    """What is wrong with a task of the right number of inputs, but for what needs the rest of the program."""
    op, gives = around.op, around.gives
    if isinstance(op, RowOp):
        return _row(around, op)
    match op:
        case ops.Source(connector=connector, whole=whole):
            return chain(_some_columns(gives, whole), _source(connector, _whole(gives, whole)))
        case ops.ReadSink(whole=whole):
            read = _whole(gives, whole)
            return chain(_some_columns(gives, whole), collection_problems(read, replace(read, bounded=True)))
        case ops.ReadTable():
            return collection_problems(gives, Collection(gives.shape, gives.element, bounded=True))
        case ops.EventTime() | ops.ArrivalTime():
            return _timed(around, op)
        case ops.PythonBatch() | ops.PythonAsync():
            return _row(around, op)
        case ops.Lookup():
            return _looked_up(around, op)
        case ops.Sessions():
            return _sessions(around, op)
        case sequences.Preceding() | sequences.Absent() | sequences.Present() | sequences.Scan():
            return _in_time_order(around, op)
        case sequences.Process():
            return _processed(around, op)
        case sequences.Chunks():
            return _chunks(around, op)
        case ops.Fused():
            return _fused(around, op)
        case ops.Union():
            return _union(around)
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            return groups.grouped_problems(around, op)
        case ops.Changes(final=final):
            return groups.changes_problems(around, final=final)
        case ops.Revisions():
            return groups.revisions_problems(around)
        case ops.Forgetting():
            return groups.forgetting_problems(around, op)
        case ops.Versions():
            return groups.versions_problems(around, op)
        case ops.Latest():
            return groups.latest_problems(around, op)
        case ops.Distinct() | ops.Sort() | ops.Top():
            return groups.whole_record_problems(around, op)
        case ops.Join():
            return groups.join_problems(around, op)
        case ops.Iterate():
            return groups.iterate_problems(around, op)
        case ops.To() | ops.Publish() | ops.Reply():
            return collection_problems(gives, around.takes[0])
        case _:
            assert_never(op)


def _whole(gives: Collection, whole: Struct | None) -> Collection:
    """What a task reads that gives that."""
    return gives if whole is None else replace(gives, element=whole)


def _some_columns(gives: Collection, whole: Struct | None) -> Iterator[str]:
    """What is wrong with the columns that are left of a record."""
    if whole is None:
        return
    left = tuple(each for each in whole.fields if each.name in gives.columns.names)
    if gives.element != Struct(left) or not 0 < len(left) < len(whole.fields):
        yield f'"{gives.element}" is not some of the columns of "{whole}"'


def _source(connector: Connector, gives: Collection) -> Iterator[str]:
    yield from collection_problems(gives, Collection(Shape.STREAM, gives.element, connector.ends))
    if not isinstance(connector, SourceConnector):
        yield f"{connector.word.capitalize()} is read through a sink"
        return
    match connector:
        case Memory(rows=rows):
            columns = gives.columns.fields
            for row in rows:
                if len(row) != len(columns) or not all(is_value(v, f.type) for v, f in zip(row, columns, strict=True)):
                    yield f'{row!r} is no row of "{gives.element}"'
        case Generate():
            if not isinstance(gives.element, Struct) or [f.type for f in gives.element.fields] != [Int(), Timestamp()]:
                yield f'generated records are {{number: int, time: timestamp}}, not "{gives.element}"'
        case Files(follow=False, tail=True):
            yield "files that are tailed are followed"
        case Table(follow=False, rewrites="ignore"):
            yield "a table that is not followed has no later commits"
        case Table(version=int(), time_us=int()):
            yield "a table is read as of a version or a time"
        case Files() | Table() | Socket() | Kafka() | SqlQuery():
            if not isinstance(gives.element, Struct):
                yield f'"{gives.element}" cannot be decoded: it is no record'
            elif isinstance(connector, Kafka):
                yield from field_problems(connector.fields, gives.element)
                yield from _values(connector, value_of(connector.fields, gives.element))
        case _:
            assert_never(connector)


def _values(connector: Kafka, value: Struct) -> Iterator[str]:
    if connector.format.name == "raw" and not holds_raw(value):
        yield "raw values are one field"
    if connector.format.name == "avro":
        found = conversions(read_schema(connector.schema), value)
        yield from (each for each in found if isinstance(each, str))


def _timed(around: Around, op: ops.EventTime | ops.ArrivalTime) -> Iterator[str]:
    takes = around.takes[0]
    yield from checks.flowing(takes)
    if takes.changing:
        yield "what may be taken back has no time"
    if isinstance(op, ops.EventTime):
        yield from checks.function_problems(around, op.time, takes.element, Timestamp())
        if op.idle_us is not None and op.idle_us <= 0:
            yield "a partition becomes idle after no time"
        elif op.idle_us is not None and op.disorder_us is None:
            yield "idle without a bound of disorder"
        if op.disorder_us is None and not takes.bounded:
            yield "unbounded input has event time without a bound of disorder"
        if op.disorder_us is not None and around.batch:
            yield "nothing is late in a batch unit, and its event time has a bound of disorder"
    yield from collection_problems(around.gives, replace(takes, timed=True))


def _picked(around: Around) -> Iterator[str]:
    """What is wrong with what gives on some of its records as they are: its functions are predicates."""
    takes = around.takes[0]
    for part_ in fields(around.op):
        function: object = getattr(around.op, part_.name)
        if isinstance(function, Lambda):
            yield from checks.function_problems(around, function, takes.element, Bool())
    yield from collection_problems(around.gives, takes, narrowed=True)


def _row(around: Around, op: RowOp | ops.PythonOp) -> Iterator[str]:
    takes, gives = around.takes[0], around.gives
    made = replace(takes, shape=Shape.STREAM, windowed=False)
    yield from checks.flowing(takes)
    if traits_of(op).picks:
        yield from _picked(around)
        return
    if isinstance(op, ops.Map | ops.FlatMap | ops.MapToPair | ops.KeyBy):
        yield from around.of(op.function, takes.element)
    match op:
        case ops.Map(function=function):
            yield from collection_problems(gives, replace(made, element=function.body.type))
        case ops.FlatMap(function=function):
            items = strip(function.body.type)
            if isinstance(items, List):
                yield from collection_problems(gives, replace(made, element=items.item))
            else:
                yield f'flat_map makes "{items}", which is no list'
        case ops.MapToPair(function=function):
            pair = function.body.type
            if isinstance(pair, Struct) and pair.names == ("_1", "_2"):
                element = pair_of(*(field.type for field in pair.fields))
                yield from checks.pairs(gives, replace(made, shape=Shape.PAIRS, element=element))
            else:
                yield f'map_to_pair makes "{pair}", which is no pair'
        case ops.MapValues(function=function):
            yield from checks.keyed(takes)
            yield from around.of(function, checks.part(takes, "value"))
            yield from collection_problems(gives, replace(takes, element=checks.with_value(takes, function.body.type)))
        case ops.KeyBy(function=function):
            element = pair_of(function.body.type, takes.element)
            yield from checks.pairs(gives, replace(made, shape=Shape.PAIRS, element=element))
        case ops.PythonCall() | ops.PythonBatch() | ops.PythonAsync():
            if isinstance(op, ops.PythonAsync) and (op.parallel < 1 or op.retries < 0 or op.timeout_us == 0):
                yield "an async function is called for something, within some time"
            yield from collection_problems(gives, replace(made, element=gives.element))
        case ops.Window(assigner=assigner):
            yield from _sized_by(around, assigner) if isinstance(assigner, windows.TumblingBy) else _assigner(assigner)
            yield from _windowed(around, op)
        case _:  # those that pick are done
            raise ValueError(f"{op} has no rule")


def _looked_up(around: Around, op: ops.Lookup) -> Iterator[str]:
    takes, gives = around.takes[0], around.gives
    yield from checks.flowing(takes)
    if op.parallel < 1 or op.timeout_us < 1 or op.cache_us < 0 or (op.retries is not None and op.retries < 0):
        yield "a lookup asks for something, within some time"
    if takes.columns.names != ("key", "left") or gives.columns.names != ("left", "right"):
        yield "a lookup makes {left, right} of {key, left}"
        return
    right = gives.columns.fields[1]
    if not isinstance(right.type, Nullable) or not isinstance(right.type.of, Struct):
        yield f'a lookup gives a record or null, and not "{right.type}"'
    left = takes.columns.fields[1]
    yield from collection_problems(gives, replace(takes, element=Struct((left, right))))


def _windowed(around: Around, op: ops.Window | ops.Sessions) -> Iterator[str]:
    takes = around.takes[0]
    if op.allowed_lateness_us and around.batch:
        yield "nothing is late in a batch unit, and its windows allow for it"
    if not takes.timed or takes.windowed:
        yield "windows need event time and records that are in none"
    columns = Struct((*takes.columns.fields, Field("window", WINDOW)))
    yield from collection_problems(around.gives, replace(takes, element=columns, windowed=True))


def _sessions(around: Around, op: ops.Sessions) -> Iterator[str]:
    takes = around.takes[0]
    yield from checks.flowing(takes)
    if op.gap_us < 1:
        yield f"there are no sessions with a gap of {op.gap_us} us"
    yield from _windowed(around, op)


def _in_time_order(
    around: Around, op: sequences.Preceding | sequences.Absent | sequences.Present | sequences.Scan
) -> Iterator[str]:
    takes = around.takes[0]
    yield from checks.flowing(takes)
    value = checks.part(takes, "value")
    match op:
        case sequences.Preceding(count=count, ttl_us=after):
            gives: Type = beside_others(value)
            if count < 1:
                yield f"{count} values do not come before another"
        case sequences.Absent(after_us=after):
            gives = before_silence(value)
        case sequences.Present(after_us=after):
            gives = value
        case sequences.Scan(start=start, function=function, ttl_us=after):
            gives = function.body.type
            yield from around.of(function, gives, value)
            if start.type != gives:
                yield f'it begins with "{start.type}" and goes on with "{gives}"'
    if after is not None and after < 1:
        yield f"no key is silent for {after} us"
    yield from _keyed_in_order(around, gives)


def _keyed_in_order(around: Around, gives: Type) -> Iterator[str]:
    takes = around.takes[0]
    if takes.shape is not Shape.PAIRS or not takes.timed or takes.windowed:
        yield "an order of time for each key needs pairs with event time that are in no windows"
        return
    yield from collection_problems(around.gives, replace(takes, element=pair_of(takes.pair[0], gives)))


def _processed(around: Around, op: sequences.Process) -> Iterator[str]:
    yield from checks.flowing(around.takes[0])
    if is_nullable(checks.part(around.takes[0], "value")):
        yield f"a null of {op.module}:{op.function} is the value of no record"
    yield from _keyed_in_order(around, checks.part(around.gives, "value"))


def _chunks(around: Around, op: sequences.Chunks) -> Iterator[str]:
    takes = around.takes[0]
    yield from (*checks.flowing(takes), *checks.keyed(takes))
    if op.count < 1:
        yield f"a chunk has {op.count} values"
    if around.batch or takes.windowed or takes.changing:
        yield "records come one after the other in a stream unit, in no windows, and stay"
    chunk = List(checks.part(takes, "value"))
    yield from collection_problems(around.gives, replace(takes, element=checks.with_value(takes, chunk), timed=False))


def _sized_by(around: Around, assigner: windows.TumblingBy) -> Iterator[str]:
    if assigner.size.type != Duration() or not around.batch:
        yield f'windows are as long as a duration of a batch unit, and not "{assigner.size.type}"'


def _assigner(assigner: windows.Fixed) -> Iterator[str]:
    size, every = assigner.size_us, assigner.every_us
    if not 0 < every <= size or (isinstance(assigner, windows.Cumulating) and size % every):
        yield f"there are no windows of {size} us every {every} us"
    begin = size if isinstance(assigner, windows.Cumulating) else every
    if not 0 <= assigner.offset_us < begin:
        yield f"windows that begin every {begin} us do not start {assigner.offset_us} us later"


def _fused(around: Around, op: ops.Fused) -> Iterator[str]:
    first, *others = op.stages or (None,)
    if first is None:
        yield "it has no stages"
        return
    if len(around.takes) > 1 and not isinstance(first.op, ops.Union):
        yield "several inputs need a union"
    if any(isinstance(stage.op, ops.Union) for stage in others):
        yield "a union is the first stage or none"
    if sum(isinstance(stage.op, ops.EventTime) for stage in op.stages) > 1:
        yield "it has several event times"
    takes = united(around.takes)
    for stage in op.stages:
        given = around.takes if stage is first else (takes,)
        gives = given_by(stage, takes)
        for problem in _stage(replace(around, op=stage.op, takes=given, gives=gives), stage.op):
            yield f'stage "{stage.id}": {problem}'
        takes = gives
    yield from collection_problems(around.gives, takes)


def _stage(around: Around, op: ops.ChainOp | ops.Union) -> Iterator[str]:
    match op:
        case ops.Union():
            return _union(around)
        case ops.EventTime():
            return _timed(around, op)
        case _:  # the others are row operations
            return _row(around, op)


def _union(around: Around) -> Iterator[str]:
    whole = united(around.takes) if around.takes else around.gives
    for takes in around.takes:
        yield from checks.flowing(takes)
        yield from collection_problems(around.gives, replace(takes, bounded=whole.bounded, changing=whole.changing))
