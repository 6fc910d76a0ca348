"""What joins become: one join of two data frames of whole records, then the columns of the result."""

from dataclasses import replace

from ghcm.codegen.spark.expressions import Scope, value_binding
from ghcm.codegen.spark.library.sql import bare, named
from ghcm.codegen.spark.sql import Checked, col, make_struct, part_of
from ghcm.codegen.spark.text import quote, sql_text
from ghcm.spg.graph import Task
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.spg.traits import TIME
from ghcm.types import Struct, strip


def join_body(scope: Scope, task: Task, op: Join) -> list[str]:
    """The records of both sides that belong together."""
    lines: list[str] = []
    sides: list[str] = []
    for index, (name, side, keys) in enumerate(
        zip(scope.inputs, scope.sides, (op.left_keys, op.right_keys), strict=True)
    ):
        inner = replace(scope, takes=side)
        values = [inner.on_record(key) for key in keys]
        lines += inner.passed(*values, rows=name)
        kept = frozenset({TIME}) if op.by_time else scope.keep
        keep = "" if index and op.kind.left_alone and not op.by_time else replace(scope, keep=kept).keeping()
        texts = ", ".join(sql_text(each.value) for each in values)
        sides.append(f"Side({name}, [{texts}], {scope.element(side.element)}{keep})")
    call = f"joined(job, {', '.join(sides)}, {quote(op.kind.value)}{_within(op)}{_belong(scope, op)})"
    if not op.by_key or op.kind.left_alone:
        return [*lines, f"return {call}"]
    gives = task.collection.element
    assert isinstance(gives, Struct)
    return [*lines, f"rows = {call}", f"return {scope.select(_pair(op.kind, gives))}"]


def _within(op: Join) -> str:
    within = "" if op.within_us is None else f", within={op.within_us}"
    return f"{within}, asof=True" if op.asof else within


def _belong(scope: Scope, op: Join) -> str:
    """The arguments for the residual condition, and for the pairs of records for which it fails."""
    if op.residual is None:
        return ""
    condition = scope.emitter.body(op.residual, value_binding(col("left")), value_binding(col("right")))
    belong = f", belong={sql_text(bare(condition.value))}"
    if condition.error is None:
        return belong
    type_ = _pair_type(scope, op)
    columns = _pair(JoinKind.INNER, type_) if op.by_key else {"left": col("left"), "right": col("right")}
    pair = ", ".join(sql_text(named(value.value, name)) for name, value in columns.items())
    return f"{belong}, error={sql_text(condition.error)}, pair=[{pair}], step={scope.step(type_)}"


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


def _pair(kind: JoinKind, gives: Struct) -> dict[str, Checked]:
    """Key, value and window of the columns `left` and `right`, which are pairs."""
    held = strip(gives.fields[gives.index("value")].type)
    assert isinstance(held, Struct)
    value = make_struct(held, (part_of(col(side), "value") for side in ("left", "right")))
    columns = {"key": _of_either("key", kind), "value": value}
    return columns | {"window": _of_either("window", kind)} if "window" in gives.names else columns


def _of_either(name: str, kind: JoinKind) -> Checked:
    """What both sides have in common, of the one that is there."""
    left, right = (part_of(col(side), name) for side in ("left", "right"))
    return Checked(f"coalesce({left}, {right})") if kind.keeps_right else left
