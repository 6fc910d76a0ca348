"""Lists as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper, kind_of, method
from ghcm.codegen.native.row_text import Code
from ghcm.expr import Call
from ghcm.types import Map

__all__ = ["EMITTERS"]


def _get(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), Map):
        return method("get")(scope, expr, codes)
    return helper("lists.item", *codes)


EMITTERS: dict[str, Emit] = {
    "get": _get,
}
