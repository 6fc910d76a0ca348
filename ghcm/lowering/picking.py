"""`x in xs`, `xs[i]`, `xs[a:b]`: what is in a list, map or string, and what stands at a place of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ghcm.codes import Code
from ghcm.expr import Expr, Literal
from ghcm.language import ast
from ghcm.lowering.applications import operation
from ghcm.lowering.context import Context, Scope, Value
from ghcm.source import Span
from ghcm.types import Int, Map, String, Struct, strip

_CHARACTER = "A part of a string is s[0:1]; s[:3] is its beginning, s[-1:] its last character."

Field: TypeAlias = Callable[[Expr, str, Span | None, Scope, Context], Expr | None]
"""The typed field of a record, or None after a report."""


def contained(written: ast.Binary, scope: Scope, context: Context, value: Value) -> Expr | None:
    """`x in xs`: an item of a list, a key of a map, a part of a string. None after a report."""
    what, where = value(written.left, scope), value(written.right, scope)
    if what is None or where is None:
        return None
    name = "has_key" if isinstance(strip(where.type), Map) else "contains"
    found = operation(name, (where, what), written.span, context, written.op)
    return found if found is None or written.op == "in" else operation("not", (found,), written.span, context)


def picked(written: ast.Index | ast.Slice, scope: Scope, context: Context, value: Value, field: Field) -> Expr | None:
    """`xs[i]` and `m[k]`, which fail where there is no such item or key, `xs[-1]`, `xs[a:b]`, and `r["x"]`, a field by
    its name. None after a report."""
    places = (written.index,) if isinstance(written, ast.Index) else _ends(written)
    found = [value(part, scope) for part in (written.of, *places)]
    parts = tuple(part for part in found if part is not None)
    if len(parts) < len(found):
        return None
    of = strip(parts[0].type)
    if isinstance(of, Struct) and isinstance(parts[1], Literal) and isinstance(parts[1].value, str):
        return field(parts[0], parts[1].value, written.span, scope, context)
    if isinstance(of, Struct):
        message = f'square brackets take an item of a list or the value of a key, and this is "{parts[0].type}"'
        context.report(Code.BAD_OPERANDS, message, written.span, hint=_field_hint(of, parts[1]))
        return None
    if isinstance(written, ast.Slice):
        return operation("slice", parts, written.span, context, "[...]")
    if isinstance(of, String):
        message = f'square brackets do not take a character of "{parts[0].type}"'
        context.report(Code.BAD_OPERANDS, message, written.span, hint=_CHARACTER)
        return None
    return operation("map_at" if isinstance(of, Map) else "get", parts, written.span, context, "[...]")


def _ends(written: ast.Slice) -> tuple[ast.Expr, ...]:
    start = ast.Literal(0, Int()) if written.start is None else written.start
    return (start,) if written.end is None else (start, written.end)


def _field_hint(of: Struct, place: Expr) -> str:
    number = place.value if isinstance(place, Literal) else None
    if isinstance(number, int) and 0 <= number < len(of.names):
        return f'A field is written ".{of.names[number]}".'
    return f"It has the fields {', '.join(of.names)}."
