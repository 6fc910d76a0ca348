"""Keeps of each record what somebody reads: columns that nobody needs are not made, and not taken from the source.

What it does: walks backwards from the ends with the fields that are read of each task's records, leaves those out of
what maps make, and has sources and reads give the rest on.
Why: a column that nobody reads costs decoding, memory and every exchange on the way; a columnar file need not be read
for it at all.
Example: the source of the first unit becomes that of the second (`tests/golden/optimiser/columns.spg` in full)::

    lines = source(files("a.json", format("json"))) : stream<{n: int, s: string}>
    lines = source(files("a.json", format("json")), whole = {n: int, s: string}) : stream<{n: int}>

Requires and keeps: simplified graphs, and leaves them so. Keeps ids, order, and every dead letter: where one would
hold the record, all of the record is kept up to there; a source checks what it does not give on.
Declines when: a task looks at whole records: sinks, Python, orders, what is different, joins by time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var
from ghcm.failing import can_fail
from ghcm.optimizer.needs import ALL, NOTHING, Need, given_to, like, read_of, retyped
from ghcm.optimizer.passes import Fact, Pass, Remarks, Verdict, with_tasks
from ghcm.optimizer.redundancy import SIMPLIFIED
from ghcm.optimizer.rules import RULES, simplified
from ghcm.spg import ops
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import joined_element, joined_pair
from ghcm.spg.traits import traits_of
from ghcm.types import Field, Shape, Struct, Type, is_nullable, pair_of, strip, tuple_of

_LAW = "required columns"


# --- what is needed of whom ------------------------------------------------------------------------------------------


def needs_of(unit: Unit, whole: Collection[str] = ()) -> dict[str, Need]:
    """By task what is read of its records, all of these `whole`. Whatever meets in a union is kept alike."""
    needs = {task.id: ALL if task.id in whole else NOTHING for task in unit.tasks}
    changed = True
    while changed:
        before = dict(needs)
        for task in reversed(unit.tasks):
            if isinstance(task.op, ops.Union):
                for edge in task.inputs:
                    needs[task.id] |= needs[edge.producer]
            for edge, need in zip(task.inputs, _inputs(unit, task, needs[task.id]), strict=True):
                needs[edge.producer] |= need
        changed = needs != before
    return needs


def _inputs(unit: Unit, task: Task, need: Need) -> list[Need]:
    """What a task reads of each of its inputs, where that is read of its own records."""
    op = task.op
    match op:
        case ops.Filter(predicate=predicate):
            return [need | given_to(predicate)]
        case ops.Map(function=function) | ops.MapToPair(function=function):
            return [given_to(_pruned_function(op, function, need))]
        case ops.KeyBy(function=function):
            (record,) = function.parameters
            return [given_to(function) | read_of(_pruned(record, need.of("value")), record.name)]
        case ops.FlatMap(function=function):
            return [given_to(function)]
        case ops.MapValues(function=function):
            return [_pair(given_to(_pruned_function(op, function, need)))]
        case ops.EventTime(time=time):
            return [ALL if is_nullable(time.body.type) else need | given_to(time)]
        case ops.ArrivalTime():
            return [need]
        case ops.Union():
            return [need] * len(task.inputs)
        case ops.AggregateByKey(aggregates=aggregates):
            if any(each.picks_record and not each.arrival for each in aggregates):
                return [ALL]
            read = NOTHING
            for each in aggregates:
                read |= given_to(each.argument) if each.argument is not None else NOTHING
            whole = unit.task(task.inputs[0].producer).collection.shape is Shape.STREAM
            return [read | Need(fields={"window": ALL}) if whole else _pair(read)]
        case ops.Count():
            return [_pair(NOTHING)]
        case ops.Join() if not op.by_time:
            return _sides(op, need)
        case _:  # the others look at whole records
            return [ALL] * len(task.inputs)


def _pair(value: Need) -> Need:
    """Pairs of which that is read of the value."""
    return Need(fields={"key": ALL, "window": ALL, "value": value})


def _sides(op: ops.Join, need: Need) -> list[Need]:
    pair = need.of("value") if op.by_key else need
    sides = [need, NOTHING] if op.kind.left_alone else [pair.of("left"), pair.of("right")]
    if op.by_key and not op.kind.left_alone:
        sides = [_pair(side) for side in sides]
    for at, keys in enumerate((op.left_keys, op.right_keys)):
        for key in keys:
            sides[at] |= given_to(key)
        if op.residual is not None:
            sides[at] |= given_to(op.residual, at)
    return [side | _pair(NOTHING) for side in sides] if op.by_key else sides


# --- tasks with fewer columns ----------------------------------------------------------------------------------------


def _narrowed(unit: Unit, remarks: Remarks) -> Unit:
    made = _made_of(unit)
    for task in unit.tasks:
        found = made[task.id]
        if isinstance(found.op, ops.Source | ops.ReadSink) and found is not task:
            left = [name for name in task.schema.names if name not in found.schema.names]
            remarks.applied(unit, task, _LAW, f"nobody reads {', '.join(left)}")
    same = all(made[task.id] is task for task in unit.tasks)
    return unit if same else with_tasks(unit, made.values())


def _kept_whole(unit: Unit, task: Task) -> str:
    """Why all of the records of a task is kept though not all may be read; empty where nothing keeps it."""
    reached = {task.id}
    for reader in unit.tasks:
        edges = [edge.producer in reached for edge in reader.inputs]
        if not any(edges) or traits_of(reader.op).role.ends:
            continue
        needs = _inputs(unit, reader, NOTHING)
        if any(need.all for behind, need in zip(edges, needs, strict=True) if behind):
            return f'"{reader.id}" {_looks_at(reader.op)}'
        if isinstance(reader.op, _GIVES_ON):
            reached.add(reader.id)
    return ""


_GIVES_ON = ops.Filter | ops.EventTime | ops.ArrivalTime | ops.Union | ops.KeyBy | ops.Join
"""What gives on columns that it does not read."""


def _looks_at(op: ops.Op) -> str:
    match op:
        case ops.Filter() | ops.Map() | ops.FlatMap() | ops.MapToPair() | ops.MapValues() | ops.KeyBy():
            return "may fail, and its dead letter holds all of the record"
        case ops.EventTime():
            return "needs a time, and its dead letter holds all of the record"
        case ops.Join():
            return "joins by time, which is done with whole records"
        case _:  # the others are given them by what they mean
            return "looks at whole records"


def _made_of(unit: Unit) -> dict[str, Task]:
    """The tasks with what is read of their records. What meets in a union is whole where not all can be cut alike."""
    whole: set[str] = set()
    while True:
        needs, made = needs_of(unit, whole), dict[str, Task]()
        for task in unit.tasks:
            takes = [made[edge.producer].collection.element for edge in task.inputs]
            made[task.id] = _task(task, needs[task.id], takes, [unit.task(edge.producer) for edge in task.inputs])
        unlike = {edge.producer for task in unit.tasks if _clashes(task, made) for edge in task.inputs}
        if not unlike:
            return made
        whole |= unlike


def _clashes(task: Task, made: Mapping[str, Task]) -> bool:
    left = {_names(made[edge.producer].collection.element) for edge in task.inputs}
    return isinstance(task.op, ops.Union) and len(left) > 1


def _names(type_: Type) -> tuple[object, ...]:
    """The names of the fields of a record, and so of those in it."""
    plain = strip(type_)
    return tuple((each.name, _names(each.type)) for each in plain.fields) if isinstance(plain, Struct) else ()


def _task(task: Task, need: Need, takes: list[Type], producers: list[Task]) -> Task:
    """The task with what is read of its records; the same one where that is all."""
    op, element = task.op, task.collection.element
    if isinstance(op, ops.Source | ops.ReadSink):
        return _source(task, op, need)
    changed: ops.Op
    same_input = all(new is old.collection.element for new, old in zip(takes, producers, strict=True))
    match op:
        case ops.Map() | ops.MapToPair() | ops.MapValues() | ops.KeyBy():
            changed = _made(op, need, takes[0])
            gives = _element_of(changed, takes[0], element)
        case _ if same_input:
            return task
        case ops.Filter(predicate=predicate):
            changed = ops.Filter(retyped(predicate, takes[0]))
            gives = like(element, takes[0])
        case ops.FlatMap(function=function):
            changed, gives = ops.FlatMap(retyped(function, takes[0])), element
        case ops.EventTime(time=time):
            changed, gives = replace(op, time=retyped(time, takes[0])), like(element, takes[0])
        case ops.ArrivalTime() | ops.Union():
            changed, gives = op, like(element, takes[0])
        case ops.AggregateByKey():
            aggregated = replace(producers[0].collection, element=takes[0]).aggregated
            changed, gives = _aggregate(op, aggregated), element
        case ops.Join():
            changed = _join(op, takes)
            gives = _joined(op, takes, element)
        case _:  # the others were given whole records, or do not look at them
            changed, gives = op, element
    if changed == op and gives == element:
        return task
    return replace(task, op=changed, collection=replace(task.collection, element=gives))


def _source(task: Task, op: ops.Source | ops.ReadSink, need: Need) -> Task:
    element = task.collection.element
    if need.all or not isinstance(element, Struct) or element.variants:
        return task
    left = tuple(each for each in element.fields if each.name in need.fields) or element.fields[:1]
    if len(left) == len(element.fields):
        return task
    gives = replace(task.collection, element=Struct(left))
    return replace(task, op=replace(op, whole=op.whole or element), collection=gives)


def _made(op: ops.Map | ops.MapToPair | ops.MapValues | ops.KeyBy, need: Need, takes: Type) -> ops.RowOp:
    """What makes records, with the fields that are read."""
    if isinstance(op, ops.KeyBy):
        (record,), body = op.function.parameters, op.function.body
        value = _pruned(record, need.of("value"))
        if value is record or can_fail(body):
            return ops.KeyBy(retyped(op.function, takes))
        pair = MakeStruct((body, value), tuple_of(body.type, value.type))
        return ops.MapToPair(retyped(Lambda((record,), pair), takes))
    given = takes.fields[1].type if isinstance(op, ops.MapValues) and isinstance(takes, Struct) else takes
    return replace(op, function=retyped(_pruned_function(op, op.function, need), given))


def _pruned_function(op: ops.Map | ops.MapToPair | ops.MapValues, function: Lambda, need: Need) -> Lambda:
    """The function with the fields of its result that are read; as it is where a record may fail in one of them."""
    if can_fail(function.body):
        return function
    body = function.body
    if isinstance(op, ops.MapToPair):
        if not isinstance(body, MakeStruct):
            return function
        key, value = body.values
        value = _pruned(value, need.of("value"))
        body = MakeStruct((key, value), tuple_of(key.type, value.type)) if value is not body.values[1] else body
    elif isinstance(op, ops.MapValues):
        body = _pruned(body, need.of("value"))
    elif isinstance(body, MakeStruct):  # what copies a record is no map
        body = _pruned(body, need)
    return function if body is function.body else Lambda(function.parameters, body)


def _pruned(value: Expr, need: Need) -> Expr:
    """The value with the fields that are read; the same object where all are, or where it cannot be taken apart."""
    type_ = value.type
    if need.all or not isinstance(type_, Struct) or type_.variants or not type_.fields:
        return value
    if not isinstance(value, MakeStruct | Var | Get):
        return value
    names = [each.name for each in type_.fields if each.name in need.fields] or [type_.fields[0].name]
    parts = value.values if isinstance(value, MakeStruct) else ()
    made: list[Expr] = []
    for name in names:
        at = type_.index(name)
        part = parts[at] if parts else Get(value, name, type_.fields[at].type)
        made.append(_pruned(part, need.of(name)))
    fields = tuple(Field(name, each.type) for name, each in zip(names, made, strict=True))
    return value if Struct(fields) == type_ else MakeStruct(tuple(made), Struct(fields))


def _element_of(op: ops.RowOp, takes: Type, before: Type) -> Type:
    """The element of what the operation makes; the old one where that is the same."""
    match op:
        case ops.Map(function=function):
            made: Type = function.body.type
        case ops.MapToPair(function=Lambda(body=body)):
            assert isinstance(body.type, Struct)
            made = pair_of(*(field.type for field in body.type.fields))
        case ops.KeyBy(function=function):
            made = pair_of(function.body.type, takes)
        case ops.MapValues(function=function):
            assert isinstance(takes, Struct)
            fields = (takes.fields[0], Field("value", function.body.type), *takes.fields[2:])
            made = Struct(fields)
        case _:  # only these make records
            raise AssertionError(f"{op} makes no record of one")
    return like(before, made)


def _aggregate(op: ops.AggregateByKey, value: Type) -> ops.AggregateByKey:
    changed = [
        each if each.argument is None else replace(each, argument=retyped(each.argument, value))
        for each in op.aggregates
    ]
    return replace(op, aggregates=tuple(changed))


def _join(op: ops.Join, takes: list[Type]) -> ops.Join:
    left, right = takes
    return replace(
        op,
        left_keys=tuple(retyped(key, left) for key in op.left_keys),
        right_keys=tuple(retyped(key, right) for key in op.right_keys),
        residual=None if op.residual is None else retyped(op.residual, left, right),
    )


def _joined(op: ops.Join, takes: list[Type], before: Type) -> Type:
    left, right = takes
    if not op.by_key:
        return like(before, joined_element(left, right, op.kind))
    assert isinstance(left, Struct) and isinstance(right, Struct)
    sides = [(each.fields[0].type, each.fields[1].type) for each in (left, right)]
    return like(before, joined_pair(sides[0], sides[1], op.kind, windowed=len(left.fields) > 2))


# --- the pass --------------------------------------------------------------------------------------------------------


def _required(unit: Unit, remarks: Remarks) -> Unit:
    """Fewer columns make operators needless, and without these fewer may be needed."""
    while (changed := _narrowed(unit, remarks)) is not unit:
        said = Remarks(remarks.optimiser_pass)  # what the laws decline has been said before
        unit = simplified(changed, RULES, said)
        remarks.made += [each for each in said.made if each.verdict is Verdict.APPLIED]
    for task in unit.tasks:
        whole = isinstance(task.op, ops.Source | ops.ReadSink) and task.op.whole is None
        if whole and len(task.schema.names) > 1 and (why := _kept_whole(unit, task)):
            remarks.declined(unit, task, _LAW, why)
    return unit


def _superfluous(unit: Unit) -> Iterator[str]:
    made = _made_of(unit)
    for task in unit.tasks:
        if isinstance(task.op, ops.Source | ops.ReadSink) and made[task.id] is not task:
            yield f'nobody reads all of "{unit.name}.{task.id}"'


REQUIRED = Fact("sources give on what somebody reads", _superfluous)
REQUIRED_COLUMNS = Pass("required-columns", _required, frozenset({REQUIRED}), requires=frozenset({SIMPLIFIED}))
