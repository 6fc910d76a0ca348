"""The columnar form of a chain: one Polars statement per step, with a guard before each that can fail.

A guard finds failing records; the function then gives None and the engine does the batch by rows, which takes them
out one by one.
"""

from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.native.chains import Chain, Step, columns_of
from ghcm.codegen.native.columns.expressions import ColumnScope, frame_function, guard
from ghcm.codegen.native.columns.text import Column, Unsupported, varies
from ghcm.codegen.native.snippets import ATOM, quoted
from ghcm.expr import Expr, Lambda, MakeList, MakeStruct, Var
from ghcm.spg import ops
from ghcm.types import Struct


@dataclass
class _Writer:
    chain: Chain
    lines: list[str] = field(default_factory=list[str])

    def hidden(self, listed: list[str]) -> str:
        """The columns that are listed, and hidden ones."""
        return ", ".join([*listed, "*columns.TIMES"] if self.chain.timed else listed)

    def select(self, columns: list[tuple[str, Column]], *, varying: bool) -> None:
        """The frame of these columns, of which one differs from record to record or none does."""
        listed = selection(columns)
        made = f"frame.select({self.hidden(listed)})" if varying else f"columns.fill(frame, {', '.join(listed)})"
        self.lines.append(f"frame = {made}")


def column_chain(chain: Chain, name: str) -> str:
    """The text of the function `<name>_columns`; `Unsupported` says why there is none."""
    writer = _Writer(chain)
    for step in chain.steps:
        writer.lines.append(f"# {step.origin}  {step.name}")
        try:
            _step(writer, step)
        except Unsupported as reason:
            raise Unsupported(f"{step.origin}  {step.name}: {reason}") from None
    return frame_function(f"{name}_columns", [*writer.lines, "return frame"])


def selection(pairs: list[tuple[str, Column]]) -> list[str]:
    """Columns under their new names, as arguments of `select`."""
    return [
        f'"{name}"' if column.text == f'pl.col("{name}")' else f'{column.at(ATOM)}.alias("{name}")'
        for name, column in pairs
    ]


def _step(writer: _Writer, step: Step) -> None:
    match step.op:
        case ops.Filter(predicate=predicate):
            scope = _scope(predicate)
            test = scope.value(scope.opened(predicate.body, writer.lines))
            drop = f".drop({', '.join(map(quoted, scope.kept))})" if scope.kept else ""
            writer.lines += [*guard(test.fails), f"frame = frame.filter({test.text}){drop}"]
        case ops.Map(function=function) | ops.MapToPair(function=function):
            _map(writer, step, function)
        case ops.FlatMap(function=function):
            _flat_map(writer, step, function)
        case ops.MapValues(function=function):
            scope = ColumnScope()
            scope.bind_column(function.parameters[0], "value")
            others = [name for name in columns_of(step.given).names if name != "value"]
            body = scope.opened(function.body, writer.lines)
            _select(writer, step, {"value": (scope.value(body), body)}, others)
        case ops.KeyBy(function=function):
            _key_by(writer, step, function)
        case ops.PythonCall():
            raise Unsupported("a Python function by row has no columnar form")
        case ops.Window(assigner=assigner, allowed_lateness_us=lateness):
            match assigner:
                case ops.Tumbling():
                    _tumbling(writer, step, assigner, lateness)
                case ops.Sliding():
                    _sliding(writer, step, assigner, lateness)
                case _:
                    assert_never(assigner)
        case _:
            assert_never(step.op)


_LONGEST = 2**59
"""The longest reach of a window (microseconds) for which the columnar form has room in 64 bits."""


def _tumbling(writer: _Writer, step: Step, assigner: ops.Tumbling, lateness: int) -> None:
    """The record in its window."""
    size, offset = assigner.size_us, assigner.offset_us
    start = f'column_time.truncate(pl.col("@time"), pl.lit({size:_}, pl.Int64))'
    start = f'columns.last_start(pl.col("@time"), {size:_}, {offset:_})' if offset else start
    names = ", ".join(map(quoted, columns_of(step.taken).names))
    writer.lines += [
        f"start = {start}",
        f"if columns.any_fails(frame, columns.too_late(start, {size:_}, {lateness:_})):",
        "    return None",
        f"frame = frame.select({names}, columns.window(start, {size:_}), *columns.TIMES)",
    ]


def _sliding(writer: _Writer, step: Step, assigner: ops.Sliding, lateness: int) -> None:
    """The record in each of its windows that is open, or once in its pane."""
    size, every = assigner.size_us, assigner.every_us
    reach = size + every + lateness
    if reach > _LONGEST:
        raise Unsupported("windows of ten thousand years leave 64 bits")
    names = ", ".join(map(quoted, columns_of(step.taken).names))
    offset = f", {assigner.offset_us:_}" if assigner.offset_us else ""
    writer.lines += [
        f"first, last = columns.open_starts({size:_}, {every:_}, {lateness:_}{offset})",
        f"if columns.any_fails(frame, columns.none_open(first, last, {reach:_})):",
        "    return None",
    ]
    if writer.chain.panes is not None:
        width = writer.chain.panes.width_us
        pane = f"columns.pane(first, {size:_}, {width:_}{offset})"
        writer.lines.append(f"frame = frame.select({names}, {pane}, *columns.TIMES)")
        return
    window = f'columns.window(pl.col("@start"), {size:_})'
    writer.lines += [
        f'frame = frame.with_columns(pl.int_ranges(first, last + 1, {every:_}).alias("@start")).explode("@start")',
        f"frame = frame.select({names}, {window}, *columns.TIMES)",
    ]


def _scope(function: Lambda) -> ColumnScope:
    scope = ColumnScope()
    scope.bind(function.parameters[0])
    return scope


def _select(writer: _Writer, step: Step, made: dict[str, tuple[Column, Expr]], kept: list[str]) -> None:
    """The frame of the step's columns: those made here, and those kept as they are."""
    names = columns_of(step.given).names
    pairs = [(name, made[name][0] if name in made else Column(f'pl.col("{name}")')) for name in names]
    for column, _ in made.values():
        writer.lines += guard(column.fails)
    writer.select(pairs, varying=bool(kept) or any(varies(expr, column) for column, expr in made.values()))


def _map(writer: _Writer, step: Step, function: Lambda) -> None:
    scope, given = _scope(function), columns_of(step.given)
    body = scope.opened(function.body, writer.lines)
    if not isinstance(step.given, Struct):
        _select(writer, step, {"value": (scope.value(body), body)}, [])
    elif isinstance(body, MakeStruct):
        made = {name: (scope.value(each), each) for name, each in zip(given.names, body.values, strict=False)}
        _select(writer, step, made, [])
    elif isinstance(body, Var) and body.name == function.parameters[0].name and not scope.kept:
        old = body.type.names if isinstance(body.type, Struct) else ("value",)
        pairs = [(new, Column(f'pl.col("{name}")')) for new, name in zip(given.names, old, strict=False)]
        writer.select(pairs, varying=True)
    else:
        assert isinstance(body.type, Struct)
        whole, parts = scope.value(body), body.type.names
        texts = [f'{whole.at(ATOM)}.struct.field("{part}")' for part in parts]
        writer.lines += guard(whole.fails)
        writer.select(list(zip(given.names, map(Column, texts), strict=False)), varying=varies(body, whole))


def _flat_map(writer: _Writer, step: Step, function: Lambda) -> None:
    scope = _scope(function)
    body = scope.opened(function.body, writer.lines)
    items = scope.value(body)
    writer.lines += guard(items.fails)
    if each := _each_item(scope, body, step):
        frames = [f"    frame.select({writer.hidden(listed)})," for listed in each]
        writer.lines += ["frame = columns.in_turn(", *frames, ")"]
        return
    writer.select([("value", items)], varying=varies(body, items))
    writer.lines.append('frame = frame.explode("value", empty_as_null=False, keep_nulls=False)')
    if isinstance(step.given, Struct):
        writer.lines.append('frame = frame.unnest("value")')


def _each_item(scope: ColumnScope, body: Expr, step: Step) -> list[list[str]]:
    """The columns of each item of a list that is made in place of records; none for any other list. To build lists of
    structs only to take them apart again costs Polars twenty times as much.
    """
    if not isinstance(body, MakeList) or not isinstance(step.given, Struct):
        return []
    found: list[list[str]] = []
    for item in body.items:
        if not isinstance(item, MakeStruct):
            return []
        made = [(scope.value(each), each) for each in item.values]
        if not any(varies(each, column) for column, each in made):
            return []
        pairs = zip(step.given.names, (column for column, _ in made), strict=True)
        found.append(selection(list(pairs)))
    return found


def _key_by(writer: _Writer, step: Step, function: Lambda) -> None:
    scope = _scope(function)
    body = scope.opened(function.body, writer.lines)
    key, value = scope.value(body), columns_of(step.given).fields[1].type
    text = f"pl.struct({', '.join(map(quoted, value.names))})" if isinstance(value, Struct) else 'pl.col("value")'
    _select(writer, step, {"key": (key, body), "value": (Column(text), Var("", value))}, [])
