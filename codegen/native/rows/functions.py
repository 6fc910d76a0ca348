"""The functions of the language as Python: total over `ghcm.functions.FUNCTIONS`.

Most are texts of that table; what no text can say stands here.
"""

import math
from collections.abc import Callable
from typing import Protocol

from ghcm import types
from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.rows.text import Code
from ghcm.codegen.native.sections import Module
from ghcm.codegen.native.snippets import (
    AND,
    ATOM,
    BITOR,
    COMPARE,
    IF,
    NOT,
    OR,
    PRODUCT,
    SUM,
    Slot,
    digits,
    kind_of,
    python_pattern,
    quoted,
    snippet,
    zone,
)
from ghcm.expr import Call, Expr, Literal
from ghcm.failing import call_can_fail, constant
from ghcm.functions import FAMILIES, FUNCTIONS, text_for
from ghcm.spg.notation.types import print_type
from ghcm.types import as_nullable, is_nullable, strip
from ghcm.unification import unify
from ghcm.values.texts import parse_path


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    module: Module

    def value(self, node: Expr) -> Code:
        """The code of an expression."""
        ...

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it."""
        ...


def perhaps_null(expr: Expr) -> bool:
    """Whether a value has to be looked at: its type allows null, and it is not written there."""
    return is_nullable(expr.type) and not (isinstance(expr, Literal) and expr.value is not None)


Emit = Callable[[Scope, Call, list[Code]], Code]
"""The code of a call whose arguments, none of them null, have this code."""


def written(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    """A call as the table of functions writes it in Python."""
    kind, count = kind_of(expr), len(expr.arguments)
    text = text_for(FUNCTIONS[expr.function].python, kind, count, safe=not call_can_fail(expr))
    assert isinstance(text, str), f"no text of {expr.function} of {kind}"
    if text == "{0}":
        return codes[0]
    found = snippet(text)

    def write(slot: Slot) -> str:
        if slot.way == "zone":
            return zone(expr, slot.index)
        if slot.of == "pattern":
            return scope.module.constant("_pattern", f"re.compile({python_pattern(expr)}, re.ASCII)")
        if slot.of:
            return digits(expr, slot)
        if slot.index >= count:
            return slot.default or ""
        return codes[slot.index].at(slot.level)

    return Code(found.filled(write), found.level)


def _helper(name: str, *arguments: Code) -> Code:
    """A call of `<module>.<function>` in `ghcm.runtime.native.row_functions`."""
    return Code(f"row_{name}({', '.join(argument.inner for argument in arguments)})")


# --- comparison ------------------------------------------------------------------------------------------------------


def _comparison(operator: str, floating: str, before: str = "") -> Emit:
    """`before`: what stands before the helper of floats."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _joint_kind(expr)
        left, right = codes
        if isinstance(kind, types.Float) and not _is_number(expr, operator):
            found = _helper(f"numbers.{floating}", left, right)
            return Code(f"{before}{found.text}", NOT) if before else found
        if not plainly_ordered(kind) and not isinstance(kind, types.Float):
            order = scope.module.order(kind)
            left, right = Code(f"{order}({left.inner})"), Code(f"{order}({right.inner})")
        return Code(f"{left.at(BITOR)} {operator} {right.at(BITOR)}", COMPARE)

    return emit


def _is_number(expr: Call, operator: str) -> bool:
    """Whether a comparison of floats has a constant on a side where NaN on the other gives Python's False and the
    language's False alike.
    """
    left, right = (constant(each) for each in expr.arguments)
    on_right = isinstance(right, float) and not math.isnan(right) and operator in ("==", "<", "<=", "!=")
    on_left = isinstance(left, float) and not math.isnan(left) and operator in ("==", ">", ">=", "!=")
    return on_right or on_left


def _extreme(plain: str, floating: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _joint_kind(expr)
        if isinstance(kind, types.Float):
            return _helper(floating, *codes)
        key = "" if plainly_ordered(kind) else f", key={scope.module.order(kind)}"
        return Code(f"{plain}({codes[0].inner}, {codes[1].inner}{key})")

    return emit


def _joint_kind(expr: Call) -> types.Type:
    """The type that holds what the first two arguments may be, without its `?`: items that may be null in one of two
    lists have to be ordered by what nulls are.
    """
    left, right = (strip(each.type) for each in expr.arguments[:2])
    joint = unify(left, right)
    assert joint is not None, f"{left} and {right} are compared"
    return joint


# --- three-valued logic ----------------------------------------------------------------------------------------------


def _and(scope: Scope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(AND)} and {scope.value(right).at(AND)}", AND)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"False if {first} is False or {second} is False else {one} and {two}", IF)


def _or(scope: Scope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(OR)} or {scope.value(right).at(OR)}", OR)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"True if {first} or {second} else None if {one} is None else {two}", IF)


def _null_test(*, null: bool) -> Callable[[Scope, Call], Code]:
    def emit(scope: Scope, expr: Call) -> Code:
        (argument,) = expr.arguments
        if isinstance(argument, Literal):
            return Code(repr((argument.value is None) is null))
        found, _ = scope.temporary(scope.value(argument), "found")
        return Code(f"{found} is {'' if null else 'not '}None", COMPARE)

    return emit


def _coalesce(scope: Scope, expr: Call) -> Code:
    *earlier, last = expr.arguments
    code = scope.value(last)
    for each in reversed(earlier):
        if not perhaps_null(each):
            code = scope.value(each)
            continue
        first, again = scope.temporary(scope.value(each))
        code = Code(f"{again} if {first} is not None else {code.at(IF)}", IF)
    return code


def _same(scope: Scope, expr: Call) -> Code:
    """Python's own comparison has None equal itself and nothing else."""
    left, right = (scope.value(each) for each in expr.arguments)
    kind = _joint_kind(expr)
    if isinstance(kind, types.Float):
        return _helper("numbers.same", left, right)
    if not plainly_ordered(kind):
        order = scope.module.order(as_nullable(kind))
        left, right = Code(f"{order}({left.inner})"), Code(f"{order}({right.inner})")
    return Code(f"{left.at(BITOR)} == {right.at(BITOR)}", COMPARE)


HANDLED: dict[str, Callable[[Scope, Call], Code]] = {
    "and": _and,
    "or": _or,
    "is_null": _null_test(null=True),
    "is_not_null": _null_test(null=False),
    "same": _same,
    "coalesce": _coalesce,
    "known": lambda scope, expr: scope.value(expr.arguments[0]),
}
"""The functions that mind nulls themselves, by name."""

# --- strings and lists -----------------------------------------------------------------------------------------------


def _contains(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = kind_of(expr), codes
    if isinstance(kind, types.List) and isinstance(kind.item, types.Float):
        return _helper("collections.list_contains", where, what)
    if isinstance(kind, types.List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        where, what = Code(f"map({order}, {where.inner})", simple=where.simple), Code(f"{order}({what.inner})")
    return _is_in(what, where)


def _is_in(what: Code, where: Code) -> Code:
    """Of two that fail the first argument is named; Python evaluates what it looks for first."""
    if where.simple or what.simple:
        return Code(f"{what.at(BITOR)} in {where.at(BITOR)}", COMPARE)
    return _helper("collections.contains", where, what)


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if not constant(expr.arguments[1]):
        return _helper("texts.replace", *codes)
    return Code(f"{codes[0].at(ATOM)}.replace({codes[1].inner}, {codes[2].inner})")


def _join(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    texts, between = codes
    plain = texts.simple or between.simple
    return Code(f"{between.at(ATOM)}.join({texts.inner})") if plain else _helper("texts.join", texts, between)


def _item(expr: Call) -> types.Type:
    kind = kind_of(expr)
    assert isinstance(kind, types.List)
    return kind.item


def _sum(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    names: dict[type[types.Type], str] = {types.Float: "float_sum", types.Decimal: "exact_sum"}
    return _helper(f"collections.{names.get(type(strip(_item(expr))), 'whole_sum')}", *codes)


def _ordered(name: str, *, nulls: bool) -> Emit:
    """A helper that takes the key by which items are ordered, where they need one."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        item = _item(expr) if nulls else strip(_item(expr))
        order = [] if plainly_ordered(item) else [Code(scope.module.order(item))]
        return _helper(name, codes[0], *_options(expr), *order)

    return emit


def _options(expr: Call) -> list[Code]:
    return [Code(repr(constant(each))) for each in expr.arguments[1:]]


def _sort_by(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    entry = _item(expr)
    assert isinstance(entry, types.Struct)
    return _helper("collections.sort_by", codes[0], *_options(expr), Code(scope.module.order(entry.fields[0].type)))


# --- time and JSON ---------------------------------------------------------------------------------------------------


def _truncate_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), types.Date):
        return _helper("time.date_start", *codes)
    return Code(f"row_time.start({codes[0].inner}, {codes[1].inner}{zone(expr, 2)})")


def _by_pattern(name: str) -> Emit:
    """What a function of the module does, which is made once of the constant pattern."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        of_date = ", of_date=True" if isinstance(kind_of(expr), types.Date) else ""
        made = f"row_time.{name}({quoted(str(constant(expr.arguments[1])))}{zone(expr, 2)}{of_date})"
        return Code(f"{scope.module.constant(f'_{name}', made)}({codes[0].inner})")

    return emit


def _read(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    path = constant(expr.arguments[1])
    steps = parse_path(path) if isinstance(path, str) else None
    assert steps is not None, "the lowering takes constant paths only"
    texts = [quoted(each) if isinstance(each, str) else str(each) for each in steps]
    return _helper(f"json.{expr.function}", codes[0], *map(Code, texts))


def _to_json(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    made = f"row_json.writer_of({quoted(print_type(kind_of(expr)))})"
    return Code(f"{scope.module.constant('_to_json', made)}({codes[0].inner})")


def _json_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    made = f"row_json.reader_of({quoted(str(constant(expr.arguments[2])))})"
    return Code(f"{scope.module.constant('_from_json', made)}({codes[0].inner})")


ROW_FUNCTIONS: dict[str, Emit] = {
    **{name: written for name, function in FUNCTIONS.items() if function.python is not None},
    "eq": _comparison("==", "equal"),
    "ne": _comparison("!=", "equal", "not "),
    "lt": _comparison("<", "less"),
    "le": _comparison("<=", "less_or_equal"),
    "gt": _comparison(">", "greater"),
    "ge": _comparison(">=", "greater_or_equal"),
    "least": _extreme("min", "numbers.least"),
    "greatest": _extreme("max", "numbers.greatest"),
    "contains": _contains,
    "has_key": lambda scope, expr, codes: _is_in(codes[1], codes[0]),
    "replace": _replace,
    "join": _join,
    "concat": lambda scope, expr, codes: Code(" + ".join(each.at(PRODUCT) for each in codes), SUM),
    "list_sum": _sum,
    "list_min": _ordered("collections.least", nulls=False),
    "list_max": _ordered("collections.greatest", nulls=False),
    "list_sort": _ordered("collections.sort", nulls=True),
    "list_sort_by": _sort_by,
    "list_distinct": _ordered("collections.distinct", nulls=True),
    "truncate_to": _truncate_to,
    "parse_time": _by_pattern("reader"),
    "format_time": _by_pattern("writer"),
    **{each.name: _read for each in FAMILIES["json"]},
    "to_json": _to_json,
    "json_to": _json_to,
}
"""The functions that propagate nulls, by name; those that do not are handled above."""
