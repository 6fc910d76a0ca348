"""Expressions as Polars, each with a mask of the records that fail.

What has no columnar form that gives exactly the language's values is refused with the reason (`Unsupported`); its
chain runs by rows. Masks follow the laziness of `if`, `and`, `or` and `coalesce`: a branch that is not taken cannot
fail. The items of the lists that a lambda goes over are one frame, then lists again by length; what the lambda mentions
of the record around it is given to each item, in columns called `variable` or `variable.field`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.expressions import can_fail
from ghcm.codegen.native.columns.functions import COLUMN_FUNCTIONS, refusal
from ghcm.codegen.native.columns.text import Column, Unsupported, dtype_text, either, literal, typed, where
from ghcm.codegen.native.rows.text import function_text
from ghcm.codegen.native.texts import ATOM, BITAND
from ghcm.expr import (
    Call,
    Each,
    Expr,
    ForEach,
    Get,
    If,
    Let,
    Literal,
    MakeList,
    MakeStruct,
    Param,
    Try,
    Var,
    mentions,
    walk,
)
from ghcm.functions import FAMILIES
from ghcm.types import List, Map, Null, Struct, Type, is_nullable, strip

_LONGEST = 4_000
"""Characters of the value of a `let` inside an expression, which is repeated where its name is mentioned."""

_EXACT = frozenset(
    (
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "div",
        "floordiv",
        "mod",
        "to_int",
        "to_decimal",
        "to_float",
        "get",
        "list_sum",
        "map_at",
    )
).union(
    ("int_to_ip", "ip_to_int", "ip_canonical", "is_private", "is_multicast"), (each.name for each in FAMILIES["time"])
)
"""The functions whose mask is true for failing records only; others may also send a record to the row form."""


@dataclass
class Fields:
    """What names stand for: the column of a variable's field; of `None` the value itself."""

    columns: dict[tuple[str, str | None], Column] = field(default_factory=dict[tuple[str, str | None], Column])

    def without(self, name: str) -> dict[tuple[str, str | None], Column]:
        """All but those of one variable."""
        return {key: column for key, column in self.columns.items() if key[0] != name}

    def whole(self, name: str) -> Column:
        """The value of a variable, made of its fields where it exists only in parts."""
        parts = [column for key, column in self.columns.items() if key[0] == name and key[1] is not None]
        return Column(f"pl.struct({', '.join(part.text for part in parts)})") if parts else self.columns[name, None]


def guard(mask: Column | None) -> list[str]:
    """The lines that give the batch up if any record fails."""
    return [] if mask is None else [f"if columns.any_fails(frame, {mask.text}):", "    return None"]


def frame_function(name: str, lines: Iterable[str], gives: str = "pl.DataFrame | None") -> str:
    """A function of a frame with these lines."""
    return function_text(f"{name}(frame: pl.DataFrame, parameters: Parameters) -> {gives}", lines)


def columnar(make: Callable[[], list[str]]) -> tuple[list[str], list[str]]:
    """The functions of a columnar form, and why there is none where there is none."""
    try:
        return make(), []
    except Unsupported as reason:
        return [], [f"by rows only: {reason}"]


@dataclass
class ColumnScope:
    """What the variables of a lambda are: columns of the frame, by name of the variable and field; `None` is the
    value itself.
    """

    fields: Fields = field(default_factory=Fields)
    parameters: set[str] = field(default_factory=set[str])
    kept: list[str] = field(default_factory=list[str])
    """Columns of the frame that hold values of `let`."""

    def bind(self, variable: Var, element_value: str = "value") -> None:
        """Let a variable stand for the record of the frame, or for its one column."""
        if isinstance(variable.type, Struct):
            for part in variable.type.fields:
                self.fields.columns[variable.name, part.name] = Column(f'pl.col("{part.name}")')
        self.fields.columns[variable.name, None] = Column(f'pl.col("{element_value}")')

    def bind_column(self, variable: Var, name: str) -> None:
        """Let a variable stand for one column, whatever its type."""
        self.fields = Fields(self.fields.without(variable.name))
        self.fields.columns[variable.name, None] = Column(f'pl.col("{name}")')

    def value(self, expr: Expr) -> Column:
        """The column of an expression; `Unsupported` where there is none."""
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.fields.whole(name)
            case Param(name=name, type=type_):
                return self._parameter(name, type_)
            case Get():
                return self._get(expr)
            case Call():
                if reason := refusal(expr):
                    raise Unsupported(reason)
                return COLUMN_FUNCTIONS[expr.function](self, expr)
            case If():
                return self._if(expr)
            case MakeStruct(values=values, type=Struct() as type_):
                return self._struct(values, type_)
            case MakeList(items=items, type=List() as type_):
                return self._list(items, type_)
            case MakeStruct() | MakeList():
                raise Unsupported(f"a value of {expr.type} made in place")
            case ForEach():
                return for_each(self, expr)
            case Let():
                return let(self, expr)
            case Try(body=body):
                return attempt(self, body)
            case _:
                assert_never(expr)

    def within(self, fields: Fields) -> ColumnScope:
        """The scope in which names stand for something else."""
        return ColumnScope(fields, self.parameters)

    def opened(self, expr: Expr, lines: list[str]) -> Expr:
        """The body inside all `Let` that stand around it, whose values become columns by lines added here."""
        while isinstance(expr, Let):
            value = self.value(expr.value)
            column = f"={len(self.kept)} {expr.variable.name}"
            lines += guard(value.fails)
            lines.append(f'frame = frame.with_columns({value.at(ATOM)}.alias("{column}"))')
            self.kept.append(column)
            self.bind_column(expr.variable, column)
            expr = expr.body
        return expr

    def _parameter(self, name: str, type_: Type) -> Column:
        self.parameters.add(name)
        return typed(f'parameters["{name}"]', type_)

    def _get(self, expr: Get) -> Column:
        if isinstance(expr.of, Var) and (found := self.fields.columns.get((expr.of.name, expr.field))):
            return found
        of = self.value(expr.of)
        return Column(f'{of.at(ATOM)}.struct.field("{expr.field}")', fails=of.fails)

    def _if(self, expr: If) -> Column:
        condition, then, otherwise = self.value(expr.condition), self.value(expr.then), self.value(expr.otherwise)
        text = f"pl.when({condition.text}).then({then.text}).otherwise({otherwise.text})"
        test = condition.at(BITAND)
        if is_nullable(expr.condition.type):
            test = f"{condition.at(ATOM)}.fill_null(False)"
        inverse = f"~{test}" if test.startswith("(") or not test.startswith("~") else test[1:]
        fails = either(condition.fails, where(test, then.fails), where(inverse, otherwise.fails))
        return Column(text, fails=fails)

    def _struct(self, values: tuple[Expr, ...], type_: Struct) -> Column:
        if not values:
            raise Unsupported("a struct without fields")
        columns = [self.value(each) for each in values]
        parts = [f'{column.at(ATOM)}.alias("{part.name}")' for column, part in zip(columns, type_.fields, strict=True)]
        return Column(f"pl.struct({', '.join(parts)})", fails=either(*(column.fails for column in columns)))

    def _list(self, items: tuple[Expr, ...], type_: List) -> Column:
        whole = bool(items) and all(isinstance(each, MakeStruct) for each in items)
        if isinstance(strip(type_.item), List | Map | Struct | Null) and not (isinstance(type_.item, Struct) and whole):
            raise Unsupported(f"a {type_} made in place: Polars joins lists where they would be nested")
        if not items:
            return Column(f"pl.lit([], dtype={dtype_text(type_)})")
        columns = [self.value(each) for each in items]
        text = f"pl.concat_list({', '.join(column.text for column in columns)})"
        return Column(text, fails=either(*(column.fails for column in columns)))


# --- lambdas over lists, let and try ----------------------------------------------------------------------------------


def for_each(scope: ColumnScope, expr: ForEach) -> Column:
    """The column of the lists, conditions or values."""
    items = scope.value(expr.list)
    if "pl.col(" not in items.text:
        raise Unsupported("a list that is the same for every record")
    body, given = _inside(scope, expr.item.name, expr.body)
    around = f"[{', '.join(given)}]"
    head = f'{items.text}, {around}, "{expr.item.name}"'
    fails = None
    if body.fails is not None:
        fails = Column(f"per_item.values({head}, {body.fails.text}, pl.Boolean).list.any()")
    return Column(_text(expr, head, body), fails=either(items.fails, fails))


def _text(expr: ForEach, head: str, body: Column) -> str:
    values = f"per_item.values({head}, {body.text}, {dtype_text(expr.body.type)})"
    match expr.kind:
        case Each.MAP:
            return values
        case Each.FILTER:
            return f"per_item.chosen({head}, {body.text}, {dtype_text(expr.item.type)})"
        case Each.ANY | Each.ALL if is_nullable(expr.body.type):
            return f"per_item.{expr.kind.value}_of({values})"
        case Each.ANY | Each.ALL:
            return f"{values}.list.{expr.kind.value}()"
        case _:
            assert_never(expr.kind)


def _inside(scope: ColumnScope, item: str, body: Expr) -> tuple[Column, list[str]]:
    """The column of a body in a frame of its own, where a name is bound, and the columns that are given to it."""
    seen, given = _seen(scope, item, body)
    seen.columns[item, None] = Column(f'pl.col("{item}")')
    return scope.within(seen).value(body), given


def _seen(scope: ColumnScope, item: str, body: Expr) -> tuple[Fields, list[str]]:
    """What the names around a body stand for inside of it, and the columns that are given to it."""
    seen, given = Fields(), dict[str, str]()
    for name, part in _mentioned(scope, item, body):
        label = name if part is None else f"{name}.{part}"
        if label == item:
            raise Unsupported(f'"{label}" is bound twice')
        text = scope.fields.columns[name, part].at(ATOM)
        given[label] = text if text == f'pl.col("{label}")' else f'{text}.alias("{label}")'
        seen.columns[name, part] = Column(f'pl.col("{label}")')
    return seen, list(given.values())


def _mentioned(scope: ColumnScope, item: str, body: Expr) -> Iterator[tuple[str, str | None]]:
    """The names and fields around a body that it mentions."""
    known = scope.fields.columns
    for name in dict.fromkeys(key[0] for key in known if key[0] != item):
        found = list(mentions(body, name))
        parts = [part.field if isinstance(part, Get) else None for part in found]
        if not found:
            continue
        if all(part is not None and (name, part) in known for part in parts):
            yield from ((name, part) for part in dict.fromkeys(parts))
        else:
            fields = [key for key in known if key[0] == name and key[1] is not None]
            yield from fields or [(name, None)]


def let(scope: ColumnScope, expr: Let) -> Column:
    """The body with the value wherever its name stands; where that is several times, it is computed once for all
    of them, as Polars would compute it for each.
    """
    value = scope.value(expr.value)
    computed = "pl.col(" in value.text and "(" in value.text.removeprefix("pl.col(")
    if computed and len(list(mentions(expr.body, expr.variable.name))) > 1:
        return _let_once(scope, expr, value)
    if len(value.text) > _LONGEST:
        raise Unsupported(f'the value of "{expr.variable.name}" is too long to be repeated')
    fields = Fields(scope.fields.without(expr.variable.name))
    fields.columns[expr.variable.name, None] = Column(value.text, value.level, None, value.bare)
    body = scope.within(fields).value(expr.body)
    return Column(body.text, body.level, either(value.fails, body.fails), body.bare)


def _let_once(scope: ColumnScope, expr: Let, value: Column) -> Column:
    body, given = _inside(scope, expr.variable.name, expr.body)
    head = f'{value.text}, [{", ".join(given)}], "{expr.variable.name}"'
    fails = None if body.fails is None else Column(f"per_item.bound({head}, {body.fails.text}, pl.Boolean)")
    text = f"per_item.bound({head}, {body.text}, {dtype_text(expr.type)})"
    return Column(text, fails=either(value.fails, fails))


def attempt(scope: ColumnScope, body: Expr) -> Column:
    """The value, null where its mask is true."""
    value = scope.value(body)
    if value.fails is None:
        return value
    for part in walk(body):
        if isinstance(part, ForEach | Let | Try):
            raise Unsupported("try of more than calls")
        if isinstance(part, Call) and not _is_exact(scope, part):
            raise Unsupported(f"try of {part.function}: the columnar form knows its failing records only roughly")
    return Column(f"pl.when({value.fails.text}).then(None).otherwise({value.text})")


def _is_exact(scope: ColumnScope, call: Call) -> bool:
    return call.function in _EXACT if can_fail(call) else scope.value(call).fails is None
