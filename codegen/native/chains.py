"""Chains as the native generator sees them: a fused task's stages, or a task on single records as a chain of one; and
which sliding windows share slices: a record is then added once, to its slice, and a window is put together of its
slices when it closes.

Elsewhere a record stands in the stream once for each of its windows. That can be left out where nobody sees it: behind
the window only keyed aggregations, with nothing between that reads the column `window` or can fail. The column then
holds a *pane*: the start of the record's slice, and the end of the first window that it counts in. What came too late
for the first windows of its slice has a pane of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from ghcm.codegen.blocks import Step, steps_of
from ghcm.expr import Get, Lambda, walk
from ghcm.failing import can_fail
from ghcm.spg import ops, windows
from ghcm.spg.graph import Task, Unit
from ghcm.spg.traits import traits_of


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of one task in order; `timed` says whether what comes carries time and watermark, `panes` which windows
    it assigns as slices.
    """

    task: Task
    steps: tuple[Step, ...]
    timed: bool
    panes: Panes | None = None


def chain_of(task: Task, unit: Unit, panes: Panes | None = None) -> Chain | None:
    """The chain of a task of single records; None for any other."""
    if not isinstance(task.op, ops.Fused | ops.ChainOp):
        return None
    source = unit.task(task.inputs[0].producer).collection
    return Chain(task, steps_of(task, source.element), source.timed, panes)


def operator_name(op: ops.Op) -> str:
    """The operator's name in the language; a chain's are joined.

    >>> from ghcm.spg.ops import GroupByKey
    >>> operator_name(GroupByKey())
    'group_by_key'
    """
    if isinstance(op, ops.Fused):
        return " ".join(operator_name(stage.op) for stage in op.stages)
    return traits_of(op).word


@dataclass(frozen=True, slots=True)
class Panes:
    """The windows that share slices of `width_us`. `begin_us`: of those that share their starts, how far behind
    multiples of their size these lie.
    """

    size_us: int
    every_us: int
    begin_us: int | None = None

    @property
    def width_us(self) -> int:
        """The widest slice of which every window is made."""
        return gcd(self.size_us, self.every_us)


def panes_of(unit: Unit) -> dict[str, Panes]:
    """By the ids of the tasks that assign such windows, and of the aggregations that take their panes."""
    consumers: dict[str, list[Task]] = {}
    for task in unit.tasks:
        for edge in task.inputs:
            consumers.setdefault(edge.producer, []).append(task)
    found: dict[str, Panes] = {}
    for task in unit.tasks:
        assigner, behind = _assigned(task.op)
        if assigner is None or not all(map(_is_blind, behind)):
            continue
        groups = list(_groups(task, consumers))
        if groups and None not in groups:
            begin = assigner.offset_us if isinstance(assigner, windows.Cumulating) else None
            panes = Panes(assigner.size_us, assigner.every_us, begin)
            found |= {task.id: panes} | {group.id: panes for group in groups if group is not None}
    return found


def _assigned(op: ops.Op) -> tuple[windows.Sliding | windows.Cumulating | None, tuple[ops.Op, ...]]:
    """The windows a record may be in several of that a task assigns, and what it does behind them."""
    chained: tuple[ops.Op, ...] = tuple(stage.op for stage in op.stages) if isinstance(op, ops.Fused) else (op,)
    for index, each in enumerate(chained):
        if isinstance(each, ops.Window) and isinstance(each.assigner, windows.Sliding | windows.Cumulating):
            return each.assigner, chained[index + 1 :]
    return None, ()


def _groups(task: Task, consumers: dict[str, list[Task]]) -> Iterator[Task | None]:
    """The aggregations behind a task; None for anything else that its records reach."""
    for consumer in consumers.get(task.id, ()):
        match consumer.op:
            case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
                yield consumer
            case ops.Fused(stages=stages) if all(_is_blind(stage.op) for stage in stages):
                yield from _groups(consumer, consumers)
            case op if _is_blind(op):
                yield from _groups(consumer, consumers)
            case _:  # whatever else may look at the window
                yield None


def _is_blind(op: ops.Op) -> bool:
    """Whether the operation neither reads the window of a record nor fails."""
    match op:
        case ops.Filter(predicate=predicate):
            return not can_fail(predicate.body) and not _reads_window(predicate)
        case ops.MapValues(function=function):
            return not can_fail(function.body)
        case _:  # whatever else may read or fail
            return False


def _reads_window(function: Lambda) -> bool:
    """Whether a function of the record may look at its window: it reads it, or has the record as a whole."""
    record, parts = function.parameters[0], list(walk(function.body))
    read = [part for part in parts if isinstance(part, Get) and part.of == record and part.field != "window"]
    return parts.count(record) > len(read)
