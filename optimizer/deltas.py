"""Iterations that work on what is new: the records that a round cannot use again are not given to the next one.

What it does: finds out that a step puts together what it knows, changed by maps, and what it makes of some of its
records, and that the filter before the latter stops each record which is known: then the step is run on the new ones.
Why: the work of all rounds together grows with the records, and not with the records times the rounds.
Example: the first becomes the second (`tests/golden/optimiser/deltas.spg` in full)::

    all = iterate(all/step/union, 5) <- first : stream<{n: int, fresh: bool}> bounded
      | all/step/map = map((r: {n: int, fresh: bool}) => {n = r.n, fresh = false}) <- $0
      | all/step/filter = filter((r: {n: int, fresh: bool}) => r.fresh) <- $0
      | all/step/more = map((r: {n: int, fresh: bool}) => {n = r.n * 2, fresh = true}) <- all/step/filter
      | all/step/union = union() <- all/step/map, all/step/more

    all = iterate(all/step/more, 5, known = all/step/map) <- first : stream<{n: int, fresh: bool}> bounded

Requires and keeps: any verified graph. Let A be the maps and B the rest, so that a round makes A(s) + B(s) of the state
s. A(A(r)) = A(r) and p(A(r)) is false for each filter p that B begins with, both by rewriting, and no record fails in A
or p. Then B(A(s) + d) = B(d), and the state behind a round is A of what was there, beside B(d) of what the round before
added. Rows, their order, dead letters and the number of rounds stay.
Declines when: the first input of the result is not made of the state by maps alone; another task than a filter reads
the state; a record may fail in one of them; a known record may pass a filter, or would be changed again.
"""

from collections.abc import Iterator
from dataclasses import replace

from ghcm.expr import Call, Expr, Lambda, Literal
from ghcm.failing import can_fail
from ghcm.optimizer.expressions import substitute
from ghcm.optimizer.passes import Pass, Remarks, with_tasks
from ghcm.spg.graph import Task, Unit, entry_of
from ghcm.spg.ops import Filter, Iterate, Map, Union

_LAW = "iterate(A + B) = A of all + B of the new, where B takes nothing that A gives"
_STATE = entry_of(0)


class _Refused(Exception):
    """Why a step is not run on what is new."""


def _on_what_is_new(unit: Unit, remarks: Remarks) -> Unit:
    tasks = [_rewritten(unit, task, remarks) for task in unit.tasks]
    return unit if all(new is old for new, old in zip(tasks, unit.tasks, strict=True)) else with_tasks(unit, tasks)


def _rewritten(unit: Unit, task: Task, remarks: Remarks) -> Task:
    if not isinstance(task.op, Iterate) or task.op.known is not None:
        return task
    try:
        op = delta_of(task.op)
    except _Refused as refused:
        remarks.declined(unit, task, _LAW, str(refused))
        return task
    remarks.applied(unit, task, _LAW, f'the step takes the new records alone, and "{op.known}" those that are known')
    return replace(task, op=op)


def delta_of(op: Iterate) -> Iterate:
    """The iteration on what is new; `_Refused` where that may be another one."""
    by_id = {task.id: task for task in op.tasks}
    whole = by_id.get(op.result)
    if whole is None or not isinstance(whole.op, Union) or len(whole.inputs) < 2:
        raise _Refused("a round does not put together what it knows and what is new")
    known, *new = whole.inputs
    chain = _maps(by_id, known.producer)
    if any(edge.producer == _STATE for edge in new):
        raise _Refused("a round puts together the whole state and what is new")
    for task in chain:
        if len(_readers(op, task.id)) > 1:
            raise _Refused(f'"{task.id}" has other readers')
    readers = [task for task in _readers(op, _STATE) if task not in (*chain[:1], whole)]
    change = _change(chain)
    if change is None:
        raise _Refused("a round puts together the whole state and what is new")
    _idempotent(change)
    _check(readers, change)
    if len(new) > 1:
        tasks = tuple(replace(task, inputs=tuple(new)) if task is whole else task for task in op.tasks)
        return replace(op, tasks=tasks, known=known.producer)
    tasks = tuple(task for task in op.tasks if task is not whole)
    return replace(op, tasks=tasks, result=new[0].producer, known=known.producer)


def _maps(by_id: dict[str, Task], id: str) -> list[Task]:
    """The maps that make this of the state."""
    chain: list[Task] = []
    while id != _STATE:
        task = by_id.get(id)
        if task is None or not isinstance(task.op, Map):
            raise _Refused(f'"{id}" is not made of what is known by maps alone')
        chain.insert(0, task)
        id = task.inputs[0].producer
    return chain


def _readers(op: Iterate, id: str) -> list[Task]:
    return [task for task in op.tasks for edge in task.inputs if edge.producer == id]


def _change(chain: list[Task]) -> Lambda | None:
    """What the maps make of a record, as one function; None of no maps."""
    change: Lambda | None = None
    for task in chain:
        assert isinstance(task.op, Map)
        function = task.op.function
        if can_fail(function.body):
            raise _Refused(f'a record may fail in "{task.id}", and would do so in every round')
        change = function if change is None else Lambda(change.parameters, _applied(function, change.body))
    return change


def _idempotent(change: Lambda) -> None:
    if _applied(change, change.body) != change.body:
        raise _Refused("what is known would be changed again")


def _check(readers: list[Task], change: Lambda) -> None:
    for task in readers:
        if not isinstance(task.op, Filter):
            raise _Refused(f'"{task.id}" takes all that is known')
        predicate = task.op.predicate
        if can_fail(predicate.body):
            raise _Refused(f'a record may fail in "{task.id}", and would do so in every round')
        if decided(_applied(predicate, change.body)) is not False:
            raise _Refused(f'"{task.id}" may let through what is known')


def _applied(function: Lambda, argument: Expr) -> Expr:
    if argument.type != function.parameters[0].type:
        raise _Refused("what is made is known more exactly than what is taken")
    return substitute(function, argument)


def decided(condition: Expr) -> bool | None:
    """What a condition is whatever the record is; None where that is not to be seen.

    >>> from ghcm.expr import Var
    >>> from ghcm.types import Bool
    >>> fresh, returns = Literal(False, Bool()), Var("returns", Bool())
    >>> decided(Call("and", (fresh, Call("not", (returns,), Bool())), Bool()))
    False
    >>> decided(Call("or", (fresh, returns), Bool())) is None
    True
    """
    match condition:
        case Literal(value=bool() as value):
            return value
        case Call(function="and", arguments=arguments):
            return _of_any(map(decided, arguments), False)
        case Call(function="or", arguments=arguments):
            return _of_any(map(decided, arguments), True)
        case Call(function="not", arguments=(argument,)):
            known = decided(argument)
            return None if known is None else not known
        case Call(function="eq" | "ne" as function, arguments=(Literal(value=a), Literal(value=b))):
            plain = isinstance(a, bool | int | str) and isinstance(b, bool | int | str)
            return (a == b) == (function == "eq") if plain else None
        case _:  # any other depends on the record
            return None


def _of_any(parts: Iterator[bool | None], decisive: bool) -> bool | None:
    found = list(parts)
    if decisive in found:
        return decisive
    return None if None in found else not decisive


WORK_ON_DELTAS = Pass("work-on-deltas", _on_what_is_new, establishes=frozenset())
