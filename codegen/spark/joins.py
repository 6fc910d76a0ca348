"""What joins become: one join of two data frames of whole records, then the columns of the result."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.spark.expressions import can_fail, value_binding
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.text import quote
from ghcm.spg.graph import Task
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.spg.ops.traits import TIME
from ghcm.types import Struct, strip


def join_body(scope: Scope, task: Task, op: Join) -> list[str]:
    """The records of both sides that belong together."""
    lines: list[str] = []
    sides: list[str] = []
    for place, (name, side, keys) in enumerate(
        zip(scope.inputs, scope.sides, (op.left_keys, op.right_keys), strict=True)
    ):
        inner = replace(scope, takes=side)
        texts = [inner.on_record(key) for key in keys]
        errors = [f"{text}.error" for text, key in zip(texts, keys, strict=True) if can_fail(key.body)]
        if errors:
            lines.append(f"{name} = passed(job, {name}, {inner.step()}, first({', '.join(errors)}))")
        kept = frozenset({TIME}) if op.by_time else scope.keep & {TIME}
        keep = "" if place and op.kind.left_alone and not op.by_time else replace(scope, keep=kept).keeping()
        sides.append(f"Side({name}, [{', '.join(texts)}], {scope.element(side.element)}{keep})")
    call = f"joined(job, {', '.join(sides)}, {quote(op.kind.value)}{_within(op)}{_belong(scope, op)})"
    rest = sorted(scope.keep - {TIME})
    if rest:  # nothing is late for what was joined, and it stands in no order
        call = f"without_place({call}, [{', '.join(map(quote, rest))}])"
    if not op.by_key or op.kind.left_alone:
        return [*lines, f"return {call}"]
    gives = task.collection.element
    assert isinstance(gives, Struct)
    columns = _pair(scope, op.kind, gives)
    return [*lines, f"rows = {call}", f"return {scope.transformed('rows', columns)}"]


def _within(op: Join) -> str:
    within = "" if op.within_us is None else f", within={op.within_us}"
    return f"{within}, asof=True" if op.asof else within


def _belong(scope: Scope, op: Join) -> str:
    """The arguments for the residual condition, and for the pairs of records for which it fails."""
    if op.residual is None:
        return ""
    condition = scope.emitter.body(op.residual, value_binding('col("left")'), value_binding('col("right")'))
    if not can_fail(op.residual.body):
        return f", belong={condition}"
    type_ = _pair_type(scope, op)
    columns = {"left": 'col("left")', "right": 'col("right")'}
    if op.by_key:
        columns = _pair(scope, JoinKind.INNER, type_)
    pair = ", ".join(f"{quote(name)}: {text}" for name, text in columns.items())
    return f", belong={condition}, pair={{{pair}}}, step={scope.step(type_)}"


def _pair_type(scope: Scope, op: Join) -> Struct:
    """The type of two records that were held against each other, whatever the kind gives on."""
    left, right = scope.sides
    if op.by_key:
        one, two = (side.columns.fields for side in scope.sides)
        return joined_pair(
            (one[0].type, one[1].type), (two[0].type, two[1].type), JoinKind.INNER, windowed=left.windowed
        )
    type_ = joined_element(left.element, right.element, JoinKind.INNER)
    assert isinstance(type_, Struct)
    return type_


def _pair(scope: Scope, kind: JoinKind, gives: Struct) -> dict[str, str]:
    """Key, value and window of the columns `left` and `right`, which are pairs."""
    held = strip(gives.fields[gives.index("value")].type)
    assert isinstance(held, Struct)
    parts = ", ".join(f'"{side}": part_of(col("{side}"), "value")' for side in ("left", "right"))
    columns = {"key": _of_either("key", kind), "value": f"make_struct({scope.type(held)}, {{{parts}}})"}
    return columns | {"window": _of_either("window", kind)} if "window" in gives.names else columns


def _of_either(name: str, kind: JoinKind) -> str:
    """What both sides have in common, of the one that is there."""
    sides = [f'part_of(col("{side}"), "{name}")' for side in ("left", "right")]
    return f"coalesce({', '.join(sides)})" if kind.keeps_right else sides[0]
