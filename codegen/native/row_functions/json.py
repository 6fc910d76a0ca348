"""JSON texts as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper
from ghcm.codegen.native.row_text import Code, quoted
from ghcm.expr import Call
from ghcm.functions import FAMILIES
from ghcm.types import (
    Bytes,
    Date,
    Decimal,
    Duration,
    Float,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    strip,
)
from ghcm.values.texts import parse_path


def _read(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    path = constant(expr.arguments[1])
    steps = parse_path(path) if isinstance(path, str) else None
    assert steps is not None, "the lowering takes constant paths only"
    texts = [quoted(each) if isinstance(each, str) else str(each) for each in steps]
    return helper(f"json.{expr.function}", codes[0], *map(Code, texts))


def _to_json(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    write = form_text(strip(expr.arguments[0].type))
    if "(" in write:
        write = scope.module.constant("_json", write)
    return helper("json.to_json", codes[0], Code(write))


def _json_to(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    spelt = constant(expr.arguments[2])
    assert isinstance(spelt, str), "the lowering writes it"
    read = scope.module.constant("_from_json", f"json_values.reader({quoted(spelt)})")
    return helper("json.json_to", codes[0], Code(read))


EMITTERS: dict[str, Emit] = {
    **{each.name: _read for each in FAMILIES["json"]},
    "to_json": _to_json,
    "json_to": _json_to,
}


def form_text(type_: Type) -> str:
    """What gives the JSON form of a type, as a call of `ghcm.runtime.native.json_forms`."""
    match type_:
        case Nullable(of=of):
            inner = form_text(of)
            return inner if inner == "json_forms.plain" else f"json_forms.nullable({inner})"
        case List(item=item):
            return f"json_forms.items({form_text(item)})"
        case Struct(fields=fields):
            parts = [f"({quoted(part.name)}, {form_text(part.type)})" for part in fields]
            return f"json_forms.struct({', '.join(parts)})"
        case Map(key=String(), value=value):
            return f"json_forms.members({form_text(value)})"
        case Map(key=key, value=value):
            return f"json_forms.pairs({form_text(key)}, {form_text(value)})"
        case _:
            return f"json_forms.{_FORMS.get(type(type_), 'plain')}"


_FORMS: dict[type[Type], str] = {
    Float: "floating",
    Decimal: "digits",
    Bytes: "base64_text",
    Timestamp: "moment",
    Date: "day",
    Duration: "seconds",
}
