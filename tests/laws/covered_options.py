"""Which options of the operators generated programs have: the arguments that may be left out and the choices of the
table, and what the table says in words only (windows, reducers, aggregates, sinks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from ghcm.aggregates import AGGREGATES
from ghcm.expr import Param
from ghcm.formats.messages import PARTS
from ghcm.operators import OPERATORS
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer
from ghcm.spg.connectors import Files, Format, Generate, Mode, Socket
from ghcm.spg.graph import Program, Task, Unit, all_tasks
from ghcm.spg.ops import (
    AggregateByKey,
    Count,
    EventTime,
    GroupByKey,
    Iterate,
    Join,
    Op,
    Policy,
    Publish,
    PythonBatch,
    PythonCall,
    ReduceByKey,
    Sessions,
    Sort,
    Source,
    To,
    Top,
    Window,
)
from ghcm.spg.windows import TumblingBy
from ghcm.support import Yes
from ghcm.types import Collection, Decimal, Shape, is_nullable, strip
from tests.laws.covered_types import nodes

__all__ = ["ELSEWHERE", "OPTIONS", "options_of"]

ELSEWHERE = {
    "files follow": "which never ends: tests/unit/runtime/sources/test_follow.py has it",
    "files tail": "which never ends: tests/unit/runtime/sources/test_tail.py has it",
    "table at": "which generated programs do not read: tests/conformance/test_delta_sources.py has it",
    "table follow": "which never ends: tests/unit/runtime/sources/test_table.py has it",
    "table rewrites fail": "which is of a table that is followed",
    "table rewrites ignore": "which is of a table that is followed",
    "files format eve": "which is json in the graph",
    "files keep_empty": "tests/conformance/test_formats.py has it",
    "cross as": "which is a map in the graph",
    "join as": "which is a map in the graph",
    "aggregate by": "which is pairs in the graph: tests/conformance/test_tpch.py has it",
    "socket format eve": "which is json in the graph",
    "read key": "which reads a table that another unit keeps: examples/wordcount and its tests have it",
    **dict.fromkeys(
        ("sql table", "sql query", "sql split", "sql parts"),
        "which needs a database: tests/conformance/test_sql_sources.py has it",
    ),
    **dict.fromkeys(
        (
            *(f"kafka format {each}" for each in ("json", "csv", "tsv", "eve", "text", "raw", "avro")),
            *(f"kafka start {each}" for each in ("earliest", "latest")),
            *(f"kafka lost {each}" for each in ("fail", "earliest")),
            "kafka until latest",
            *(f"kafka {each}" for each in ("topic", "pattern", "separator", "schema", "schema_id", *PARTS)),
        ),
        "which needs a broker: tests/conformance/test_kafka.py and tests/system/test_kafka_source.py have it",
    ),
    **dict.fromkeys(
        (f"{where} {word}" for where in ("files", "kafka", "socket") for word in ("envelope", "format debezium")),
        "which is json, a filter and a map in the graph: tests/conformance/programs/message_fields.istream",
    ),
    **dict.fromkeys(
        (f"latest {word}" for word in ("deleted", "key", "order", "ttl")),
        "which generated programs do not have: tests/conformance/test_changing_tables.py has it",
    ),
    **dict.fromkeys(
        (f"lookup {word}" for word in ("as", "cache", "ordered", "parallel", "retries", "timeout")),
        "which needs a service: tests/unit/runtime/slot/test_services_asked.py has it",
    ),
    **dict.fromkeys(
        (f"{word} ttl" for word in ("distinct", "preceding", "scan")),
        "which generated programs do not have: tests/conformance/test_in_time_order.py has it",
    ),
    **dict.fromkeys(
        (f"{word} ttl" for word in ("aggregate_by_key", "count", "group_by_key", "reduce_by_key")),
        "which generated programs do not have: tests/conformance/test_changing_tables.py has it",
    ),
    **dict.fromkeys(
        (f"python {word}" for word in ("by async", "ordered", "parallel", "retries", "timeout")),
        "which generated programs do not have: tests/conformance/test_python_batches.py has it",
    ),
    "window session": "which the native engine refuses: Spark's programs have it",
    "window time processing": "which goes by the clock: tests/conformance/test_processing_time.py has it",
}
"""What no generated program of the native engine has, and why."""


def _of_table() -> Iterator[str]:
    for name, row in OPERATORS.items():
        if isinstance(row.reference, Yes):
            for argument in row.arguments:
                if argument.choices:
                    yield from (f"{name} {argument.name} {choice}" for choice in argument.choices)
                elif not argument.required:
                    yield f"{name} {argument.name}"


_IN_WORDS = (
    *(f"aggregate {each.value}" for each in AGGREGATES), "aggregate of event time", "aggregate with an order",
    "aggregate by arrival", "aggregate with a scale", "aggregate of several",
    "aggregate in order", "aggregate merged",
    *(f"reducer {each.value}" for each in Kind), "reducer of fields", "reducer claimed",
    *(f"window {word}" for word in ("tumbling", "sliding", "cumulating", "session", "time processing", "offset")),
    *(f"sink {each.value}" for each in Mode), "join with a condition", "join by key", "join in windows",
    "top in windows", "top by a parameter", "iterate by a parameter", "count of a stream", "count of pairs",
    "group in windows", "group as a table", "group with keys that may be null",
)  # fmt: skip
OPTIONS = frozenset({*_of_table(), *_IN_WORDS}) - ELSEWHERE.keys()


def options_of(program: Program, unit: Unit) -> set[str]:
    """Those that a unit has."""
    inside = {task.id: task.collection for task in all_tasks(unit)}
    found: set[str] = set()
    for task in all_tasks(unit):
        takes = [inside[edge.producer] for edge in task.inputs if edge.producer in inside]
        found |= {"sample seed"} if task.id.startswith("sample") else set()
        found |= {*_of_op(program, task.op), *_of_collections(task, takes)}
    for node in nodes(unit.tasks):
        if isinstance(node, Aggregate):
            found |= {f"aggregate {word}" for word in _aggregate(node)}
    return found


def _aggregate(what: Aggregate) -> Iterator[str]:
    yield what.function.value
    if what.function is AggregateFunction.MEAN and isinstance(strip(what.type), Decimal):
        yield "with a scale"
    if what.function is AggregateFunction.FOLD:
        yield "in order" if what.reducer is None else "merged"
    if what.picks_record:
        yield "of event time" if what.by_time else "by arrival" if what.arrival else "with an order"
        if what.limit is not None:
            yield "of several"


def _of_op(program: Program, op: Op) -> Iterator[str]:
    match op:
        case Source(connector=Files() as files):
            yield from (f"files {word}" for word in _format(files.format))
            yield f"files compression {files.compression}"
            yield f"files clock {files.clock}"
        case Source(connector=Socket(format=format_)):
            yield from (f"socket {word}" for word in _format(format_))
        case Source(connector=Generate() as made):
            known = {"rows": made.rows, "rate": made.rate, "start": made.start_us, "step": made.step_us}
            yield from (f"generate {name}" for name, value in known.items() if value)
        case EventTime(disorder_us=disorder, idle_us=idle):
            yield from (f"event_time {name}" for name, value in (("disorder", disorder), ("idle", idle)) if value)
        case PythonCall():
            yield "python by row"
        case PythonBatch():
            yield "python by batch"
        case Window() | Sessions():
            yield from _window(op)
        case ReduceByKey(reducer=reducer):
            yield from _reducer(reducer)
        case Sort(descending=True):
            yield "sort descending"
        case Top(count=count, descending=descending):
            yield from ("top ascending" for _ in range(not descending))
            yield from ("top by a parameter" for _ in range(isinstance(count, Param)))
        case Join():
            yield from _join(op)
        case Iterate(limit=limit, until=until):
            yield from ("iterate until" for _ in range(until is not None))
            yield from ("iterate by a parameter" for _ in range(isinstance(limit, Param)))
        case Publish(policy=policy):
            yield from _policy(policy)
        case To(sink=sink):
            yield f"sink {program.sink(sink).mode.value}"
        case _:
            pass


def _format(format_: Format) -> Iterator[str]:
    name = "tsv" if format_ == Format("csv", "\t") else format_.name
    yield f"format {name}"
    if name == "csv" and format_.separator != ",":
        yield "separator"


def _window(op: Window | Sessions) -> Iterator[str]:
    if op.allowed_lateness_us:
        yield "window allowed_lateness"
    if isinstance(op, Sessions):
        yield "window session"
        return
    yield f"window {type(op.assigner).__name__.lower()}"
    if not isinstance(op.assigner, TumblingBy) and op.assigner.offset_us:
        yield "window offset"


def _reducer(reducer: Reducer) -> Iterator[str]:
    match reducer:
        case Builtin(kind=kind):
            yield f"reducer {kind.value}"
        case Fields():
            yield "reducer of fields"
        case Custom(claimed=True):
            yield "reducer claimed"
        case Custom():
            yield "reduce_by_key order"
        case _:
            assert_never(reducer)


def _join(op: Join) -> Iterator[str]:
    yield f"join kind {op.kind.value}"
    yield "join by key" if op.by_key else "join on"
    known = {
        "join within": op.within_us is not None,
        "join within unequal bounds": op.from_us is not None,
        "join asof": op.asof,
        "join with a condition": op.residual,
    }
    yield from (word for word, holds in known.items() if holds)


def _policy(policy: Policy) -> Iterator[str]:
    known = {"every": policy.every_records or policy.every_us, "when": policy.when, "at_end": policy.at_end}
    yield from (f"publish {name}" for name, value in known.items() if value)
    if policy.on is not None:
        yield f"publish on {policy.on}"


def _of_collections(task: Task, takes: Sequence[Collection]) -> Iterator[str]:
    """What depends on what flows: windows, tables, pairs."""
    windowed = bool(takes) and takes[0].windowed
    keyed = bool(takes) and takes[0].shape is not Shape.STREAM
    match task.op:
        case Top() if windowed:
            yield "top in windows"
        case Join() if windowed:
            yield "join in windows"
        case Count():
            yield "count of pairs" if keyed else "count of a stream"
        case _:
            pass
    if isinstance(task.op, ReduceByKey | AggregateByKey | GroupByKey | Count) and keyed:
        if windowed:
            yield "group in windows"
        if task.collection.shape is Shape.TABLE:
            yield "group as a table"
        if is_nullable(takes[0].columns.fields[0].type):
            yield "group with keys that may be null"
