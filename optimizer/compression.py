"""Task compression: a chain of row operations becomes one task (GHCM paper, section on the SPG optimiser).

What it does: merges a task into its only reader where the dependency is finite: every record of the parent is used at
most once by the child and is not regrouped.
Why: one call per record instead of one per operator, no batch between them, and one loop that a code generator can
write out.
Requires and keeps: simplified graphs. The fused task has the id of its last stage and the operator calls of all;
every stage keeps its id, element and
place, so that dead letters and explanations name what the user wrote. Row operations hold no state, so no snapshot
changes.
Declines when: the parent has other readers (it would run twice), the exchange between them is not forward, or their
parallelism differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ghcm.optimizer.passes import Fact, Remarks
from ghcm.optimizer.rewrite import each_unit, merge
from ghcm.spg.graph import Forward, Program, Task, Unit
from ghcm.spg.ops import Filter, FlatMap, Fused, KeyBy, Map, MapToPair, MapValues, PythonCall, Stage, Window

__all__ = ["CompressTasks"]

_LAW = "finite dependency"


@dataclass(frozen=True, slots=True)
class CompressTasks:
    """The pass; it has no options."""

    name: str = "compress-tasks"
    requires: frozenset[Fact] = frozenset({Fact.SIMPLIFIED})
    establishes: frozenset[Fact] = frozenset({Fact.FUSED})

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The program with every chain of row operations as one task."""
        return each_unit(program, lambda unit: _compress(unit, remarks))


def _compress(unit: Unit, remarks: Remarks) -> Unit:
    for id in [task.id for task in unit.tasks]:
        task = unit.task(id)
        while (fused := _with_parent(unit, task, remarks)) is not None:
            parent = unit.task(task.inputs[0].producer)
            unit, task = merge(unit, parent, fused), fused
    return unit


def _with_parent(unit: Unit, task: Task, remarks: Remarks) -> Task | None:
    """The task with its parent merged into it, or None where that is not possible."""
    if len(task.inputs) != 1:
        return None
    edge = task.inputs[0]
    parent = unit.task(edge.producer)
    stages, parent_stages = _stages(task), _stages(parent)
    if not stages or not parent_stages:
        return None
    obstacle = _obstacle(unit, parent, task)
    if obstacle:
        remarks.declined(unit.name, task.id, _LAW, obstacle, task.origin)
        return None
    remarks.applied(unit.name, task.id, _LAW, f'"{parent.id}" became its first stage', task.origin)
    return replace(task, op=Fused((*parent_stages, *stages)), inputs=parent.inputs, calls=task.calls + parent.calls)


def _obstacle(unit: Unit, parent: Task, task: Task) -> str:
    if len(unit.consumers(parent.id)) > 1:
        return f'"{parent.id}" has other readers and would run twice'
    if not isinstance(task.inputs[0].exchange, Forward):
        return "its records are regrouped on the way"
    if parent.parallelism != task.parallelism:
        return f'"{parent.id}" has the parallelism {parent.parallelism}, it has {task.parallelism}'
    return ""


def _stages(task: Task) -> tuple[Stage, ...]:
    match task.op:
        case Fused(stages=stages):
            return stages
        case Filter() | Map() | FlatMap() | MapToPair() | MapValues() | KeyBy() | PythonCall() | Window() as op:
            return (Stage(task.id, op, task.collection.element, str(task.origin)),)
        case _:
            return ()
