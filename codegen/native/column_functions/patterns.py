"""Regular expressions as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import Emit, Refusal, Scope, masks_of
from ghcm.codegen.native.column_text import ATOM, Column
from ghcm.codegen.native.patterns import may_be_empty, polars_pattern
from ghcm.expr import Call


def _pattern(expr: Call, *, whole: bool = False) -> str:
    text = constant(expr.arguments[1])
    assert isinstance(text, str)
    pattern = polars_pattern(f"^(?:{text})$" if whole else text)
    plain = '"' not in pattern and pattern.isprintable() and not pattern.endswith("\\")
    return f'r"{pattern}"' if plain else repr(pattern)


def _matches(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.contains({_pattern(expr)})", fails=found.fails)


def _extract_all(scope: Scope, expr: Call) -> Column:
    pattern = _pattern(expr)
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.extract_all({pattern})", fails=found.fails)


def _full_match(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.contains({_pattern(expr, whole=True)})", fails=found.fails)


def _extract(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    group = constant(expr.arguments[2]) if len(expr.arguments) > 2 else 0
    return Column(f"column_patterns.extract({found.text}, {_pattern(expr)}, {group})", fails=found.fails)


def _replace(scope: Scope, expr: Call) -> Column:
    found, new = scope.value(expr.arguments[0]), scope.value(expr.arguments[2])
    text = f"column_patterns.replace({found.text}, {_pattern(expr)}, {new.text})"
    return Column(text, fails=masks_of([found, new]))


def _count(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.str.count_matches({_pattern(expr)}).cast(pl.Int64)", fails=found.fails)


EMITTERS: dict[str, Emit] = {
    "matches": _matches,
    "full_match": _full_match,
    "extract": _extract,
    "replace_pattern": _replace,
    "count_matches": _count,
    "extract_all": _extract_all,
}


def _refuse_empty(call: Call) -> str:
    pattern = constant(call.arguments[1])
    empty = isinstance(pattern, str) and may_be_empty(pattern)
    return (
        f"{call.function}: the pattern matches the empty text, and Rust leaves out some empty matches" if empty else ""
    )


REFUSALS: dict[str, Refusal] = dict.fromkeys(("extract_all", "replace_pattern", "count_matches"), _refuse_empty)
