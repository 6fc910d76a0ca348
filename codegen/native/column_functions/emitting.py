"""What the emitters of columnar code share: what they may ask of the expression around them, and pieces of Polars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ghcm.codegen.native.column_text import ATOM, COMPARE, OR, Column, either
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call, Expr
from ghcm.types import Decimal, Duration, Timestamp, Type, strip


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    def value(self, expr: Expr) -> Column:
        """The column of an expression."""
        ...


Emit = Callable[[Scope, Call], Column]
"""The column of a call."""

Refusal = Callable[[Call], str]
"""Why a call has no columnar form; "" where it has one."""


def kind_of(expr: Call) -> Type:
    """The type of the first argument without its `?`."""
    return strip(expr.arguments[0].type)


def arguments_of(scope: Scope, expr: Call) -> list[Column]:
    """The columns of the arguments."""
    return [scope.value(each) for each in expr.arguments]


def masks_of(columns: list[Column]) -> Column | None:
    """Where any of the columns fails."""
    return either(*(column.fails for column in columns))


def infix(operator: str, level: int, left: Column, right: Column) -> Column:
    """`left operator right`, with a bare literal where the other side is an expression."""
    one = left.bare if left.bare is not None and right.bare is None else left.at(level)
    two = right.bare if right.bare is not None else right.at(level + 1)
    if left.bare is not None and right.bare is not None:
        one, two = left.text, right.text
    return Column(f"{one} {operator} {two}", level)


def counted(column: Column, kind: Type) -> Column:
    """Ints as they are, timestamps and durations as microseconds."""
    return Column(f"columns.micros({column.text})") if isinstance(kind, Timestamp | Duration) else column


def digits_of(type_: Type) -> tuple[int, int]:
    """Precision and scale of a decimal."""
    kind = strip(type_)
    assert isinstance(kind, Decimal)
    return kind.precision, kind.scale


def number(*values: object) -> list[Column]:
    """Constants of Python."""
    return [Column(str(value)) for value in values]


def as_kind(kind: Type, column: Column) -> Column:
    """Microseconds as what the result is."""
    match kind:
        case Timestamp():
            return Column(f"columns.timestamp({column.text})")
        case Duration():
            return Column(f"columns.duration({column.text})")
        case _:
            return column


def helper(name: str, *arguments: Column) -> Column:
    """A call of `<family>.<function>` in `ghcm.runtime.native.column_functions`."""
    return Column(f"column_{name}({', '.join(argument.text for argument in arguments)})")


def with_masks(column: Column, *masks: Column | None) -> Column:
    """The column with these masks instead of its own."""
    return Column(column.text, column.level, either(*masks), column.bare)


def call_of(name: str, fails: str = "") -> Emit:
    """A call of `<family>.<function>` whatever the types, with a mask made by another."""

    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        return with_masks(helper(name, *found), masks_of(found), helper(fails, *found) if fails else None)

    return emit


def is_zero(column: Column) -> Column:
    """Where it is zero."""
    return Column(f"{column.at(OR)} == 0", COMPARE)


def method(text: str) -> Emit:
    """A method of the first argument; `{1}`, `{2}` stand for the others."""

    def emit(scope: Scope, expr: Call) -> Column:
        first, *others = found = arguments_of(scope, expr)
        names = [column.bare if column.bare is not None else column.text for column in others]
        return Column(first.at(ATOM) + text.format("", *names), fails=masks_of(found))

    return emit


def same(scope: Scope, expr: Call) -> Column:
    """The first argument itself."""
    return scope.value(expr.arguments[0])


def cast_to(scope: Scope, expr: Call, type_: Type, *masks: Column) -> Column:
    """The first argument as another type; with masks a cast that fails gives null."""
    (found,) = arguments_of(scope, expr)
    strict = ", strict=False" if masks else ""
    return Column(f"{found.at(ATOM)}.cast({dtype_text(type_)}{strict})", fails=either(found.fails, *masks))


def refused_kinds(reasons: Mapping[type[Type], str]) -> Refusal:
    """Refuses calls by the kind of their first argument."""

    def refuse(call: Call) -> str:
        kind = kind_of(call)
        reason = reasons.get(type(kind))
        return f"{call.function} of {kind}: {reason}" if reason else ""

    return refuse
