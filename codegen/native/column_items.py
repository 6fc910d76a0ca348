"""Lambdas over lists, `let` and `try` as Polars: the items of all lists are one frame, then lists again by length.

What a lambda mentions of the record around it is given to each item. Columns of such a frame are called `variable` or
`variable.field`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from ghcm.codegen.expressions import can_fail
from ghcm.codegen.native.column_text import ATOM, Column, Unsupported, either
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call, Each, Expr, ForEach, Get, Let, Try, mentions, walk
from ghcm.functions import FAMILIES
from ghcm.types import is_nullable

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


class Scope(Protocol):
    """What is asked of the expression around it."""

    @property
    def fields(self) -> Fields:
        """What names stand for here."""
        ...

    def value(self, expr: Expr) -> Column:
        """The column of an expression."""
        ...

    def within(self, fields: Fields) -> Scope:
        """The scope in which names stand for something else."""
        ...


def for_each(scope: Scope, expr: ForEach) -> Column:
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


def _inside(scope: Scope, item: str, body: Expr) -> tuple[Column, list[str]]:
    """The column of a body in a frame of its own, where a name is bound, and the columns that are given to it."""
    seen, given = _seen(scope, item, body)
    seen.columns[item, None] = Column(f'pl.col("{item}")')
    return scope.within(seen).value(body), given


def _seen(scope: Scope, item: str, body: Expr) -> tuple[Fields, list[str]]:
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


def _mentioned(scope: Scope, item: str, body: Expr) -> Iterator[tuple[str, str | None]]:
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


def let(scope: Scope, expr: Let) -> Column:
    """The body with the value in the places of its name; of several places it is computed for all of them at once, as
    Polars would compute it for each.
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


def _let_once(scope: Scope, expr: Let, value: Column) -> Column:
    body, given = _inside(scope, expr.variable.name, expr.body)
    head = f'{value.text}, [{", ".join(given)}], "{expr.variable.name}"'
    fails = None if body.fails is None else Column(f"per_item.bound({head}, {body.fails.text}, pl.Boolean)")
    text = f"per_item.bound({head}, {body.text}, {dtype_text(expr.type)})"
    return Column(text, fails=either(value.fails, fails))


def attempt(scope: Scope, body: Expr) -> Column:
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


def _is_exact(scope: Scope, call: Call) -> bool:
    return call.function in _EXACT if can_fail(call) else scope.value(call).fails is None
