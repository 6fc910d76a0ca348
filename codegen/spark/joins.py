"""What joins become: one join of two data frames, then the columns of the result."""

from dataclasses import replace

from ghcm.codegen.spark.expressions import Binding, Scope, value_binding
from ghcm.codegen.spark.library.sql import bare, named, text
from ghcm.codegen.spark.sql import Checked, col, make_struct
from ghcm.codegen.spark.text import quote, sql_text
from ghcm.spg.graph import Task
from ghcm.spg.joining import JoinKind, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.spg.traits import TIME
from ghcm.types import Collection, Struct, strip


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
    options = f"{_within(op)}{_residual(scope, op)}"
    call = f"joined(job, {', '.join(sides)}, {quote(op.kind.value)}{options}"
    if not op.by_key or op.kind.left_alone:
        return [*lines, f"return {call})"]
    gives = task.collection.element
    assert isinstance(gives, Struct)
    return [*lines, f"rows = {call}, whole=False)", f"return {scope.select(_pair(op.kind, gives))}"]


def _within(op: Join) -> str:
    within = "" if op.within_us is None else f", within={op.within_us if op.from_us is None else op.interval_us}"
    return f"{within}, asof=True" if op.asof else within


def _residual(scope: Scope, op: Join) -> str:
    """The argument for the residual condition, and for the pairs of records for which it fails."""
    if op.residual is None:
        return ""
    absent = {"left": op.kind.keeps_right, "right": op.kind.keeps_left}
    left, right = (
        _record(name, side, whole=absent[name] and not op.by_key)
        for name, side in zip(("left", "right"), scope.sides, strict=True)
    )
    condition = scope.emitter.body(op.residual, left, right)
    belong = sql_text(bare(condition.value))
    if condition.error is None:
        return f", residual=Residual({belong})"
    type_ = _pair_type(scope, op)
    columns = _pair(JoinKind.INNER, type_) if op.by_key else {"left": left.whole, "right": right.whole}
    pair = ", ".join(sql_text(named(value.value, name)) for name, value in columns.items())
    return f", residual=Residual({belong}, {sql_text(condition.error)}, [{pair}], {scope.step(type_)})"


def _record(name: str, side: Collection, *, whole: bool) -> Binding:
    """A record of one side: a column for each field, or one for the `whole` of it."""
    if not isinstance(side.element, Struct):
        return value_binding(_field(name, "value"))
    if whole:
        return value_binding(col(name))
    parts = (f"{text(each)}, {_field(name, each)}" for each in side.element.names)
    return Binding(Checked(f"named_struct({', '.join(parts)})"), lambda field: _field(name, field))


def _field(side: str, name: str) -> Checked:
    return col(f"{side}.{name}")


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
    """Key, value and window of the columns of two pairs."""
    held = strip(gives.field_of("value").type)
    assert isinstance(held, Struct)
    value = make_struct(held, (_field(side, "value") for side in ("left", "right")), exact=True)
    columns = {"key": _of_either("key", kind), "value": value}
    return columns | {"window": _of_either("window", kind)} if "window" in gives.names else columns


def _of_either(name: str, kind: JoinKind) -> Checked:
    """What both sides have in common, of the one that is there."""
    left, right = (_field(side, name) for side in ("left", "right"))
    return Checked(f"coalesce({left}, {right})") if kind.keeps_right else left
