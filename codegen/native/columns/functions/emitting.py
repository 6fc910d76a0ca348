"""What the emitters of columnar code share: the texts of the table, and pieces of Polars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ghcm.codegen.expressions import call_can_fail, constant
from ghcm.codegen.native.columns.text import COMPARE, OR, PRECEDENCES, Column, bare_text, dtype_text, either
from ghcm.codegen.native.patterns import polars_pattern
from ghcm.codegen.native.texts import ALL, Slot, Snippet, digits, snippet
from ghcm.expr import Call, Expr
from ghcm.functions import FUNCTIONS, chosen
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


def written(scope: Scope, expr: Call) -> Column:
    """A call as the table of functions writes it in Polars, with a mask of the records that fail."""
    function, kind, count = FUNCTIONS[expr.function], kind_of(expr), len(expr.arguments)
    safe = not call_can_fail(expr)
    text = chosen(function.polars, kind, count, safe=safe)
    assert isinstance(text, str), f"no text of {expr.function} of {kind}"
    fails = chosen(function.polars_fails, kind, count, safe=safe) or ""
    assert isinstance(fails, str), f"no text of {expr.function} of {kind}"
    texts = [snippet(each, PRECEDENCES) for each in (text, fails) if each]
    mentioned = frozenset[int]().union(*(each.arguments() for each in texts))
    everything = any(isinstance(part, Slot) and part.index == ALL for each in texts for part in each.parts)
    wanted = range(count) if everything else sorted(index for index in mentioned if index < count)
    found = {index: scope.value(expr.arguments[index]) for index in wanted}
    inherited = either(*(column.fails for column in found.values()))
    value, *masks = (_filled(each, expr, found) for each in texts)
    if text == "{0}":
        value = found[0]
    return Column(value.text, value.level, either(inherited, *masks), value.bare)


def _filled(text: Snippet, expr: Call, found: Mapping[int, Column]) -> Column:
    def write(slot: Slot) -> str:
        if slot.index == ALL:
            return ", ".join(column.text for column in found.values())
        if slot.way == "zone":
            return zone(expr, slot.index)
        match slot.of:
            case "type":
                return dtype_text(expr.type)
            case "pattern":
                return _pattern(expr, whole=slot.way == "whole")
            case "":
                column = found.get(slot.index)
                if column is None:
                    return slot.default or ""
                return column.bare if slot.way == "bare" and column.bare is not None else column.at(slot.level)
            case _:
                return digits(expr, slot)

    return Column(text.filled(write), text.level)


def zone(expr: Call, index: int) -> str:
    """A constant time zone as a further argument, unless it is UTC."""
    name = constant(expr.arguments[index]) if index < len(expr.arguments) else "UTC"
    return "" if name == "UTC" else f", {bare_text(str(name))}"


def _pattern(expr: Call, *, whole: bool) -> str:
    """The constant pattern of the second argument, as a raw string where it can be one."""
    text = constant(expr.arguments[1])
    assert isinstance(text, str), "the lowering takes constant patterns only"
    pattern = polars_pattern(f"^(?:{text})$" if whole else text)
    plain = '"' not in pattern and pattern.isprintable() and not pattern.endswith("\\")
    return f'r"{pattern}"' if plain else repr(pattern)


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
        case _:  # numbers, which Polars holds as what they are
            return column


def helper(name: str, *arguments: Column) -> Column:
    """A call of `<module>.<function>` in `ghcm.runtime.native.column_functions`."""
    return Column(f"column_{name}({', '.join(argument.text for argument in arguments)})")


def with_masks(column: Column, *masks: Column | None) -> Column:
    """The column with these masks instead of its own."""
    return Column(column.text, column.level, either(*masks), column.bare)


def is_zero(column: Column) -> Column:
    """Where it is zero."""
    return Column(f"{column.at(OR)} == 0", COMPARE)
