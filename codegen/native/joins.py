"""Joins: the keys of both sides and the residual condition, by rows and as Polars frames ready to be joined."""

from ghcm.codegen.native.columns.expressions import ColumnScope, columnar, frame_function, guard, selection
from ghcm.codegen.native.columns.text import Column, Unsupported, either
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import Made, bind_record, condition_function, per_row
from ghcm.codegen.native.rows.text import Code, tuple_text
from ghcm.codegen.native.sections import Place, Section, entry, order_text
from ghcm.codegen.native.snippets import ATOM
from ghcm.expr import Lambda
from ghcm.failing import can_fail
from ghcm.spg.joining import is_lookup
from ghcm.spg.ops import Join
from ghcm.types import Collection, List, Null, Nullable, Struct, Type, is_nullable, strip


def joining(at: Place, op: Join) -> Section:
    """Keys and residual by rows (`<name>_left`, `_right`, `_residual`), and in columns (`_left_columns`,
    `_right_columns`, `_belong`, `_joined`).
    """
    name, sides = at.name, (("left", op.left_keys), ("right", op.right_keys))
    rows = [_keys(at, at.input(ordinal), side, keys) for ordinal, (side, keys) in enumerate(sides)]
    parts, belong = {"left": f"{name}_left", "right": f"{name}_right"}, ""
    if op.residual is not None:
        rows.append(condition_function(f"{name}_residual", op.residual, ("left", "right"), at.module))
        parts["residual"], belong = f"{name}_residual", f", {name}_belong"
    made, missing = columnar(lambda: _columns(at, op))
    if made:
        parts["columns"] = f"JoinColumns({name}_left_columns, {name}_right_columns, {name}_joined{belong})"
    return Section(at.task, [*rows, *made], entry("JoinCode", **parts), missing)


# --- columns ---------------------------------------------------------------------------------------------------------


def _columns(at: Place, op: Join) -> list[str]:
    if op.asof:
        raise Unsupported("the latest of several is found by rows")
    left, right = at.input(0), at.input(1)
    lookup = is_lookup(left, right)
    sides = [
        _side(left, f"{at.name}_left_columns", "left", op.left_keys, watermark=lookup),
        _side(right, f"{at.name}_right_columns", "right", op.right_keys, watermark=False),
    ]
    return [*sides, *_belong(op, at.name), _joined(at, op)]


def _side(collection: Collection, name: str, side: str, keys: tuple[Lambda, ...], *, watermark: bool) -> str:
    """A side as columns `@0`, `@1`, ... of its keys and one column of its records."""
    found: list[Column] = []
    for key in keys:
        scope = ColumnScope()
        scope.bind(key.parameters[0])
        found += _scalars(scope.value(key.body), key.body.type)
    columns = [(f"@{index}", column) for index, column in enumerate(found)]
    element = collection.element
    names = ", ".join(f'"{part}"' for part in element.names) if isinstance(element, Struct) else ""
    record = Column(f"pl.struct({names})" if names else 'pl.col("value")')
    hidden = [f'pl.col("@time").alias("@{side}_time")'] if collection.timed else []
    hidden += ['"@watermark"'] if collection.timed and watermark else []
    lines = [
        *guard(either(*(column.fails for _, column in columns))),
        f"return frame.select({', '.join([*selection([*columns, (side, record)]), *hidden])})",
    ]
    return frame_function(name, lines)


def _scalars(key: Column, type_: Type) -> list[Column]:
    """What two keys of the type are compared by, such as the begin and the end of a window."""
    plain = strip(type_)
    if not isinstance(plain, Struct | List):
        return [key]
    nested = Nullable | Null | Struct | List
    if isinstance(plain, List) or not plain.fields or any(isinstance(each.type, nested) for each in plain.fields):
        raise Unsupported("Polars joins by scalars only as the language does")
    return [Column(f'{key.at(ATOM)}.struct.field("{each.name}")', fails=key.fails) for each in plain.fields]


def _joined(at: Place, op: Join) -> str:
    left, right = at.input(0), at.input(1)
    timed = (("left", left.timed), ("right", right.timed and not op.kind.left_alone))
    times = ", ".join(f'"@{side}_time"' for side, known in timed if known)
    hidden = f", *columns.later({times})" if at.task.collection.timed else ""
    if hidden and is_lookup(left, right):
        hidden = f', pl.max_horizontal({times}).alias("@time"), "@watermark"'
    made = _made(op, left)
    return frame_function(f"{at.name}_joined", [f"return frame.select({made}{hidden})"], "pl.DataFrame")


def _made(op: Join, left: Collection) -> str:
    """The columns of the result, of the columns `left` and `right`."""
    if op.kind.left_alone:
        element = left.element
        names = element.names if isinstance(element, Struct) else ()
        parts = [f'pl.col("left").struct.field("{each}")' for each in names]
        return ", ".join(parts) or 'pl.col("left").alias("value")'
    if not op.by_key:
        return '"left", "right"'
    parts = [f'pl.col("{side}").struct.field("value").alias("{side}")' for side in ("left", "right")]
    keys = [f'pl.col("{side}").struct.field("key")' for side in ("left", "right")]
    key = f"pl.coalesce({', '.join(keys)})" if op.kind.keeps_right else keys[0]
    pair = f'{key}, pl.struct({", ".join(parts)}).alias("value")'
    if not left.windowed:
        return pair
    windows = [f'pl.col("{side}").struct.field("window")' for side in ("left", "right")]
    both = ", ".join(windows)
    return f"{pair}, pl.coalesce({both})" if op.kind.keeps_right else f"{pair}, {windows[0]}"


def _belong(op: Join, name: str) -> list[str]:
    if op.residual is None:
        return []
    scope = ColumnScope()
    for variable, side in zip(op.residual.parameters, ("left", "right"), strict=True):
        scope.bind_column(variable, side)
    test = scope.value(op.residual.body)
    return [frame_function(f"{name}_belong", [*guard(test.fails), f"return frame.filter({test.text})"])]


# --- rows ------------------------------------------------------------------------------------------------------------


def _keys(at: Place, collection: Collection, side: str, keys: tuple[Lambda, ...]) -> str:
    """`<name>_left` or `<name>_right`, which gives the keys of rows."""

    def make(scope: RowScope, columns: dict[str, Code], record: str) -> Made:
        lines: list[str] = []
        parts: list[str] = []
        nulls: list[str] = []
        fails = any(can_fail(each.body) for each in keys)
        for each in keys:
            bind_record(scope, each, columns)
            code = scope.value(each.body)
            if not code.simple or code.written:
                local = scope.names.new("key")
                lines.append(f"{local} = {code.inner}")
                code = Code(local, simple=True)
            if is_nullable(each.body.type):
                nulls.append(f"{code.text} is None")
            order = order_text(strip(each.body.type))
            parts.append(
                code.text if order == "order.plain" else f"{at.module.order(strip(each.body.type))}({code.text})"
            )
        whole = tuple_text(parts)
        return fails, lines, [f"emit(() if {' or '.join(nulls)} else {whole})" if nulls else f"emit({whole})"]

    return per_row(at, collection, side, "tuple[object, ...]", make)
