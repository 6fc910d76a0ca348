"""The laws of the SPG: what holds for every graph, however it was built, and is checked after every pass in tests.

Reports broken laws as text for developers; mistakes of users are found and told by `ghcm.lowering`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from ghcm.formats.messages import field_problems
from ghcm.functions import comparable
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Kafka, Mode, Parquet
from ghcm.spg.graph import Broadcast, Exchange, Forward, Global, Hash, Program, Rebalance, Sink, Task, Unit, step_unit
from ghcm.spg.instances import obstacle
from ghcm.spg.ops import Changes, Iterate, Op, Policy, Publish, ReadSink, ReadTable, Reply, To
from ghcm.spg.rules import Around, aggregate_problems, expr_problems, is_value, lambda_problems, task_problems
from ghcm.spg.sinks import CACHES, SINKS
from ghcm.spg.stages import unites
from ghcm.spg.traits import Role, Together, traits_of
from ghcm.types import Bool, Shape, Type, strip
from ghcm.unification import accepts


def verify(program: Program) -> list[str]:
    """The laws that the program breaks, each with its source position; empty for a sound one."""
    return list(_program(program))


def _program(program: Program) -> Iterator[str]:
    for what, several in (("cache", program.caches), ("sink", program.sinks), ("unit", program.units)):
        yield from (f'{what} "{name}" exists twice' for name in _twice(each.name for each in several))
    for cache in program.caches:
        if cache.connector.word not in CACHES:
            yield f'cache "{cache.name}" is no topic'
    for sink in program.sinks:
        yield from (f'sink "{sink.name}": {problem}' for problem in _sink(sink))
    for unit in program.units:
        yield from (f'unit "{unit.name}": {problem}' for problem in _unit(program, unit))
    yield from _circles(program)


def _twice(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _sink(sink: Sink) -> Iterator[str]:
    if sink.key is not None:
        yield from lambda_problems(sink.key, (sink.element,), {})
    elif sink.mode is Mode.UPSERT or sink.mode in SINKS[sink.connector.word].keyed:
        yield "it keeps records by key and has none"
    if isinstance(sink.connector, Parquet) and not {*sink.connector.partition} < {*sink.columns.names}:
        yield "its files are divided by columns that it does not have, or by all"
    if isinstance(sink.connector, Kafka):
        yield from field_problems(sink.connector.fields, sink.columns)


def _unit(program: Program, unit: Unit) -> Iterator[str]:
    yield from (f'task "{id}" exists twice' for id in _twice(each.id for each in unit.tasks))
    if unit.cache is not None and unit.cache not in [each.name for each in program.caches]:
        yield f'there is no cache "{unit.cache}"'
    if unit.parallelism is not None and (unit.parallelism < 1 or unit.kind == "batch" or unit.responsive):
        yield "it has instances of tasks, which only a stream that runs by itself has"
    if not unit.responsive and (unit.cache is not None or unit.parameters):
        yield "it is not responsive and has parameters or a cache"
    for parameter in unit.parameters:
        if not parameter.required and not is_value(parameter.default, parameter.type):
            yield f'the default of "{parameter.name}" is no value of "{parameter.type}"'
    yield from _tasks(program, unit, {})


def _tasks(program: Program, unit: Unit, before: dict[str, Task]) -> Iterator[str]:
    """What is wrong with the tasks of a unit, or of a step of which `before` holds the entries."""
    for task in unit.tasks:
        if task.id in before:
            continue
        yield from (f'task "{task.id}": {problem}' for problem in _task(program, unit, task, before))
        before[task.id] = task


def _step(program: Program, unit: Unit, task: Task, op: Iterate) -> Iterator[str]:
    """What is wrong inside of an iteration."""
    step = step_unit(unit, task, op)
    yield from (f'task "{id}" exists twice' for id in _twice(each.id for each in step.tasks))
    if any(traits_of(each.op).role is not Role.TRANSFORM for each in op.tasks):
        yield "a step reads and writes nothing outside of the unit"
    yield from _tasks(program, step, {each.id: each for each in step.tasks[: len(task.inputs)]})


def _task(program: Program, unit: Unit, task: Task, before: dict[str, Task]) -> Iterator[str]:
    missing = [edge.producer for edge in task.inputs if edge.producer not in before]
    if missing:
        yield f'no task before it is called "{missing[0]}"'
        return
    least, greatest = traits_of(task.op).arity.value
    if not least <= len(task.inputs) <= greatest:
        yield f"it has {len(task.inputs)} inputs"
        return
    if task.parallelism < 1:
        yield f"its parallelism is {task.parallelism}"
    if task.parallelism > 1:
        yield from _instances(unit, task, before)
    for edge in task.inputs:
        producer = before[edge.producer]
        if traits_of(producer.op).role.ends:
            yield f'"{producer.id}" gives nothing on'
        yield from _exchange(task, producer, edge.exchange)
    around = Around(
        task.op,
        tuple(before[edge.producer].collection for edge in task.inputs),
        task.collection,
        {each.name: each.type for each in unit.parameters},
        unit.kind == "batch",
    )
    yield from task_problems(around)
    yield from _outside(program, unit, task, around)
    if isinstance(task.op, Iterate):
        yield from _step(program, unit, task, task.op)


def _instances(unit: Unit, task: Task, before: dict[str, Task]) -> Iterator[str]:
    """What is wrong with a task that has several instances."""
    why = obstacle(replace(unit, tasks=(*before.values(), task)), task)
    if why:
        yield f"it has {task.parallelism} instances, but {why}"
    if unites(task.op) and task.parallelism > sum(before[edge.producer].parallelism for edge in task.inputs):
        yield "it has more instances than there are before it"


# --- exchanges -------------------------------------------------------------------------------------------------------


def _exchange(task: Task, producer: Task, exchange: Exchange) -> Iterator[str]:
    columns = producer.schema.names
    if isinstance(exchange, Hash) and not set(exchange.columns) <= set(columns):
        yield f'{exchange} names columns that "{producer.id}" has not'
    needed = _needed(task.op, keyed=producer.collection.shape is not Shape.STREAM)
    if (
        task.parallelism == 1
        and isinstance(exchange, Forward)
        and producer.parallelism == 1
        and needed is not Together.KEY
    ):
        return
    match exchange:
        case Global():
            fits = task.parallelism == 1
        case Hash(columns=by):
            windowed = producer.collection.windowed
            together = by in (("key",), ("key", "window")) or (windowed and by == ("window",))
            fits = needed is not Together.ALL and (needed is not Together.KEY or together)
        case Forward():
            fits = needed is Together.NONE and (producer.parallelism == task.parallelism or unites(task.op))
        case Rebalance():
            fits = needed is Together.NONE and not producer.collection.timed
        case Broadcast():
            fits = False
        case _:
            assert_never(exchange)
    if not fits:
        yield f'records come from "{producer.id}" by {exchange}, and it needs {needed.value} together'


def _needed(op: Op, *, keyed: bool) -> Together:
    """What has to meet in one instance."""
    needed = traits_of(op).exchange
    if isinstance(op, Changes) and op.final:  # which reads where the table stands
        return Together.NONE
    if needed is Together.KEY_OR_ALL:
        return Together.KEY if keyed else Together.ALL
    return needed


# --- what stands outside of the unit ---------------------------------------------------------------------------------


def _outside(program: Program, unit: Unit, task: Task, around: Around) -> Iterator[str]:
    match task.op:
        case To(sink=name):
            yield from _to(program, task, name)
        case ReadSink(sink=name, whole=whole):
            found = [each.element for each in program.sinks if each.name == name]
            read = whole or task.collection.element
            if not found or not accepts(read, found[0]):
                yield f'it reads "{read}" from sink "{name}", which holds "{found}"'
        case ReadTable():
            yield from _read_table(program, unit, task, task.op, around)
        case Publish():
            yield from _publish(program, unit, task.op, around)
        case Reply():
            if not unit.responsive:
                yield "nobody called"
        case _:  # the others ask for nothing outside of the unit
            pass


def _to(program: Program, task: Task, name: str) -> Iterator[str]:
    found = [each for each in program.sinks if each.name == name]
    if not found:
        yield f'there is no sink "{name}"'
        return
    if not accepts(found[0].element, task.collection.element):
        yield f'it writes "{task.collection.element}" to "{name}", which holds "{found[0].element}"'
    table = task.collection.shape is Shape.TABLE or task.collection.changing
    if table and found[0].mode is not Mode.UPSERT:
        yield f'it writes a table to "{name}", which does not keep the latest record per key'


def _read_table(program: Program, unit: Unit, task: Task, op: ReadTable, around: Around) -> Iterator[str]:
    tables = [each for other in program.units if other.name == op.unit for each in other.tasks if each.id == op.task]
    if not tables or tables[0].collection.shape is not Shape.TABLE:
        yield f'there is no table "{op.task}" in "{op.unit}"'
        return
    if not (unit.responsive and unit.kind == "stream"):
        yield "only a responsive stream unit reads a table"
    if not accepts(task.collection.element, tables[0].collection.element):
        yield f'it reads "{task.collection.element}" from a table of "{tables[0].collection.element}"'
    if op.key is not None:
        yield from expr_problems(op.key, {}, around.parameters)


def _publish(program: Program, unit: Unit, op: Publish, around: Around) -> Iterator[str]:
    element = around.takes[0].element
    called = [each for each in program.units if each.name == op.call.unit and each.responsive]
    if not called:
        yield f'there is no responsive unit "{op.call.unit}"'
        return
    parameters = {each.name: each for each in called[0].parameters}
    given = [name for name, _ in op.call.arguments]
    yield from (f'parameter "{name}" is given twice' for name in _twice(given))
    yield from (
        f'"{op.call.unit}" needs "{name}"' for name, each in parameters.items() if each.required and name not in given
    )
    for name, argument in op.call.arguments:
        if isinstance(argument, Aggregate):
            yield from aggregate_problems(around, argument, element)
        else:
            yield from expr_problems(argument, {}, around.parameters)
        if name not in parameters or not accepts(parameters[name].type, argument.type):
            yield f'"{op.call.unit}" takes no "{name}" of "{argument.type}"'
    yield from _policy(op.policy, element, around)
    if op.after is not None and not any(each.id == op.after and isinstance(each.op, To) for each in unit.tasks):
        yield f'it waits for "{op.after}", which writes nothing'


def _policy(policy: Policy, element: Type, around: Around) -> Iterator[str]:
    chosen = [each for each in (policy.every_records, policy.every_us, policy.on, policy.when) if each is not None]
    if len(chosen) != 1:
        yield f"its policy says when in {len(chosen)} ways"
    if policy.on not in (None, "window_close", "completion"):
        yield f'a policy knows no "{policy.on}"'
    if policy.on == "window_close" and not around.takes[0].windowed:
        yield "no window closes here"
    if policy.when is not None:
        yield from around.of(policy.when, element)
        if strip(policy.when.body.type) != Bool():
            yield f'its condition is "{policy.when.body.type}"'
    if policy.throttle_us is not None and (
        policy.when is None or policy.throttle_us < 1 or around.batch or not around.takes[0].timed
    ):
        yield "a condition on records with event time is throttled, in a stream unit"
    if policy.key is not None:
        yield from around.of(policy.key, element)
        if policy.throttle_us is None or not comparable(policy.key.body.type):
            yield f'a policy throttles no key "{policy.key.body.type}"'


def _circles(program: Program) -> Iterator[str]:
    calls = {
        unit.name: [task.op.call.unit for task in unit.tasks if isinstance(task.op, Publish)] for unit in program.units
    }
    for name, called in calls.items():
        reached, new = set[str](), set(called)
        while new:
            reached |= new
            new = {other for each in new for other in calls.get(each, [])} - reached
        if name in reached:
            yield f'unit "{name}" calls itself in a circle'
