"""What an optimiser pass is: a named, pure function from graph to graph with declared requirements, able to say what
it did and why not; and the few moves that rewrites are made of.

Nothing here knows a particular rewrite. Nothing that has been built changes: every function returns a new graph, or the
same object when there was nothing to do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain

from ghcm import expr
from ghcm.expr import Call, Expr, Get, Lambda, MakeStruct, rebuild
from ghcm.functions import FUNCTIONS, resolve
from ghcm.source import Origin
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Op
from ghcm.types import Struct, is_nullable, strip


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
        self.made.append(Remark(self.optimiser_pass, Verdict.DECLINED, unit.name, task.id, law, reason, task.origin))


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass, by its name in remarks, traces and the pipeline. `change` returns the same unit where nothing is to be
    done. `establishes`: facts that hold behind it; `requires`: those that an earlier pass must have established.
    """

    name: str
    change: Callable[[Unit, Remarks], Unit] = field(repr=False)
    establishes: frozenset[Fact]
    requires: frozenset[Fact] = frozenset()

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The rewritten program; the same object when no unit has changed."""
        units = tuple(self.change(unit, remarks) for unit in program.units)
        same = all(new is old for new, old in zip(units, program.units, strict=True))
        return program if same else replace(program, units=units)


def with_tasks(unit: Unit, tasks: Iterable[Task]) -> Unit:
    """The unit with other tasks."""
    return replace(unit, tasks=tuple(tasks))


def remove(unit: Unit, gone: Task) -> Unit:
    """The unit without a task of one input; its consumers read what it read, dealt out as they asked for."""
    (source,) = gone.inputs
    tasks: list[Task] = []
    for task in unit.tasks:
        if task.id == gone.id:
            continue
        inputs = tuple(
            replace(edge, producer=source.producer) if edge.producer == gone.id else edge for edge in task.inputs
        )
        tasks.append(replace(task, inputs=inputs) if inputs != task.inputs else task)
    return with_tasks(unit, tasks)


def merge(unit: Unit, producer: Task, task: Task, op: Op) -> Unit:
    """The unit without `producer`, whose inputs and calls the task takes over, with this operation for both."""
    inputs = (producer.inputs if edge.producer == producer.id else (edge,) for edge in task.inputs)
    merged = replace(task, op=op, inputs=tuple(chain.from_iterable(inputs)), calls=task.calls + producer.calls)
    return with_tasks(unit, (merged if each is task else each for each in unit.tasks if each is not producer))


def substitute(function: Lambda, argument: Expr) -> Expr:
    """The body of a one-parameter lambda with `argument` in the place of its parameter; fields of a struct that is
    made on the spot are taken directly, and calls give no null then where nothing that they take is null."""
    (parameter,) = function.parameters

    def change(part: Expr) -> Expr:
        if isinstance(part, Get) and isinstance(part.of, MakeStruct) and isinstance(part.of.type, Struct):
            return part.of.values[part.of.type.index(part.field)]
        return _exactly(part) if isinstance(part, Call) else part

    return rebuild(expr.substitute(function.body, {parameter.name: argument}), change)


def _exactly(call: Call) -> Expr:
    """A call whose arguments may be known more exactly than before, with its result as they make it."""
    if call.function == "known" and not is_nullable(call.arguments[0].type):
        return call.arguments[0]
    if not is_nullable(call.type):
        return call
    found = resolve(FUNCTIONS[call.function], tuple(each.type for each in call.arguments))
    return replace(call, type=found.result) if found is not None and found.result == strip(call.type) else call
