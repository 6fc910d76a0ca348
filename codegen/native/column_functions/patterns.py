"""Regular expressions as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import Emit, Refusal, Scope
from ghcm.codegen.native.column_text import ATOM, Column
from ghcm.codegen.native.patterns import may_be_empty, polars_pattern
from ghcm.expr import Call

__all__ = ["EMITTERS", "REFUSALS"]


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


EMITTERS: dict[str, Emit] = {
    "matches": _matches,
    "extract_all": _extract_all,
}


def _refuse_parameter(call: Call) -> str:
    return "" if isinstance(constant(call.arguments[1]), str) else f"{call.function}: the pattern is a parameter"


def _refuse_empty(call: Call) -> str:
    pattern = constant(call.arguments[1])
    if isinstance(pattern, str) and may_be_empty(pattern):
        return f"{call.function}: the pattern matches the empty text, and Rust leaves out some empty matches"
    return _refuse_parameter(call)


REFUSALS: dict[str, Refusal] = {"matches": _refuse_parameter, "extract_all": _refuse_empty}
