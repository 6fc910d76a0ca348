"""Task compression: a chain of row operations becomes one task (GHCM paper, section on the SPG optimiser).

What it does: merges a task into its only reader where the dependency is finite: every record of the parent is used at
most once by the child and is not regrouped.
Why: one call per record instead of one per operator, no batch between them, and one loop that a code generator can
write out.
Example: the first two become the third (`tests/golden/optimiser/fuse_and_fan_out.spg` in full)::

    kept = filter((r: {n: int}) => r.n // 3 > 1) <- doubled : stream<{n: int}>
    more = flat_map((r: {n: int}) => [r.n, r.n]) <- kept : stream<int>
    more = fused <- doubled : stream<int>
      | kept = filter((r: {n: int}) => r.n // 3 > 1) : {n: int}
      | more = flat_map((r: {n: int}) => [r.n, r.n]) : int

Requires and keeps: simplified graphs. The fused task has the id of its last stage and the operator calls of all;
every stage keeps its id, element and source position, so that dead letters and explanations name what the user wrote.
Row operations hold no state, so no snapshot changes.
Declines when: the parent has other readers (it would run twice), the exchange between them is not forward, or their
parallelism differs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ghcm.optimizer.passes import Fact, Pass, Remarks, with_tasks
from ghcm.optimizer.redundancy import SIMPLIFIED
from ghcm.spg.graph import Forward, Task, Unit
from ghcm.spg.ops import Fused, RowOp, Stage

_LAW = "finite dependency"


def _loose_rows(unit: Unit) -> Iterator[str]:
    readers = _readers(unit)
    for task in unit.tasks:
        for edge in task.inputs if _stages(task) else ():
            parent = unit.task(edge.producer)
            if _stages(parent) and not _obstacle(parent, task, readers[parent.id]):
                yield f'"{unit.name}.{task.id}" could be one with "{parent.id}"'


def _compress(unit: Unit, remarks: Remarks) -> Unit:
    """One walk from the sources to the ends; a merged task has as many readers as its last stage had."""
    readers = _readers(unit)
    tasks = {task.id: task for task in unit.tasks}
    for id in tuple(tasks):
        while (fused := _with_parent(unit, tasks, id, readers, remarks)) is not None:
            del tasks[tasks[id].inputs[0].producer]
            tasks[id] = fused
    return unit if len(tasks) == len(unit.tasks) else with_tasks(unit, tasks.values())


def _readers(unit: Unit) -> Counter[str]:
    """How many tasks read from each."""
    return Counter(producer for task in unit.tasks for producer in {edge.producer for edge in task.inputs})


def _with_parent(
    unit: Unit, tasks: Mapping[str, Task], id: str, readers: Mapping[str, int], remarks: Remarks
) -> Task | None:
    """The task with its parent merged into it, or None where that is not possible."""
    task = tasks[id]
    if len(task.inputs) != 1:
        return None
    parent = tasks[task.inputs[0].producer]
    stages, parent_stages = _stages(task), _stages(parent)
    if not stages or not parent_stages:
        return None
    obstacle = _obstacle(parent, task, readers[parent.id])
    if obstacle:
        remarks.declined(unit, task, _LAW, obstacle)
        return None
    remarks.applied(unit, task, _LAW, f'"{parent.id}" became its first stage')
    return replace(task, op=Fused((*parent_stages, *stages)), inputs=parent.inputs, calls=task.calls + parent.calls)


def _obstacle(parent: Task, task: Task, readers: int) -> str:
    if readers > 1:
        return f'"{parent.id}" has other readers and would run twice'
    if not isinstance(task.inputs[0].exchange, Forward):
        return "its records are regrouped on the way"
    if parent.parallelism != task.parallelism:
        return f'"{parent.id}" has the parallelism {parent.parallelism}, it has {task.parallelism}'
    return ""


def _stages(task: Task) -> tuple[Stage, ...]:
    if isinstance(task.op, Fused):
        return task.op.stages
    return (Stage(task.id, task.op, task.collection.element, str(task.origin)),) if isinstance(task.op, RowOp) else ()


FUSED = Fact("every chain of row operations is one task", _loose_rows)
COMPRESS_TASKS = Pass("compress-tasks", _compress, frozenset({FUSED}), requires=frozenset({SIMPLIFIED}))
