"""Drops what nobody reads: tasks from which no sink, publication, reply or readable table can be reached.

What it does: walks each unit from its ends backwards and keeps what it meets.
Why: an unused branch costs reading, decoding and state; a dead letter may be dropped only where its record would
reach no sink, which is the case here.
Example: the second line of these goes (`tests/golden/optimiser/unions_and_unused.spg` in full)::

    abc = union() <- a, b, c : stream<{n: int}>
    unused = filter((r: {n: int}) => r.n > 1) <- c : stream<{n: int}>
    out.to = to("out") <- abc : stream<{n: int}>

Requires and keeps: any verified graph; keeps ids, order and every reachable task as it is.
Declines when: the task is a named table of a stream unit, since a unit of another program version may read it.
"""

from collections.abc import Iterator

from ghcm.optimizer.draft import is_readable
from ghcm.optimizer.passes import Fact, Pass, Remarks, is_entry, with_tasks
from ghcm.spg.graph import Task, Unit
from ghcm.spg.traits import traits_of


def _dead_tasks(unit: Unit) -> Iterator[str]:
    """Forwards from each task, where the pass walks backwards."""
    useful = {task.id for task in unit.tasks if _is_root(task)}
    behind: dict[str, list[str]] = {}
    for task in unit.tasks:
        for edge in task.inputs:
            behind.setdefault(edge.producer, []).append(task.id)
    for task in reversed(unit.tasks):
        if task.id in useful or useful.intersection(behind.get(task.id, ())):
            useful.add(task.id)
        elif not is_entry(task):
            yield f'"{unit.name}.{task.id}" reaches no end'


def _live(unit: Unit, remarks: Remarks) -> Unit:
    wanted: set[str] = set()
    for task in reversed(unit.tasks):
        if task.id in wanted or _is_root(task):
            wanted.add(task.id)
            wanted.update(edge.producer for edge in task.inputs)
    unused = [task for task in unit.tasks if task.id not in wanted and not is_entry(task)]
    for task in unused:
        remarks.applied(unit, task, "unused branch", "nothing reads it")
    gone = {task.id for task in unused}
    return with_tasks(unit, (task for task in unit.tasks if task.id not in gone)) if unused else unit


def _is_root(task: Task) -> bool:
    return traits_of(task.op).role.ends or is_readable(task)


LIVE = Fact("every task reaches an end or is a readable table", _dead_tasks)
DROP_UNUSED = Pass("drop-unused", _live, establishes=frozenset({LIVE}))
