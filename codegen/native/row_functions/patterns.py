"""Regular expressions as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.patterns import python_pattern
from ghcm.codegen.native.row_functions.emitting import Emit, Scope
from ghcm.codegen.native.row_text import COMPARE, Code, quoted
from ghcm.expr import Call

__all__ = ["EMITTERS"]


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


EMITTERS: dict[str, Emit] = {
    "matches": _matches,
    "extract_all": _extract_all,
}
