"""Task expansion: more instances of a task where more sources come to it than one can carry (GHCM paper, section on
the SPG optimiser).

What it does: gives the tasks behind a union as many instances as there are sources, and as a slot has cores to work on
them; or, where the unit says `parallelism`, that many of each task that can be divided.
Why: one instance works on one core, whatever comes to it: with more sources its backlog grows while others are idle.
Example: the first one becomes the other::

    busy = fused <- edge1, edge2 : stream<Flow>
      | flows = union() : Flow
      | busy = filter((f: Flow) => f.bytes > 0) : Flow
    busy x2 = fused <- edge1, edge2 : stream<Flow>
      | flows = union() : Flow
      | busy = filter((f: Flow) => f.bytes > 0) : Flow

Requires and keeps: chains that are one task each. Keyed state hashes, so that a key has one instance; sources split by
partitions, and what keeps their order stays beside them; what is shown to readers has one writer, and policies one
counter. Code, ids and state are those of the task, however many instances it has.
Declines when: one source feeds the task (its order is promised), no row operation would gain by it, or the task keeps
state by key: in one slot it costs more to deal its records out than a second instance saves.
"""

from collections.abc import Iterator

from ghcm.optimizer.compression import FUSED
from ghcm.optimizer.passes import Fact, Pass, Remarks, is_entry
from ghcm.spg.graph import Task, Unit
from ghcm.spg.instances import in_instances, obstacle
from ghcm.spg.ops import Op, PythonOp, RowOp
from ghcm.spg.stages import stages_of, unites
from ghcm.spg.traits import Role, State, traits_of

CORES = 2
"""How many instances are planned at most: the compute threads of a slot, whatever machine compiles the program."""

_LAW = "sources split, keyed state hashes"


def _expand(unit: Unit, remarks: Remarks) -> Unit:
    if unit.kind != "stream" or unit.responsive or any(map(is_entry, unit.tasks)):  # an iteration is one instance
        return unit
    asked = unit.parallelism
    planned = {task.id: _planned(unit, task) for task in unit.tasks}
    expanded = in_instances(unit, lambda task: planned[task.id] if asked is None else asked)
    for task in expanded.tasks:
        _remark(expanded, task, remarks)
    return expanded


def _planned(unit: Unit, task: Task) -> int:
    """How many instances are worth it: where sources come together, if each record is worked on behind it."""
    works = unites(task.op) and any(_works(each.op) for each in (task, *_behind(unit, task)))
    return min(CORES, len(task.inputs)) if works else 1


def _works(op: Op) -> bool:
    """Whether it makes something of each record."""
    return any(isinstance(each, RowOp | PythonOp) for each in (op, *(stage.op for stage in stages_of(op))))


def _behind(unit: Unit, task: Task) -> Iterator[Task]:
    """The tasks that would have as many instances as this one."""
    for each in unit.consumers(task.id):
        traits = traits_of(each.op)
        if traits.state is State.NONE and not traits.role.ends:
            yield each
            yield from _behind(unit, each)


def _remark(unit: Unit, task: Task, remarks: Remarks) -> None:
    before = sum(unit.task(edge.producer).parallelism for edge in task.inputs)
    chosen = traits_of(task.op).role is Role.SOURCE or unites(task.op) or before != task.parallelism
    if task.parallelism > 1 and chosen:
        asked = f"parallelism = {unit.parallelism} of the unit"
        why = asked if unit.parallelism is not None else f"{before} sources come together, {CORES} cores"
        remarks.applied(unit, task, _LAW, f"{task.parallelism} instances: {why}")
    elif unit.parallelism is not None and (why := obstacle(unit, task)):
        remarks.declined(unit, task, _LAW, why)
    elif task.parallelism == 1 and before > 1 and traits_of(task.op).state is State.KEYED:
        remarks.declined(unit, task, _LAW, "one instance keeps its state: in a slot, dealing records out costs more")


def _without_reader(unit: Unit) -> Iterator[str]:
    for task in unit.tasks:
        if task.parallelism > 1 and (why := obstacle(unit, task)):
            yield f'"{unit.name}.{task.id}" has {task.parallelism} instances: {why}'


EXPANDED = Fact("only what can be divided has several instances", _without_reader)
EXPAND_TASKS = Pass("expand-tasks", _expand, frozenset({EXPANDED}), requires=frozenset({FUSED}))
