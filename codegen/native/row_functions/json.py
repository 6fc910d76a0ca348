"""JSON texts as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper
from ghcm.codegen.native.row_text import Code, quoted
from ghcm.expr import Call
from ghcm.functions import FAMILIES
from ghcm.json_paths import parse_path

__all__ = ["EMITTERS"]


def _read(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    path = constant(expr.arguments[1])
    steps = parse_path(path) if isinstance(path, str) else None
    assert steps is not None, "the lowering takes constant paths only"
    texts = [quoted(each) if isinstance(each, str) else str(each) for each in steps]
    return helper(f"json.{expr.function}", codes[0], *map(Code, texts))


EMITTERS: dict[str, Emit] = {each.name: _read for each in FAMILIES["json"]}
