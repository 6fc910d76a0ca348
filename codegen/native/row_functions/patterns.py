"""Regular expressions as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.patterns import python_pattern
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper
from ghcm.codegen.native.row_text import COMPARE, Code, quoted
from ghcm.expr import Call


def _compiled(scope: Scope, expr: Call) -> str:
    """The name of the compiled pattern, which is a constant of the module."""
    text = constant(expr.arguments[1])
    assert isinstance(text, str), "the lowering takes constant patterns only"
    return scope.module.constant("_pattern", f"re.compile({_raw(python_pattern(text))}, re.ASCII)")


def _pattern(scope: Scope, expr: Call, codes: list[Code], method: str) -> str:
    return f"{_compiled(scope, expr)}.{method}({codes[0].inner})"


def _raw(pattern: str) -> str:
    """The pattern as a raw string where it can be one."""
    plain = '"' not in pattern and not pattern.endswith("\\") and pattern.isprintable()
    return f'r"{pattern}"' if plain else quoted(pattern)


def _matches(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"{_pattern(scope, expr, codes, 'search')} is not None", COMPARE)


def _extract_all(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(_pattern(scope, expr, codes, "findall"))


def _extract(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    group = codes[2].inner if len(codes) > 2 else "0"
    return Code(f"row_patterns.group({_pattern(scope, expr, codes, 'search')}, {group})")


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return helper("patterns.replace", Code(_compiled(scope, expr)), codes[0], codes[2])


EMITTERS: dict[str, Emit] = {
    "matches": _matches,
    "full_match": lambda scope, expr, codes: Code(f"{_pattern(scope, expr, codes, 'fullmatch')} is not None", COMPARE),
    "extract": _extract,
    "replace_pattern": _replace,
    "split_pattern": lambda scope, expr, codes: Code(_pattern(scope, expr, codes, "split")),
    "count_matches": lambda scope, expr, codes: Code(f"len({_pattern(scope, expr, codes, 'findall')})"),
    "extract_all": _extract_all,
}
