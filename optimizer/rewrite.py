"""Rewriting of immutable graphs and expressions: the few moves that the passes are made of.

Every function returns a new graph, or the same object when nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ghcm import expr
from ghcm.expr import Call, Expr, Get, Lambda, MakeStruct, Try, children, rebuild
from ghcm.functions import FUNCTIONS, resolve
from ghcm.spg.graph import Input, Program, Task, Unit
from ghcm.types import Struct, is_nullable, strip


def each_unit(program: Program, change: Callable[[Unit], Unit]) -> Program:
    """The program with `change` applied to every unit."""
    units = tuple(map(change, program.units))
    same = all(new is old for new, old in zip(units, program.units, strict=True))
    return program if same else replace(program, units=units)


def with_tasks(unit: Unit, tasks: Iterable[Task]) -> Unit:
    """The unit with other tasks."""
    return replace(unit, tasks=tuple(tasks))


def rewire(task: Task, old: str, new: tuple[Input, ...]) -> Task:
    """The task with its input from `old` replaced by the inputs `new`."""
    inputs = tuple(edge for each in task.inputs for edge in (new if each.producer == old else (each,)))
    return replace(task, inputs=inputs)


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


def merge(unit: Unit, producer: Task, merged: Task) -> Unit:
    """The unit without `producer`, and with `merged` in the place of the task of its id."""
    return with_tasks(unit, (merged if task.id == merged.id else task for task in unit.tasks if task.id != producer.id))


def is_total(expr: Expr) -> bool:
    """Whether no record can fail in it."""
    if isinstance(expr, Try):
        return True
    failing = isinstance(expr, Call) and bool(FUNCTIONS[expr.function].failures)
    return not failing and all(map(is_total, children(expr)))


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
