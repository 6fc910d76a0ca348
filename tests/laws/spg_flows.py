"""What generated chains of tasks are made of: the tasks so far, what flows, and types that are like what flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import strategies as st

from ghcm.expr import Expr, Literal, Param, Var
from ghcm.functions import comparable
from ghcm.source import Origin
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Exchange, Forward, Input, Task
from ghcm.spg.ops import Op, Source
from ghcm.types import Collection, Field, Int, Shape, Struct, Type, strip
from tests.laws.spg_expressions import paths_of
from tests.laws.spg_values import NAMES, records, rows_of, types, unions

__all__ = ["Chain", "Flow", "Step", "in_window", "part_of", "record_like", "source", "type_like", "with_value"]


@dataclass(frozen=True, slots=True)
class Flow:
    """A task and what it gives. `inexact`: float sums, whose last digits are the engine's own."""

    id: str
    collection: Collection
    inexact: bool = False


@dataclass(slots=True)
class Chain:
    """The tasks of a unit so far."""

    kind: str
    tasks: list[Task] = field(default_factory=list[Task])
    parameters: tuple[Param, ...] = ()
    sessions: bool = False
    """Whether there may be sessions, which the native engine does not have."""

    def add(
        self, word: str, op: Op, collection: Collection, *inputs: tuple[Flow, Exchange], inexact: bool = False
    ) -> Flow:
        """A task at the end; its id is made from the operator's name."""
        id = word if all(task.id != word for task in self.tasks) else f"{word}.n{len(self.tasks)}"
        edges = tuple(Input(flow.id, exchange) for flow, exchange in inputs)
        origin = Origin("generated.istream", len(self.tasks) + 2, 3)
        self.tasks.append(Task(id, op, edges, collection, origin, named=collection.shape is Shape.TABLE))
        return Flow(id, collection, inexact)

    def row(self, word: str, op: Op, flow: Flow, **changes: object) -> Flow:
        """A row operation; `changes` are those of the collection."""
        return self.add(word, op, replace(flow.collection, **changes), (flow, Forward()))  # type: ignore[arg-type]

    def number(self, draw: st.DrawFn, numbers: st.SearchStrategy[int]) -> Expr:
        """A number that an operator is given: a parameter of the unit, where it has one, or a literal."""
        known: list[Expr] = [each for each in self.parameters if each.type == Int()]
        literal: Expr = Literal(draw(numbers), Int())
        return draw(st.sampled_from([literal, *known]))


Step: TypeAlias = Callable[[st.DrawFn, Chain, Flow], "Flow | None"]
"""Adds a task and gives its flow, or None where the operation does not fit what flows."""


def source(
    draw: st.DrawFn,
    chain: Chain,
    element: Type | None = None,
    *,
    most: int = 8,
    known: dict[str, list[object]] | None = None,
) -> Flow:
    """A memory source of records of that type, or of any; some columns take some of the `known` values."""
    if element is None:
        element = draw(st.one_of(records(), records(), unions(), types(0)))
    rows = draw(rows_of(element, most=most, known=known))
    return chain.add("rows", Source(Memory(rows)), Collection(Shape.STREAM, element, bounded=True))


def part_of(flow: Flow, name: str) -> Type:
    return next(each.type for each in flow.collection.columns.fields if each.name == name)


def with_value(flow: Flow, value: Type) -> Struct:
    fields = flow.collection.columns.fields
    return Struct(tuple(replace(each, type=value) if each.name == "value" else each for each in fields))


def type_like(draw: st.DrawFn, of: Type, *, keys: bool = False, nullable: bool = True) -> Type:
    """A type to compute: most often one that the input has, so that results differ from record to record."""
    found = [path.type for path in paths_of(Var("x", of)) if comparable(path.type) or not keys]
    if found and draw(st.integers(0, 3)) > 0:
        type_ = draw(st.sampled_from(found))
        return type_ if nullable else strip(type_)
    return draw(types(keys=keys, nullable=nullable))


def record_like(draw: st.DrawFn, of: Type) -> Struct:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=draw(st.integers(1, 3)), max_size=3, unique=True))
    return Struct(tuple(Field(name, type_like(draw, of)) for name in names), draw(st.sampled_from([None, "Made"])))


def in_window(flow: Flow) -> bool:
    """Whether a row operation would lose the window."""
    return flow.collection.windowed
