"""The functions of the language as Python: total over `ghcm.functions.FUNCTIONS`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.patterns import python_pattern
from ghcm.codegen.native.row_text import (
    AND,
    ATOM,
    BITOR,
    COMPARE,
    IF,
    NOT,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    Code,
    Module,
    quoted,
)
from ghcm.expr import Call, Expr, Literal
from ghcm.types import Bool, Date, Duration, Float, Int, Int32, List, String, Timestamp, Type, is_nullable, strip

__all__ = ["HANDLED", "ROW_FUNCTIONS", "Scope", "perhaps_null"]


class Scope(Protocol):
    """What a function may ask of the expression around it."""

    module: Module

    def value(self, expr: Expr) -> Code:
        """The code of an expression."""
        ...

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it."""
        ...


def perhaps_null(expr: Expr) -> bool:
    """Whether a value has to be looked at: its type allows null, and it is not written there."""
    return is_nullable(expr.type) and not (isinstance(expr, Literal) and expr.value is not None)


# --- functions that mind nulls themselves ----------------------------------------------------------------------------


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


def _is_null(scope: Scope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is None", COMPARE)


def _is_not_null(scope: Scope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is not None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is not None", COMPARE)


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


HANDLED: dict[str, Callable[[Scope, Call], Code]] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "coalesce": _coalesce,
    "known": lambda scope, expr: scope.value(expr.arguments[0]),
}


# --- functions of values that are there ------------------------------------------------------------------------------

Emit = Callable[[Scope, Call, list[Code]], Code]


def _helper(name: str, *arguments: Code) -> Code:
    return Code(f"checked.{name}({', '.join(argument.inner for argument in arguments)})")


def _infix(operator: str, level: int, left: Code, right: Code) -> Code:
    return Code(f"{left.at(level)} {operator} {right.at(level + 1)}", level)


def _kind(expr: Call) -> Type:
    return strip(expr.arguments[0].type)


def _arithmetic(operator: str, level: int, checked: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        return _infix(operator, level, *codes) if isinstance(_kind(expr), Float | String) else _helper(checked, *codes)

    return emit


def _divide(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _infix("/", PRODUCT, *codes) if constant(expr.arguments[1]) else _helper("divide", *codes)


def _floordiv(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    divisor = constant(expr.arguments[1])
    if divisor and (divisor != -1 or isinstance(_kind(expr), Float)):
        return _infix("//", PRODUCT, *codes)
    return _helper("floordiv_float" if isinstance(_kind(expr), Float) else "floordiv", *codes)


def _modulo(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _infix("%", PRODUCT, *codes) if constant(expr.arguments[1]) else _helper("modulo", *codes)


def _negate(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"-{codes[0].at(UNARY)}", UNARY) if isinstance(_kind(expr), Float) else _helper("negate", *codes)


def _absolute(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"abs({codes[0].inner})") if isinstance(_kind(expr), Float) else _helper("absolute", *codes)


def _comparison(operator: str, floating: Callable[[Code, Code], Code]) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _kind(expr)
        left, right = codes
        if isinstance(kind, Float) and not _is_number(expr, operator):
            return floating(left, right)
        if not plainly_ordered(kind) and not isinstance(kind, Float):
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


def _not(code: Code) -> Code:
    return Code(f"not {code.at(NOT)}", NOT)


def _extreme(plain: str, floating: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _kind(expr)
        if isinstance(kind, Float):
            return _helper(floating, *codes)
        key = "" if plainly_ordered(kind) else f", key={scope.module.order(kind)}"
        return Code(f"{plain}({codes[0].inner}, {codes[1].inner}{key})")

    return emit


def _to_int(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case Float():
            return _helper("float_to_int", *codes)
        case String():
            return _helper("string_to_int", *codes)
        case Bool():
            return Code(f"int({codes[0].inner})")
        case _:
            return codes[0]


def _to_float(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case String():
            return _helper("string_to_float", *codes)
        case Int() | Int32():
            return Code(f"float({codes[0].inner})")
        case _:
            return codes[0]


def _to_string(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case Bool():
            return Code(f'"true" if {codes[0].at(OR)} else "false"', IF)
        case Timestamp():
            return _helper("timestamp_to_string", *codes)
        case Date():
            return _helper("date_to_string", *codes)
        case Duration():
            return _helper("duration_to_string", *codes)
        case String():
            return codes[0]
        case _:
            return Code(f"str({codes[0].inner})")


def _method(name: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        subject, *others = codes
        return Code(f"{subject.at(ATOM)}.{name}({', '.join(each.inner for each in others)})")

    return emit


def _call_of(name: str) -> Emit:
    return lambda scope, expr, codes: _helper(name, *codes)


def _contains(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = _kind(expr), codes
    if isinstance(kind, List) and isinstance(kind.item, Float):
        return _helper("list_contains", where, what)
    if isinstance(kind, List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        return Code(f"{order}({what.inner}) in map({order}, {where.inner})", COMPARE)
    return Code(f"{what.at(BITOR)} in {where.at(BITOR)}", COMPARE)


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _method("replace")(scope, expr, codes) if constant(expr.arguments[1]) else _helper("replace", *codes)


def _split(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return _method("split")(scope, expr, codes) if constant(expr.arguments[1]) else _helper("split", *codes)


def _pattern(scope: Scope, expr: Call, codes: list[Code], method: str) -> str:
    text = constant(expr.arguments[1])
    if isinstance(text, str):
        name = scope.module.constant("_pattern", f"re.compile({_raw(python_pattern(text))}, re.ASCII)")
        return f"{name}.{method}({codes[0].inner})"
    return f"checked.pattern({codes[1].inner}).{method}({codes[0].inner})"


def _raw(pattern: str) -> str:
    """The pattern as a raw string where it can be one."""
    plain = '"' not in pattern and not pattern.endswith("\\") and pattern.isprintable()
    return f'r"{pattern}"' if plain else quoted(pattern)


def _matches(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"{_pattern(scope, expr, codes, 'search')} is not None", COMPARE)


def _extract_all(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(_pattern(scope, expr, codes, "findall"))


def _same(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return codes[0]


ROW_FUNCTIONS: dict[str, Emit] = {
    "add": _arithmetic("+", SUM, "add"),
    "sub": _arithmetic("-", SUM, "subtract"),
    "mul": _arithmetic("*", PRODUCT, "multiply"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "eq": _comparison("==", lambda left, right: _helper("equal", left, right)),
    "ne": _comparison("!=", lambda left, right: _not(_helper("equal", left, right))),
    "lt": _comparison("<", lambda left, right: _helper("less", left, right)),
    "le": _comparison("<=", lambda left, right: _helper("less_or_equal", left, right)),
    "gt": _comparison(">", lambda left, right: _helper("less", right, left)),
    "ge": _comparison(">=", lambda left, right: _helper("less_or_equal", right, left)),
    "least": _extreme("min", "least"),
    "greatest": _extreme("max", "greatest"),
    "not": lambda scope, expr, codes: _not(codes[0]),
    "widen": _same,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "length": lambda scope, expr, codes: Code(f"len({codes[0].inner})"),
    "lower": _method("lower"),
    "upper": _method("upper"),
    "trim": lambda scope, expr, codes: Code(f'{codes[0].at(ATOM)}.strip(" \\t\\n\\r\\v\\f")'),
    "starts_with": _method("startswith"),
    "ends_with": _method("endswith"),
    "contains": _contains,
    "replace": _replace,
    "substring": _call_of("substring"),
    "split": _split,
    "matches": _matches,
    "extract_all": _extract_all,
    "get": _call_of("item"),
    "truncate": _call_of("truncate"),
    "to_micros": _same,
    "from_micros": _same,
}
"""The functions that propagate nulls, by name; those that do not are handled above."""
