"""Task compression: a union and the operations on single records behind it become one task (GHCM paper, section on the
SPG optimiser).

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

Requires and keeps: simplified graphs. A union is the first stage, and the task takes all that it took. The fused task
has the id of its last stage, or of the one that gives event time, whose state snapshots know under that id; and the
operator calls of all. Every stage keeps its id, element and source position, so that dead letters and explanations name
what the user wrote.
Declines when: the parent has other readers (it would run twice), the exchange between them is not forward, their
parallelism differs, or both give event time; and where partitions may be idle, since those follow others by when
records come to the one operator.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ghcm.optimizer.passes import Fact, Pass, Remarks, with_tasks
from ghcm.optimizer.redundancy import SIMPLIFIED
from ghcm.spg.graph import Forward, Task, Unit, watermark_groups
from ghcm.spg.ops import ChainOp, Fused, Stage, Union
from ghcm.spg.stages import event_time_of, unites

_LAW = "finite dependency"


def _loose_rows(unit: Unit) -> Iterator[str]:
    around = _Around.of(unit)
    for task in unit.tasks:
        parent = unit.task(task.inputs[0].producer) if task.inputs else task
        if around.neighbours(parent, task) and not around.obstacle(parent, task):
            yield f'"{unit.name}.{task.id}" could be one with "{parent.id}"'


def _compress(unit: Unit, remarks: Remarks) -> Unit:
    """One walk from the sources to the ends: what a task reads from is merged before it. A merged task has as many
    readers as its last stage had.
    """
    around, tasks = _Around.of(unit), {task.id: task for task in unit.tasks}
    renamed: dict[str, str] = {}
    for id in tuple(tasks):
        task = tasks[id] = _reading(tasks[id], renamed)
        if not task.inputs or not around.neighbours(parent := tasks[task.inputs[0].producer], task):
            continue
        if reason := around.obstacle(parent, task):
            remarks.declined(unit, task, _LAW, reason)
            continue
        remarks.applied(unit, task, _LAW, f'"{parent.id}" became its first stage')
        kept, gone = (parent, task) if parent.id in around.timed else (task, parent)
        around.readers[kept.id] = around.readers[task.id]
        del tasks[gone.id]
        if gone is task:
            renamed[task.id] = parent.id
        tasks[kept.id] = _merged(parent, task, kept)
    return unit if len(tasks) == len(unit.tasks) else with_tasks(unit, tasks.values())


def _reading(task: Task, renamed: Mapping[str, str]) -> Task:
    """The task with what it reads under the ids that this has now."""
    if not any(edge.producer in renamed for edge in task.inputs):
        return task
    inputs = (replace(edge, producer=renamed.get(edge.producer, edge.producer)) for edge in task.inputs)
    return replace(task, inputs=tuple(inputs))


def _merged(parent: Task, task: Task, kept: Task) -> Task:
    """Both as one task under the id of one of them."""
    op, calls = Fused((*_stages(parent), *_stages(task))), task.calls + parent.calls
    return replace(task, id=kept.id, named=kept.named, op=op, inputs=parent.inputs, calls=calls)


@dataclass(frozen=True, slots=True)
class _Around:
    """What tells whether two tasks may be one: how many tasks read from each, which give event time (a merged task has
    the id of such a one), and the event times that may follow one another.
    """

    readers: Counter[str]
    timed: frozenset[str]
    following: frozenset[str]

    @staticmethod
    def of(unit: Unit) -> "_Around":
        """Around the tasks of a unit."""
        readers = Counter(producer for task in unit.tasks for producer in {edge.producer for edge in task.inputs})
        groups = set(watermark_groups(unit).values())
        idle = (group for group in groups if any(_may_be_idle(unit.task(id)) for id in group))
        timed = frozenset(task.id for task in unit.tasks if event_time_of(task.op))
        return _Around(readers, timed, frozenset[str]().union(*idle))

    def neighbours(self, parent: Task, task: Task) -> bool:
        """Whether both are operations on single records, or the first one a union of what the second takes."""
        return len(task.inputs) == 1 and bool(_stages(parent) and _stages(task)) and not unites(task.op)

    def obstacle(self, parent: Task, task: Task) -> str:
        """Why they may not be one; empty where they may."""
        if self.readers[parent.id] > 1:
            return f'"{parent.id}" has other readers and would run twice'
        if not isinstance(task.inputs[0].exchange, Forward):
            return "its records are regrouped on the way"
        if parent.parallelism != task.parallelism:
            return f'"{parent.id}" has the parallelism {parent.parallelism}, it has {task.parallelism}'
        if {parent.id, task.id} <= self.timed:
            return f'"{parent.id}" gives event time, and it gives another one'
        if {parent.id, task.id} & self.following:
            return "partitions may be idle, and follow others by when records come to it"
        return ""


def _may_be_idle(task: Task) -> bool:
    clock = event_time_of(task.op)
    return clock is not None and clock.idle_us is not None


def _stages(task: Task) -> tuple[Stage, ...]:
    """The task as stages; none where it is more, or stands for an input of the step of an iteration."""
    if isinstance(task.op, Fused):
        return task.op.stages
    if not isinstance(task.op, ChainOp | Union) or not task.inputs:
        return ()
    return (Stage(task.id, task.op, task.collection.element, str(task.origin)),)


FUSED = Fact("every chain of operations on single records is one task", _loose_rows)
COMPRESS_TASKS = Pass("compress-tasks", _compress, frozenset({FUSED}), requires=frozenset({SIMPLIFIED}))
