"""The Stream Processing Graph: the typed, immutable form of a whole program that every later stage works on.

Holds no behaviour but look-ups and walks. Laws that must hold for a graph are in `ghcm.spg.verify`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from ghcm.expr import Get, Lambda, MakeStruct, Value
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Mode
from ghcm.spg.ops import Fused, Iterate, Op, ReadSink, ReadTable, Source, Union
from ghcm.spg.stages import event_time_of
from ghcm.support import RUNS
from ghcm.types import Collection, List, Shape, Struct, Type, strip


@dataclass(frozen=True, slots=True)
class Forward:
    """Each record stays with the task instance beside its producer."""


@dataclass(frozen=True, slots=True)
class Hash:
    """Records go by the key group of these columns; empty = the whole record."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Every instance gets every record."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Records are dealt out evenly."""


@dataclass(frozen=True, slots=True)
class Global:
    """One instance gets everything."""


Exchange: TypeAlias = Forward | Hash | Broadcast | Rebalance | Global


@dataclass(frozen=True, slots=True)
class Input:
    """An edge: the producing task of the same unit and how its records are dealt out."""

    producer: str
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Task:
    """One step of a unit. `id` is made from the names of the program, so that state survives recompilation. `calls`
    counts the operator calls that the user wrote for it, for the optimiser's record. `named`: the user gave the id
    (assignment, `.named()`, sink).
    """

    id: str
    op: Op
    inputs: tuple[Input, ...]
    collection: Collection
    origin: Origin = field(compare=False)
    parallelism: int = 1
    named: bool = False
    calls: int = 1

    @property
    def schema(self) -> Struct:
        """The columns of the task's output; for tasks that give nothing on those of their input."""
        return self.collection.columns

    @property
    def whole(self) -> Struct:
        """The columns of the records that a task reads from outside, of which it may give only some on."""
        found = self.op.whole if isinstance(self.op, Source | ReadSink) else None
        return found or self.schema


@dataclass(frozen=True, slots=True)
class Parameter:
    """A typed parameter of a responsive unit; `required` or with a canonical default."""

    name: str
    type: Type
    required: bool
    default: Value = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One computation: its tasks in topological order. `cache` is the msg cache that a responsive unit listens to,
    `engine` who runs it: the name of an engine of `ghcm.codegen.engines`, or "auto", which leaves it to each run.
    `parallelism`: how many instances the user wants of each task that can be divided; None leaves it to the optimiser.
    """

    name: str
    kind: Literal["stream", "batch"]
    responsive: bool
    parameters: tuple[Parameter, ...]
    cache: str | None
    tasks: tuple[Task, ...]
    origin: Origin = field(compare=False)
    engine: str = "auto"
    parallelism: int | None = None
    _by_id: dict[str, Task] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {task.id: task for task in reversed(self.tasks)})

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines that may run it, in the order in which they are asked."""
        return RUNS[self.kind] if self.engine == "auto" else (self.engine,)

    def task(self, id: str) -> Task:
        """The task of that id; KeyError if the unit has none."""
        return self._by_id[id]

    def consumers(self, id: str) -> tuple[Task, ...]:
        """The tasks that read from the task of that id, in order."""
        return tuple(task for task in self.tasks if any(edge.producer == id for edge in task.inputs))


@dataclass(frozen=True, slots=True)
class Sink:
    """Where data rests. `element` is the record type that its writers agree on; `key` gives the key of a record (a
    scalar or a tuple) where the mode needs one."""

    name: str
    connector: Connector
    mode: Mode
    key: Lambda | None
    element: Type
    origin: Origin = field(compare=False)

    @property
    def columns(self) -> Struct:
        """The columns of its rows; a scalar element has the one column `value`."""
        return Collection(Shape.STREAM, self.element, True).columns

    @property
    def key_columns(self) -> tuple[str, ...]:
        """See `key_columns`; none where there is no key."""
        return () if self.key is None else key_columns(self.key)


def key_columns(key: Lambda) -> tuple[str, ...]:
    """The columns of plain values that the key of a sink consists of; none where a part of it is no such column."""
    (record,), body = key.parameters, key.body
    parts = body.values if isinstance(body, MakeStruct) else (body,)
    plain = [each for each in parts if not isinstance(strip(each.type), Struct | List)]
    names = [each.field for each in plain if isinstance(each, Get) and each.of == record]
    return ("value",) if plain == [record] else tuple(names) if len(names) == len(parts) else ()


@dataclass(frozen=True, slots=True)
class Cache:
    """A msg cache: the topic of instructions and feedback."""

    name: str
    connector: Connector
    origin: Origin = field(compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """The SPG of a whole program. Records are resolved into types and no longer listed."""

    name: str
    caches: tuple[Cache, ...]
    sinks: tuple[Sink, ...]
    units: tuple[Unit, ...]

    def unit(self, name: str) -> Unit:
        """The unit of that name; KeyError if there is none."""
        return {each.name: each for each in reversed(self.units)}[name]

    def sink(self, name: str) -> Sink:
        """The sink of that name; KeyError if there is none."""
        return {each.name: each for each in reversed(self.sinks)}[name]


def entry_of(ordinal: int) -> str:
    """The id of the task that stands for an input of the iteration inside of its step."""
    return f"${ordinal}"


def step_unit(unit: Unit, task: Task, op: Iterate) -> Unit:
    """The step of the iteration `task` as a unit: first what stands for its inputs (empty unions), then its own tasks.

    The records of a round have no event time, whatever those of the first one had.
    """
    taken = [task.collection, *(unit.task(edge.producer).collection for edge in task.inputs[1:])]
    entries = [Task(entry_of(ordinal), Union(), (), each, task.origin) for ordinal, each in enumerate(taken)]
    return replace(unit, tasks=(*entries, *op.tasks))


def leading_to(tasks: tuple[Task, ...], result: str) -> tuple[Task, ...]:
    """The tasks whose records reach that of this id, itself too, in their order."""
    wanted = {result}
    for task in reversed(tasks):
        if task.id in wanted:
            wanted.update(edge.producer for edge in task.inputs)
    return tuple(task for task in tasks if task.id in wanted)


def all_tasks(unit: Unit) -> Iterator[Task]:
    """The tasks of a unit and those inside of its iterations, each behind what it reads."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from all_tasks(replace(unit, tasks=task.op.tasks))
        yield task


def watermark_groups(unit: Unit) -> dict[str, frozenset[str]]:
    """By task that gives event time those whose records may meet its own in some task behind both, itself too; and
    those that meet these: event time goes on in all of a group together.
    """
    above: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for task in unit.tasks:
        mine = frozenset[str]().union(*(above[edge.producer] for edge in task.inputs))
        if event_time_of(task.op) is not None:
            mine |= {task.id}
        above[task.id] = mine
        group = mine.union(*(found.get(each, frozenset()) for each in mine))
        found |= dict.fromkeys(group, group)
    return found


def without_order(unit: Unit) -> frozenset[str]:
    """The tasks that read what has no order: sinks and tables. The watermark of what they give moves at its end."""
    return frozenset(task.id for task in unit.tasks if isinstance(task.op, ReadSink | ReadTable))


def relative_to(program: Program, folder: Path) -> Program:
    """The program with every source position relative to `folder`, so that a bundle does not tell where it was built;
    those outside of it stay as they are. Messages about the program are given before it, with the user's own path.

    >>> from ghcm.spg.connectors import Redis
    >>> origin = Origin("/home/me/jobs/a.istream", 3, 1)
    >>> relative_to(Program("a", (Cache("c", Redis("calls"), origin),), (), ()), Path("/home/me/jobs")).caches[0].origin
    Origin(file='a.istream', line=3, column=1)
    """
    home = folder.resolve()
    return replace(
        program,
        caches=tuple(replace(each, origin=_seen(each.origin, home)) for each in program.caches),
        sinks=tuple(replace(each, origin=_seen(each.origin, home)) for each in program.sinks),
        units=tuple(_unit(each, home) for each in program.units),
    )


def _unit(unit: Unit, home: Path) -> Unit:
    return replace(unit, origin=_seen(unit.origin, home), tasks=tuple(_task(each, home) for each in unit.tasks))


def _task(task: Task, home: Path) -> Task:
    op = task.op
    if isinstance(op, Fused):
        stages = (replace(each, origin=str(_seen(Origin.parse(each.origin), home))) for each in op.stages)
        op = replace(op, stages=tuple(stages))
    if isinstance(op, Iterate):
        op = replace(op, tasks=tuple(_task(each, home) for each in op.tasks))
    return replace(task, op=op, origin=_seen(task.origin, home))


def _seen(origin: Origin, home: Path) -> Origin:
    path = Path(origin.file).resolve()
    if not origin.file or not path.is_relative_to(home):
        return origin
    return replace(origin, file=path.relative_to(home).as_posix())
