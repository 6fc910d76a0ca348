"""The Stream Processing Graph: the typed, immutable form of a whole program that every later stage works on.

Holds no behaviour but look-ups. Laws that must hold for a graph are in `ghcm.spg.verify`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ghcm.expr import Lambda, Value
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Mode
from ghcm.spg.ops import Op
from ghcm.types import Collection, Shape, Struct, Type


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
    counts the
    operator calls that the user wrote for it, for the optimiser's record. `named`: the user gave the id (assignment,
    `.named()`, sink).
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
        """The columns of the task's output; for tasks that give nothing on (To, Publish, Reply) those of their
        input."""
        return self.collection.columns


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
    `engine` who runs it: the name of an engine of `ghcm.codegen.engines`, or "auto".
    """

    name: str
    kind: Literal["stream", "batch"]
    responsive: bool
    parameters: tuple[Parameter, ...]
    cache: str | None
    tasks: tuple[Task, ...]
    origin: Origin = field(compare=False)
    engine: str = "auto"
    _by_id: dict[str, Task] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {task.id: task for task in reversed(self.tasks)})

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
        for unit in self.units:
            if unit.name == name:
                return unit
        raise KeyError(name)

    def sink(self, name: str) -> Sink:
        """The sink of that name; KeyError if there is none."""
        for sink in self.sinks:
            if sink.name == name:
                return sink
        raise KeyError(name)
