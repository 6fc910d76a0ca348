"""What an optimiser pass is: a named, pure function from graph to graph with declared requirements, able to say what
it did and why not; and how steps of iterations are changed like units.

Nothing here knows a particular rewrite. Nothing that has been built changes: every function returns a new graph, or the
same object when there was nothing to do.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from ghcm.source import Origin
from ghcm.spg.graph import Global, Input, Program, Task, Unit, step_unit
from ghcm.spg.ops import Iterate, Reply


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that holds for a graph behind the pass that establishes it, and that a later pass may need.

    `broken` checks it: what of a unit contradicts it, as text for developers. It runs in tests behind each pass.
    """

    says: str
    broken: Callable[[Unit], Iterable[str]] = field(repr=False)


class Verdict(Enum):
    """Whether a rewrite took place."""

    APPLIED = "applied"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class Remark:
    """One rewrite that was made, or was possible in shape and not made: where, by which law, and why."""

    optimiser_pass: str
    verdict: Verdict
    unit: str
    task: str
    law: str
    reason: str
    origin: Origin = field(compare=False)

    def __str__(self) -> str:
        what = f"{self.verdict.value} {self.optimiser_pass} to {self.unit}.{self.task}"
        return f"{self.origin}: {what}: {self.law}: {self.reason}"


@dataclass(slots=True)
class Remarks:
    """Collects the remarks of one pass while it runs."""

    optimiser_pass: str
    made: list[Remark] = field(default_factory=list[Remark])

    def applied(self, unit: Unit, task: Task, law: str, reason: str) -> None:
        """Note a rewrite that was made."""
        self.made.append(Remark(self.optimiser_pass, Verdict.APPLIED, unit.name, task.id, law, reason, task.origin))

    def declined(self, unit: Unit, task: Task, law: str, reason: str) -> None:
        """Note a rewrite that was not made, and why."""
        self.made.append(self.refusal(unit, task, law, reason))

    def refusal(self, unit: Unit, task: Task, law: str, reason: str) -> Remark:
        """The remark that a rewrite was not made, for whoever may still change his mind."""
        return Remark(self.optimiser_pass, Verdict.DECLINED, unit.name, task.id, law, reason, task.origin)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass, by its name in remarks, traces and the pipeline. `change` returns the same unit where nothing is to be
    done; it is given the steps of iterations too, see `as_unit`. `establishes`: facts that hold behind it; `requires`:
    those that an earlier pass must have established.
    """

    name: str
    change: Callable[[Unit, Remarks], Unit] = field(repr=False)
    establishes: frozenset[Fact]
    requires: frozenset[Fact] = frozenset()

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The rewritten program; the same object when no unit has changed."""
        units = tuple(self._changed(unit, remarks) for unit in program.units)
        same = all(new is old for new, old in zip(units, program.units, strict=True))
        return program if same else replace(program, units=units)

    def _changed(self, unit: Unit, remarks: Remarks) -> Unit:
        """The unit with the steps of its iterations changed, then changed itself."""
        tasks: list[Task] = []
        for task in unit.tasks:
            if isinstance(task.op, Iterate):
                step = as_unit(unit, task, task.op)
                changed = self._changed(step, remarks)
                tasks.append(task if changed is step else replace(task, op=as_step(task.op, changed)))
            else:
                tasks.append(task)
        same = all(new is old for new, old in zip(tasks, unit.tasks, strict=True))
        return self.change(unit if same else with_tasks(unit, tasks), remarks)


RESULT, KNOWN = "$result", "$known"
"""The ids of the tasks that stand for who takes what a step gives, and what it knows."""


def as_unit(unit: Unit, task: Task, op: Iterate) -> Unit:
    """The step of an iteration as a unit by itself: what stands for its inputs (unions of nothing), its tasks, and
    replies that read what the next round takes.
    """
    step = step_unit(unit, task, op)
    read = {RESULT: op.result} | ({} if op.known is None else {KNOWN: op.known})
    ends = [
        Task(id, Reply(), (Input(producer, Global()),), step.task(producer).collection, task.origin)
        for id, producer in read.items()
    ]
    return with_tasks(step, (*step.tasks, *ends))


def as_step(op: Iterate, unit: Unit) -> Iterate:
    """The iteration with that unit, made by `as_unit`, as its step."""
    tasks = tuple(task for task in unit.tasks if not task.id.startswith("$"))  # entries and ends
    known = None if op.known is None else unit.task(KNOWN).inputs[0].producer
    return replace(op, tasks=tasks, result=unit.task(RESULT).inputs[0].producer, known=known)


def is_entry(task: Task) -> bool:
    """Whether it stands for an input of an iteration in the unit that `as_unit` made."""
    return task.id.startswith("$") and task.id not in (RESULT, KNOWN)


def units_of(unit: Unit) -> Iterator[Unit]:
    """The unit, and the steps of its iterations as units."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from units_of(as_unit(unit, task, task.op))
    yield unit


def with_tasks(unit: Unit, tasks: Iterable[Task]) -> Unit:
    """The unit with other tasks."""
    return replace(unit, tasks=tuple(tasks))
