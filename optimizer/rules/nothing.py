"""Laws of what gives no record, whatever comes: filters that are never true, and what is made of nothing.

`nothing` is a source without rows. A filter that is never true becomes one, and with it goes what nobody reads then,
which must not have had anything to tell: no source that may hold bad records, no function that may fail. Only batch
units have such laws: in a stream what comes behind waits for event time, and for the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ghcm.expr import Call, Expr, Lambda, Literal, free_names
from ghcm.failing import can_fail
from ghcm.folding import folded
from ghcm.optimizer.draft import Change, Draft, is_readable
from ghcm.optimizer.reducing import always_gives
from ghcm.optimizer.rules.rule import Declined, Outcome, Replaced, Rule
from ghcm.spg import ops
from ghcm.spg.connectors import Generate, Memory
from ghcm.spg.graph import Forward, Task, entry_of
from ghcm.types import Collection, Shape

_SOURCE = ops.Source(Memory(()))
_TELLS = "what nobody would read then may have dead letters"
_WAITS = "what comes behind waits for its event time, and for its end"
_INSIDE = "a step takes nothing but what the rounds give it"


def constant_of(op: ops.Op) -> bool | None:
    """Whether a filter is always or never true; None where that depends on the record."""
    if not isinstance(op, ops.Filter):
        return None
    value = _constant(op.predicate.body)
    return None if value is None else value.value is True


def _constant(expr: Expr) -> Literal | None:
    """What an expression comes to for every record; None where they differ, or where one may fail."""
    if isinstance(expr, Call) and expr.function in ("and", "or"):
        parts = [_constant(part) for part in expr.arguments]
        if all(part is None for part in parts):
            return None
        known = (part or old for part, old in zip(parts, expr.arguments, strict=True))
        expr = folded(replace(expr, arguments=tuple(known)))
    elif not isinstance(expr, Literal):
        expr = expr if free_names(expr) else folded(expr)
    return expr if isinstance(expr, Literal) else None


# --- what is nothing -------------------------------------------------------------------------------------------------


def _never(draft: Draft, _producer: Task, task: Task) -> Outcome | None:
    if constant_of(task.op) is not False:
        return None
    if draft.unit.kind != "batch":
        return Declined(_WAITS)
    if not _is_plain(task.collection):
        return None
    if entry_of(0) in draft:
        return Declined(_INSIDE)
    gone = _unread_without(draft, task)
    if any(_may_tell(each) for each in gone):
        return Declined(_TELLS)
    return _nothing(draft, task, gone, "its condition is never true")


def _of_nothing(draft: Draft, _producer: Task, task: Task) -> Outcome | None:
    if not _is_plain(task.collection) or not _passes_nothing(draft, task):
        return None
    if not all(is_nothing(draft, edge.producer) for edge in task.inputs):
        return None
    return _nothing(draft, task, _unread_without(draft, task), "no record comes to it")


def _nothing(draft: Draft, task: Task, gone: tuple[Task, ...], reason: str) -> Replaced:
    calls = task.calls + sum(each.calls for each in gone)
    empty = replace(task, op=_SOURCE, inputs=(), calls=calls)
    return Replaced(Change((empty,), tuple(each.id for each in gone)), reason, tuple(_seen_by(draft, task)))


def _seen_by(draft: Draft, task: Task) -> Iterator[str]:
    """Those for which it makes a difference that a task is nothing."""
    waiting, seen = [task], {task.id}
    while waiting:
        for reader in draft.readers(waiting.pop().id):
            if reader.id not in seen:
                seen.add(reader.id)
                yield reader.id
                waiting += () if _is_plain(reader.collection) else (reader,)


def is_nothing(draft: Draft, id: str) -> bool:
    """Whether a task is nothing, or is made of nothing and has event time, keys or windows, which no source has."""
    waiting = [id]
    while waiting:
        task = draft.task(waiting.pop())
        if task.op != _SOURCE:
            if not task.inputs or _is_plain(task.collection) or not _passes_nothing(draft, task):
                return False
            waiting += (edge.producer for edge in task.inputs)
    return draft.unit.kind == "batch"


def _is_plain(gives: Collection) -> bool:
    """Whether a source may give that."""
    return gives == Collection(Shape.STREAM, gives.element, bounded=True)


def _passes_nothing(draft: Draft, task: Task) -> bool:
    """Whether it gives nothing of nothing, and has nothing to tell of it."""
    match task.op:
        case ops.Count() | ops.AggregateByKey():
            return not is_whole(draft, task)
        case ops.Top(count=count):
            return not can_fail(count)
        case _:  # the others are here or are not
            return isinstance(task.op, _GIVES_NOTHING)


_GIVES_NOTHING = (
    ops.Filter | ops.Map | ops.FlatMap | ops.MapToPair | ops.MapValues | ops.KeyBy | ops.EventTime | ops.Window
    | ops.Sessions | ops.Union | ops.ReduceByKey | ops.GroupByKey | ops.Distinct | ops.Sort | ops.Join
)  # fmt: skip


def is_whole(draft: Draft, groups: Task) -> bool:
    """Whether an aggregation is one of all records, which gives one record of none."""
    taken = draft.task(groups.inputs[0].producer).collection
    return taken.shape is Shape.STREAM and not taken.windowed


def _unread_without(draft: Draft, task: Task) -> tuple[Task, ...]:
    """The tasks that reach an end by this one alone."""
    gone = {task.id: task}
    waiting = [edge.producer for edge in task.inputs]
    while waiting:
        each = draft.task(waiting.pop())
        if (
            each.id not in gone
            and not is_readable(each)
            and all(reader.id in gone for reader in draft.readers(each.id))
        ):
            gone[each.id] = each
            waiting += (edge.producer for edge in each.inputs)
    del gone[task.id]
    return tuple(gone.values())


def _may_tell(task: Task) -> bool:
    """Whether it may have dead letters, or do something that nobody reads."""
    match task.op:
        case ops.Source(connector=connector):
            return not isinstance(connector, Memory | Generate)
        case ops.Sort(by=by):
            return can_fail(by.body)
        case ops.Top(by=by, count=count):
            return can_fail(by.body) or can_fail(count)
        case ops.Union() | ops.Distinct():
            return False
        case ops.Join(left_keys=left, right_keys=right, residual=residual):
            return any(can_fail(each.body) for each in (*left, *right, *([residual] if residual else [])))
        case ops.Filter() | ops.Map() | ops.FlatMap() | ops.MapToPair() | ops.MapValues() | ops.KeyBy():
            return can_fail(_function(task.op).body)
        case _:  # groups may fail; the others are asked nothing
            return not always_gives(task.op)


def _function(op: ops.Filter | ops.Map | ops.FlatMap | ops.MapToPair | ops.MapValues | ops.KeyBy) -> Lambda:
    return op.predicate if isinstance(op, ops.Filter) else op.function


# --- what nothing leaves of others -----------------------------------------------------------------------------------


def _united(draft: Draft, producer: Task, task: Task) -> Outcome | None:
    if not isinstance(task.op, ops.Union) or not is_nothing(draft, producer.id):
        return None
    left = tuple(edge for edge in task.inputs if edge.producer != producer.id)
    if not left:
        return None
    shorter = replace(task, inputs=left)
    gone = () if draft.is_shared(producer.id) else (producer, *_unread_without(draft, producer))
    shorter = replace(shorter, calls=task.calls + sum(each.calls for each in gone))
    ids, reason = tuple(each.id for each in gone), f'"{producer.id}" gives nothing'
    (edge, *more), only = left, draft.task(left[0].producer)
    if not more and isinstance(edge.exchange, Forward) and only.collection == task.collection:
        return Replaced(Change(gone=(*ids, task.id), instead={task.id: only.id}), reason)
    return Replaced(Change((shorter,), ids), reason)


NOTHING_RULES = (
    Rule("never", "filter(false) = nothing", _never),
    Rule("of-nothing", "nothing.f() = nothing", _of_nothing),
    Rule("union-nothing", "union(a, nothing) = a", _united),
)
