"""Three-valued logic and nulls as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Handled, Scope, negated, perhaps_null
from ghcm.codegen.native.row_text import AND, COMPARE, IF, OR, Code
from ghcm.expr import Call, Literal
from ghcm.types import is_nullable


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


HANDLED: dict[str, Handled] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "coalesce": _coalesce,
    "known": lambda scope, expr: scope.value(expr.arguments[0]),
}
"""What minds nulls itself."""

EMITTERS: dict[str, Emit] = {
    "not": lambda scope, expr, codes: negated(codes[0]),
}
