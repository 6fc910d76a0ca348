"""Lists as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper, kind_of, method
from ghcm.codegen.native.row_text import Code
from ghcm.expr import Call
from ghcm.types import Decimal, Float, List, Map, Struct, Type, is_nullable, strip


def _get(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), Map):
        return method("get")(scope, expr, codes)
    return helper("lists.item", *codes)


def _item(expr: Call) -> Type:
    kind = kind_of(expr)
    assert isinstance(kind, List)
    return kind.item


def _sum(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match strip(_item(expr)):
        case Float():
            return helper("lists.float_sum", *codes)
        case Decimal():
            return helper("lists.exact_sum", *codes)
        case _:
            return helper("lists.whole_sum", *codes)


def _ordered(name: str, *, nulls: bool) -> Emit:
    """A helper that takes the key by which items are ordered, where they need one."""

    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        item = _item(expr) if nulls else strip(_item(expr))
        plain = plainly_ordered(item) and not is_nullable(item)
        return helper(name, codes[0], *_options(expr), *([] if plain else [Code(scope.module.order(item))]))

    return emit


def _options(expr: Call) -> list[Code]:
    return [Code(repr(constant(each))) for each in expr.arguments[1:]]


def _sort_by(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    entry = _item(expr)
    assert isinstance(entry, Struct)
    return helper("lists.sort_by", codes[0], *_options(expr), Code(scope.module.order(entry.fields[0].type)))


EMITTERS: dict[str, Emit] = {
    "get": _get,
    "list_sum": _sum,
    "list_mean": lambda scope, expr, codes: helper("lists.mean", *codes),
    "list_min": _ordered("lists.least", nulls=False),
    "list_max": _ordered("lists.greatest", nulls=False),
    "list_sort": _ordered("lists.sort", nulls=True),
    "list_sort_by": _sort_by,
    "list_distinct": _ordered("lists.distinct", nulls=True),
}
