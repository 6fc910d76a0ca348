"""What a name, and a field behind a dot, stand for in an expression.

Each function gives None where it has reported a mistake. What is known not to be null comes with the scope.
"""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr, Get, MakeStruct, Var
from ghcm.functions import FUNCTIONS
from ghcm.language import ast
from ghcm.lowering import habits
from ghcm.lowering.applications import CALLABLE
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.conversion import to_known
from ghcm.lowering.narrowing import path_of
from ghcm.lowering.variants import type_in_union
from ghcm.source import Span
from ghcm.types import Field, Map, Nullable, Struct, as_nullable, is_nullable, strip

_REASONABLE = 12
"""So many names a message lists."""


def named(written: ast.Ref, scope: Scope, context: Context) -> Expr | None:
    """The value that a name stands for here, or None after a report."""
    name = written.name
    for names in (scope.variables, scope.parameters):
        if name in names:
            found = names[name]
            return None if found is None else _as_known(found, scope)
    _report_no_value(name, written.span, scope, context)
    return None


def _report_no_value(name: str, span: Span | None, scope: Scope, context: Context) -> None:
    kind = "collection" if name in scope.collections else context.kinds.get(name, "")
    if kind:
        hint = {
            "collection": "Records of another collection come in by join.",
            "sink": f"{name}.read() gives its records as a collection.",
            "record": f"{name} {{ ... }} makes one.",
            "enum": f"{name}.value is one of its values.",
            "union": "One of its records makes one.",
        }.get(kind, "")
        context.report(
            Code.NOT_A_VALUE, f'"{name}" is {"an" if kind == "enum" else "a"} {kind} and no value', span, hint=hint
        )
        return
    if name in CALLABLE:
        message = f'"{name}" is a function and is not called'
        context.report(Code.NOT_A_VALUE, message, span, hint=f'Write "{name}(...)".')
        return
    names = scope.names
    detail = f"Known here: {', '.join(names)}." if 0 < len(names) <= _REASONABLE else ""
    columns = _column_owner(name, scope)
    hint = f'did you mean "{columns}.{name}"?' if columns else habits.VALUES.get(name, "") or suggest(name, names)
    context.report(Code.UNKNOWN_NAME, f'nothing is called "{name}" here', span, detail=detail, hint=hint)


def _column_owner(name: str, scope: Scope) -> str:
    """The lambda parameter that has a column of that name, which was perhaps meant."""
    for owner, expr in scope.variables.items():
        if isinstance(expr, Var):
            struct = strip(expr.type)
            if isinstance(struct, Struct) and struct.get(name):
                return owner
    return ""


def part_of(of: Expr, name: str, span: Span | None, scope: Scope, context: Context) -> Expr | None:
    """The field of that name, or None after a report."""
    struct = strip(of.type)
    if not isinstance(struct, Struct):
        called = name in CALLABLE and FUNCTIONS[CALLABLE[name]].method
        hint = f'A function is called: ".{name}()".' if called else ""
        if isinstance(struct, Map):
            hint = f'The value of a key is written ["{name}"].'
        context.report(Code.NO_FIELD, f'cannot take "{name}" of "{of.type}": it has no fields', span, hint=hint)
        return None
    field = struct.get(name)
    if field is None:
        whose = f'"{struct}"' if struct.name else "the record"
        context.report(
            Code.NO_FIELD,
            f'{whose} has no field "{name}"',
            span,
            detail=f"It has {', '.join(struct.names)}.",
            hint=suggest(name, struct.names),
        )
        return None
    if isinstance(of, MakeStruct) and all(path_of(each) is not None for each in of.values):
        return _as_known(of.values[struct.index(name)], scope)
    if struct.variants:
        return _of_union(of, field, span, scope, context)
    type_ = as_nullable(field.type) if is_nullable(of.type) else field.type
    return _as_known(Get(of, field.name, type_), scope)


def _of_union(of: Expr, field: Field, span: Span | None, scope: Scope, context: Context) -> Expr | None:
    """The field of a union, without its `?` where every record that it may be has it."""
    found = type_in_union(of, field.name, span, scope, context)
    if found is None:
        return None
    read = Get(of, field.name, as_nullable(field.type) if is_nullable(of.type) else field.type)
    certain = is_nullable(read.type) and not is_nullable(found) and not is_nullable(of.type)
    return to_known(read) if certain else _as_known(read, scope)


def _as_known(expr: Expr, scope: Scope) -> Expr:
    """The value of a place, without its `?` where it is known to be there."""
    return to_known(expr) if isinstance(expr.type, Nullable) and path_of(expr) in scope.facts else expr
