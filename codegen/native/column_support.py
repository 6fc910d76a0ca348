"""What has no columnar form, with the reason: the total table of what the columnar form leaves to the row form."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.patterns import may_be_empty
from ghcm.expr import Call
from ghcm.types import Bool, Float, Int, List, Null, String, Struct, Type, strip

__all__ = ["UNSUPPORTED", "refusal"]

_NESTED = "Polars orders no structs, and takes nulls inside structs and lists for unknown"
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "least", "greatest")

UNSUPPORTED: dict[tuple[str, type[Type]], str] = {
    **{(name, kind): _NESTED for name in _COMPARED for kind in (Struct, List)},
    **{(name, Null): "there is nothing to compare" for name in _COMPARED},
    ("floordiv", Float): "Polars rounds the quotient of floats where Python corrects it by the remainder",
    ("mod", Float): "Polars computes the remainder of floats from a rounded quotient",
    ("to_string", Float): "Polars writes the exponents of floats otherwise than Python",
}
"""By function and kind of the first argument."""

CONDITIONS: dict[str, str] = {
    "contains": "Polars compares floats, nulls and nested values inside lists in its own way",
    "matches": "the pattern is a parameter",
    "extract_all": "the pattern is a parameter, or matches the empty text: Rust leaves out some empty matches",
}
"""By function: why some of its calls are refused by what they are made of."""


def refusal(call: Call) -> str | None:
    """Why a call has no columnar form; None where it has one."""
    kind = strip(call.arguments[0].type)
    if reason := UNSUPPORTED.get((call.function, type(kind))):
        return f"{call.function} of {kind}: {reason}"
    return f"{call.function}: {CONDITIONS[call.function]}" if _conditional(call, kind) else None


def _conditional(call: Call, kind: Type) -> bool:
    match call.function:
        case "contains":
            return isinstance(kind, List) and not isinstance(kind.item, Bool | Int | String)
        case "matches":
            return not isinstance(constant(call.arguments[1]), str)
        case "extract_all":
            pattern = constant(call.arguments[1])
            return not isinstance(pattern, str) or may_be_empty(pattern)
        case _:
            return False
