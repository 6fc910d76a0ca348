"""What a box says of a task in a few words: the operation, with expressions but without types."""

from dataclasses import fields
from typing import assert_never

from ghcm.expr import Expr, Lambda, Param, walk
from ghcm.reducers import Aggregate, Builtin, Custom, Fields, Phase, Reducer
from ghcm.spg import ops, sequences
from ghcm.spg.connectors import text_of
from ghcm.spg.joining import JoinKind
from ghcm.spg.notation.expressions import print_expr
from ghcm.spg.notation.natural import Scope
from ghcm.spg.notation.types import print_type
from ghcm.spg.ops import Op, Policy
from ghcm.spg.services import service_text
from ghcm.spg.traits import snake, traits_of
from ghcm.spg.windows import Assigner, Tumbling, TumblingBy
from ghcm.types import Struct


def summary(op: Op) -> str:
    """The operation in a line; a fused one has a line per stage of its own."""
    label = traits_of(op).label
    made = label.format_map({part.name: _text(getattr(op, part.name)) for part in fields(op)}) if label else _made(op)
    phase = op.phase if isinstance(op, ops.Phased) else Phase.WHOLE
    return made if phase is Phase.WHOLE else f"{phase.value} {made}"


def _made(op: Op) -> str:
    """What no template says."""
    match op:
        case ops.Source(connector=connector):
            return text_of(connector)
        case ops.EventTime(time=time, disorder_us=disorder, idle_us=idle):
            bound = f", disorder {duration_text(disorder)}" if disorder is not None else ""
            return f"event_time {_text(time)}{bound}" + (f", idle {duration_text(idle)}" if idle is not None else "")
        case ops.Window(assigner=assigner, allowed_lateness_us=lateness):
            return f"window {_windows(assigner)}{_late(lateness)}"
        case ops.Lookup(service=service):
            return f"lookup {service_text(service)}"
        case ops.Sessions(gap_us=gap, allowed_lateness_us=lateness):
            return f"window session({duration_text(gap)}){_late(lateness)}"
        case sequences.Absent(after_us=after) | sequences.Present(after_us=after):
            return f"{traits_of(op).word} {duration_text(after)}"
        case sequences.Preceding(count=count, ttl_us=ttl):
            return f"preceding {count}{_forgotten(ttl)}"
        case sequences.Scan(function=function, ttl_us=ttl):
            return f"scan {_text(function)}{_forgotten(ttl)}"
        case ops.ReduceByKey(reducer=reducer):
            return f"reduce_by_key {_reducer(reducer)}"
        case ops.AggregateByKey(aggregates=aggregates):
            return f"aggregate_by_key {', '.join(map(_aggregate, aggregates))}"
        case ops.Forgetting(group=group, ttl_us=ttl):
            return f"{summary(group)}{_forgotten(ttl)}"
        case ops.Versions(group=group, ttl_us=ttl):
            return f"{summary(group)}, by time{_forgotten(ttl)}"
        case ops.Latest(ttl_us=ttl):
            return f"latest{_forgotten(ttl)}"
        case ops.Changes(final=final):
            return "final pairs" if final else "changes"
        case ops.Sort(by=by, descending=descending):
            return f"sort {_text(by)}{', descending' if descending else ''}"
        case ops.Top(count=count, by=by, descending=descending):
            return f"top {_text(count)} by {_text(by)}{'' if descending else ', ascending'}"
        case ops.Join(kind=kind, left_keys=left, right_keys=right):
            pairs = zip(left, right, strict=False)
            word = "join" if kind is JoinKind.INNER else f"{kind.value} join"
            return f"{word} {', '.join(f'{_text(mine)} == {_text(its)}' for mine, its in pairs)}"
        case ops.Iterate(tasks=tasks, limit=limit):
            return f"iterate {len(tasks)} tasks, at most {_text(limit)} times"
        case ops.ReadTable(unit=unit, task=task, key=key):
            return f"read {unit}.{task}{'' if key is None else f'[{_text(key)}]'}"
        case ops.Publish(call=call, policy=policy):
            return f"publish {call.unit} {_policy(policy)}"
        case ops.Fused(stages=stages):
            return f"fused, {len(stages)} stages"
        case _:  # the others have a template as a trait
            raise ValueError(f"{op} has no label")


def _forgotten(ttl: int | None) -> str:
    return "" if ttl is None else f", ttl {duration_text(ttl)}"


def _late(lateness_us: int) -> str:
    return f", lateness {duration_text(lateness_us)}" if lateness_us else ""


def _text(held: object) -> str:
    """A function by its body, without its parameters."""
    if isinstance(held, Lambda):
        return print_expr(held.body, _scope(held.body).inside(held.parameters))
    return print_expr(held, _scope(held)) if isinstance(held, Expr) else str(held)


def _scope(expr: Expr) -> Scope:
    """A scope in which records go by their names and parameters by theirs."""
    parts = list(walk(expr))
    texts = {
        print_type(part.type): part.type.name for part in parts if isinstance(part.type, Struct) and part.type.name
    }
    return Scope(texts=texts, parameters={part.name: part.type for part in parts if isinstance(part, Param)})


def _reducer(reducer: Reducer) -> str:
    match reducer:
        case Builtin(kind=kind):
            return kind.value
        case Fields(parts=parts):
            return f"({', '.join(map(_reducer, parts))})"
        case Custom(function=function):
            return _text(function)
        case _:
            assert_never(reducer)


def _aggregate(what: Aggregate) -> str:
    parts = [] if what.argument is None else [_text(what.argument)]
    parts += [str(each) for each in (what.fraction, what.limit) if each is not None]
    parts += [] if what.reducer is None else [f"merge = {_reducer(what.reducer)}"]
    parts += ["order = arrival"] if what.arrival else []
    parts += [] if what.order is None else [f"order = {_text(what.order)}"]
    parts += [] if what.finish is None else [f"result = {_text(what.finish)}"]
    return f"{what.name} = {what.function.value}({', '.join(parts)})"


def _windows(assigner: Assigner) -> str:
    if isinstance(assigner, TumblingBy):
        return f"tumbling({_text(assigner.size)})"
    every = "" if isinstance(assigner, Tumbling) else f", every {duration_text(assigner.every_us)}"
    offset = f", offset {duration_text(assigner.offset_us)}" if assigner.offset_us else ""
    return f"{snake(type(assigner).__name__)}({duration_text(assigner.size_us)}{every}{offset})"


def _policy(policy: Policy) -> str:
    if policy.every_records is not None:
        return f"every {policy.every_records}"
    if policy.every_us is not None:
        return f"every {duration_text(policy.every_us)}"
    if policy.on is not None:
        return f"on {policy.on}"
    key = "" if policy.key is None else f" of {_text(policy.key)}"
    often = "" if policy.throttle_us is None else f", once in {duration_text(policy.throttle_us)}{key}"
    return f"when {_text(policy.when)}{often}" if policy.when else ""


def duration_text(micros: int) -> str:
    """A duration as the language writes it.

    >>> duration_text(90_000_000), duration_text(1500)
    ('90s', '1500us')
    """
    for unit, size in (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        if micros and micros % size == 0:
            return f"{micros // size}{unit}"
    return f"{micros}us"
