"""The functions of the language as Polars: total over `ghcm.functions.FUNCTIONS`; `column_support` says for what they
are not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_text import (
    AND,
    ATOM,
    COMPARE,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    Column,
    bare_text,
    either,
    where,
)
from ghcm.codegen.native.column_types import dtype_text
from ghcm.codegen.native.patterns import polars_pattern
from ghcm.expr import Call, Expr
from ghcm.types import Date, Duration, Float, Int, List, String, Timestamp, Type, is_nullable, strip

__all__ = ["COLUMN_FUNCTIONS", "Scope"]


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    def value(self, expr: Expr) -> Column:
        """The column of an expression."""
        ...


Emit = Callable[[Scope, Call], Column]


def _kind(expr: Call) -> Type:
    return strip(expr.arguments[0].type)


def _arguments(scope: Scope, expr: Call) -> list[Column]:
    return [scope.value(each) for each in expr.arguments]


def _masks(columns: list[Column]) -> Column | None:
    return either(*(column.fails for column in columns))


def _infix(operator: str, level: int, left: Column, right: Column) -> Column:
    """`left operator right`, with a bare literal where the other side is an expression."""
    one = left.bare if left.bare is not None and right.bare is None else left.at(level)
    two = right.bare if right.bare is not None else right.at(level + 1)
    if left.bare is not None and right.bare is not None:
        one, two = left.text, right.text
    return Column(f"{one} {operator} {two}", level)


def _counted(column: Column, kind: Type) -> Column:
    """Ints as they are, timestamps and durations as microseconds."""
    return Column(f"columns.micros({column.text})") if isinstance(kind, Timestamp | Duration) else column


def _as(kind: Type, column: Column) -> Column:
    """Microseconds as what the result is."""
    match kind:
        case Timestamp():
            return Column(f"columns.timestamp({column.text})")
        case Duration():
            return Column(f"columns.duration({column.text})")
        case _:
            return column


def _mask(name: str, *arguments: Column) -> Column:
    return Column(f"columns.{name}({', '.join(argument.text for argument in arguments)})")


def _with(column: Column, *masks: Column | None) -> Column:
    return Column(column.text, column.level, either(*masks), column.bare)


def _arithmetic(operator: str, level: int, fails: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = _arguments(scope, expr)
        if isinstance(_kind(expr), Float | String):
            return _with(_infix(operator, level, *found), _masks(found))
        counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
        value = _as(strip(expr.type), _infix(operator, level, *counts))
        return _with(value, _masks(found), _mask(fails, *counts))

    return emit


def _is_zero(column: Column) -> Column:
    return Column(f"{column.at(OR)} == 0", COMPARE)


def _divide(scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    zero = None if constant(expr.arguments[1]) else _is_zero(found[1])
    return _with(_infix("/", PRODUCT, *found), _masks(found), zero)


def _floordiv(scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    safe = constant(expr.arguments[1]) not in (None, 0, -1)
    return _with(_infix("//", PRODUCT, *counts), _masks(found), None if safe else _mask("floordiv_fails", *counts))


def _modulo(scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    zero = None if constant(expr.arguments[1]) else _is_zero(found[1])
    return _with(_infix("%", PRODUCT, *found), _masks(found), zero)


def _negate(scope: Scope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    if isinstance(_kind(expr), Float):
        return _with(Column(f"-{found.at(UNARY)}", UNARY), found.fails)
    count = _counted(found, _kind(expr))
    value = _as(strip(expr.type), Column(f"-{count.at(UNARY)}", UNARY))
    return _with(value, found.fails, _mask("absolute_fails", count))


def _absolute(scope: Scope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    if isinstance(_kind(expr), Float):
        return _with(Column(f"{found.at(ATOM)}.abs()"), found.fails)
    count = _counted(found, _kind(expr))
    return _with(_as(strip(expr.type), Column(f"{count.at(ATOM)}.abs()")), found.fails, _mask("absolute_fails", count))


def _comparison(operator: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = _arguments(scope, expr)
        left, right = found
        if left.bare is not None and right.bare is None:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
            return _with(_infix(mirrored, COMPARE + 0, _tight(right), left), _masks(found))
        return _with(_infix(operator, COMPARE, _tight(left), _tight(right)), _masks(found))

    return emit


def _tight(column: Column) -> Column:
    return column if column.level > COMPARE else Column(f"({column.text})", ATOM, column.fails, column.bare)


def _extreme(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = _arguments(scope, expr)
        return _with(_mask(name, *found), _masks(found))

    return emit


def _and(scope: Scope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(AND) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(True)"
    return Column(f"{left.at(AND)} & {right.at(AND + 1)}", AND, either(left.fails, where(undecided, right.fails)))


def _or(scope: Scope, expr: Call) -> Column:
    left, right = _arguments(scope, expr)
    undecided = left.at(ATOM) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(False)"
    return Column(f"{left.at(OR)} | {right.at(OR + 1)}", OR, either(left.fails, where(f"~{undecided}", right.fails)))


def _method(text: str) -> Emit:
    """A method of the first argument; `{1}`, `{2}` stand for the others."""

    def emit(scope: Scope, expr: Call) -> Column:
        first, *others = found = _arguments(scope, expr)
        names = [column.bare if column.bare is not None else column.text for column in others]
        return Column(first.at(ATOM) + text.format("", *names), fails=_masks(found))

    return emit


def _not(scope: Scope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    return Column(f"~{found.at(UNARY)}", UNARY, found.fails)


def _coalesce(scope: Scope, expr: Call) -> Column:
    texts: list[str] = []
    missing, fails = "", None
    for each in expr.arguments:
        column = scope.value(each)
        texts.append(column.text)
        fails = either(fails, where(missing, column.fails) if missing else column.fails)
        missing = f"{missing} & {column.at(ATOM)}.is_null()" if missing else f"{column.at(ATOM)}.is_null()"
        if not is_nullable(each.type):
            break
    return Column(f"pl.coalesce({', '.join(texts)})", fails=fails)


def _same(scope: Scope, expr: Call) -> Column:
    return scope.value(expr.arguments[0])


def _cast(scope: Scope, expr: Call, type_: Type, *masks: Column) -> Column:
    (found,) = _arguments(scope, expr)
    strict = ", strict=False" if masks else ""
    return Column(f"{found.at(ATOM)}.cast({dtype_text(type_)}{strict})", fails=either(found.fails, *masks))


def _to_int(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match _kind(expr):
        case Float():
            return _cast(scope, expr, Int(), _mask("float_to_int_fails", found))
        case String():
            return _cast(scope, expr, Int(), _mask("string_to_int_fails", found))
        case Int():
            return found
        case _:
            return _cast(scope, expr, Int())


def _to_float(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match _kind(expr):
        case String():
            return _cast(scope, expr, Float(), _mask("string_to_float_fails", found))
        case Float():
            return found
        case _:
            return _cast(scope, expr, Float())


def _to_string(scope: Scope, expr: Call) -> Column:
    (found,) = _arguments(scope, expr)
    match _kind(expr):
        case Timestamp():
            return _with(_mask("timestamp_to_string", found), found.fails, _mask("timestamp_to_string_fails", found))
        case Date():
            return _with(_mask("date_to_string", found), found.fails, _mask("date_to_string_fails", found))
        case Duration():
            count = _counted(found, Duration())
            return _with(_mask("duration_to_string", count), found.fails, _mask("absolute_fails", count))
        case String():
            return found
        case _:
            return _cast(scope, expr, String())


def _length(scope: Scope, expr: Call) -> Column:
    return _method(
        ".list.len().cast(pl.Int64)" if isinstance(_kind(expr), List) else ".str.len_chars().cast(pl.Int64)"
    )(scope, expr)


def _case(method: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        (found,) = _arguments(scope, expr)
        return Column(f"{found.at(ATOM)}.str.{method}()", fails=either(found.fails, _mask("case_fails", found)))

    return emit


def _contains(scope: Scope, expr: Call) -> Column:
    kind = _kind(expr)
    if not isinstance(kind, List):
        first, second = found = _arguments(scope, expr)
        return Column(f"{first.at(ATOM)}.str.contains({second.text}, literal=True)", fails=_masks(found))
    first, second = found = _arguments(scope, expr)
    text = f"{first.at(ATOM)}.list.contains({second.text})"
    if is_nullable(expr.arguments[1].type):
        text = f"pl.when({second.at(ATOM)}.is_not_null()).then({text})"
    return Column(text, fails=_masks(found))


def _replace(scope: Scope, expr: Call) -> Column:
    old, new = (constant(each) for each in expr.arguments[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        several = _arguments(scope, expr)
        return _with(_mask("replace", *several), _masks(several))
    found = scope.value(expr.arguments[0])
    if not old:
        return found
    return Column(
        f"{found.at(ATOM)}.str.replace_all({bare_text(old)}, {bare_text(new)}, literal=True)", fails=found.fails
    )


def _substring(scope: Scope, expr: Call) -> Column:
    text, start, count = found = _arguments(scope, expr)
    limits = [isinstance(value := constant(each), int) and value >= 0 for each in expr.arguments[1:]]
    masks = [
        None if safe else Column(f"{column.at(OR)} < 0", COMPARE)
        for safe, column in zip(limits, (start, count), strict=True)
    ]
    return _with(_mask("substring", text, start, count), _masks(found), *masks)


def _split(scope: Scope, expr: Call) -> Column:
    text, separator = found = _arguments(scope, expr)
    empty = None if constant(expr.arguments[1]) else Column(f'{separator.at(OR)} == ""', COMPARE)
    return Column(f"{text.at(ATOM)}.str.split({separator.text})", fails=either(_masks(found), empty))


def _pattern(expr: Call) -> str:
    text = constant(expr.arguments[1])
    assert isinstance(text, str)
    pattern = polars_pattern(text)
    plain = '"' not in pattern and pattern.isprintable() and not pattern.endswith("\\")
    return f'r"{pattern}"' if plain else repr(pattern)


def _matches(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.contains({_pattern(expr)})", fails=found.fails)


def _extract_all(scope: Scope, expr: Call) -> Column:
    pattern = _pattern(expr)
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.extract_all({pattern})", fails=found.fails)


def _item(scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    return _with(_mask("item", *found), _masks(found), _mask("item_fails", *found))


def _truncate(scope: Scope, expr: Call) -> Column:
    found = _arguments(scope, expr)
    counts = [_counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    return _with(_as(Timestamp(), _mask("truncate", *counts)), _masks(found), _mask("truncate_fails", *counts))


def _to_micros(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return _with(_counted(found, _kind(expr)), found.fails)


def _from_micros(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return _with(_as(Timestamp(), found), found.fails)


COLUMN_FUNCTIONS: dict[str, Emit] = {
    "add": _arithmetic("+", SUM, "add_fails"),
    "sub": _arithmetic("-", SUM, "subtract_fails"),
    "mul": _arithmetic("*", PRODUCT, "multiply_fails"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _method(".is_null()"),
    "is_not_null": _method(".is_not_null()"),
    "coalesce": _coalesce,
    "known": _same,
    "widen": lambda scope, expr: _cast(scope, expr, Int()),
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "length": _length,
    "lower": _case("to_lowercase"),
    "upper": _case("to_uppercase"),
    "trim": _method('.str.strip_chars(" \\t\\n\\r\\x0b\\x0c")'),
    "starts_with": _method(".str.starts_with({1})"),
    "ends_with": _method(".str.ends_with({1})"),
    "contains": _contains,
    "replace": _replace,
    "substring": _substring,
    "split": _split,
    "matches": _matches,
    "extract_all": _extract_all,
    "get": _item,
    "truncate": _truncate,
    "to_micros": _to_micros,
    "from_micros": _from_micros,
}
"""The functions by name."""
