"""Lists and maps in expressions: methods that take a function (`xs.map(x => ...)`, `filter`, `any`, `all`), or may take
one (`sum`, `mean`, `min`, `max`, `sort`, `distinct`), `x in xs`, and indexing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from ghcm.codes import Code
from ghcm.expr import Each, Expr, ForEach, Lambda, Literal, MakeStruct, complete
from ghcm.functions import SUMMARIES, comparable
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.expressions.applications import operation
from ghcm.lowering.narrowing import Outcome, known, narrow
from ghcm.source import Span
from ghcm.types import Bool, Int, List, Map, String, Struct, Type, as_nullable, is_nullable, pair_of, strip

Function: TypeAlias = Callable[[ast.Expr, Type, Scope, str, bool], Lambda | None]
"""The typed function of one value of a type; the last argument asks for a condition."""

EACH = {each.value: each for each in Each}
"""The methods by name."""

WHOLE = {**SUMMARIES, "sort": "list_sort", "distinct": "list_distinct"}
"""The methods that look at all items together, by name, and the functions that they are."""


def for_each(
    written: ast.Apply, of: ast.Attribute, scope: Scope, context: Context, value: Value, function: Function
) -> Expr | None:
    """The typed call of such a method, or None after a report."""
    kind, found = EACH[of.name], _list_of(of, scope, context, value)
    if found is None:
        return None
    items, type_ = found
    if len(written.arguments) != 1 or written.arguments[0].name is not None:
        message = f'"{of.name}" takes one function'
        return context.report(Code.BAD_LAMBDA, message, written.span, hint=f'It is written "list.{of.name}(x => ...)".')
    test = kind is not Each.MAP
    made = function(written.arguments[0].value, type_.item, scope, f'the function of "{of.name}"', test)
    return None if made is None else _typed(kind, items, type_, made)


def of_whole(
    written: ast.Apply, of: ast.Attribute, scope: Scope, context: Context, value: Value, function: Function
) -> Expr | None:
    """The typed call of a method that looks at all items, or None after a report."""
    found = _list_of(of, scope, context, value)
    if found is None:
        return None
    items, type_ = found
    given = _options(written, of, context)
    if given is None:
        return None
    made: Lambda | None = None
    if given.by is not None:
        made = function(given.by, type_.item, scope, f'the function of "{of.name}"', False)
        if made is None:
            return None
    judged = type_.item if made is None else made.body.type
    if of.name not in ("sum", "mean") and not comparable(judged):
        message = f'"{of.name}" compares values, and maps cannot be compared'
        return context.report(Code.BAD_OPERANDS, message, written.span, detail=f'They are "{judged}".')
    arguments = () if of.name not in _SORTS else (Literal(given.descending, Bool()),)
    if made is None:
        return operation(WHOLE[of.name], (items, *arguments), written.span, context, of.name)
    if of.name in SUMMARIES:
        return operation(WHOLE[of.name], (_typed(Each.MAP, items, type_, made),), written.span, context, of.name)
    (item,) = made.parameters
    entry = MakeStruct((made.body, item), pair_of(made.body.type, item.type))
    entries = _typed(Each.MAP, items, type_, Lambda((item,), entry))
    return operation("list_sort_by", (entries, *arguments), written.span, context, of.name)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a method of all items is given: a function of one, and for `sort` the direction."""

    by: ast.Expr | None = None
    descending: bool = False


def _options(written: ast.Apply, of: ast.Attribute, context: Context) -> _Given | None:
    by: ast.Expr | None = None
    descending = False
    for argument in written.arguments:
        span = argument.span or argument.value.span
        match argument:
            case ast.Argument(name=None) if of.name in SUMMARIES and by is None:
                by = argument.value
            case ast.Argument(name="by" | None) if of.name in _SORTS and by is None:
                by = argument.value
            case ast.Argument(name="descending", value=ast.Literal(value=bool(flag))) if of.name in _SORTS:
                descending = flag
            case ast.Argument(name="descending") if of.name in _SORTS:
                return context.report(Code.NOT_CONSTANT, '"descending" of "sort" is true or false', span)
            case _:  # any other argument
                message = f'"{of.name}" of a list takes {_TAKES[of.name]}'
                return context.report(Code.BAD_OPERANDS, message, span, hint=_WRITTEN[of.name])
    return _Given(by, descending)


_SORTS = ("sort",)
_TAKES = {
    **dict.fromkeys(SUMMARIES, "one function or nothing"),
    "sort": 'a function "by" and "descending"',
    "distinct": "nothing",
}
_WRITTEN = {
    **{name: f'It is written "list.{name}()" or "list.{name}(x => ...)".' for name in SUMMARIES},
    "sort": 'It is written "list.sort(by = x => ..., descending = true)".',
    "distinct": 'It is written "list.distinct()".',
}


def _list_of(of: ast.Attribute, scope: Scope, context: Context, value: Value) -> tuple[Expr, List] | None:
    """The list before the dot and its type without `?`, or None after a report."""
    items = value(of.of, scope)
    if items is None:
        return None
    type_ = strip(items.type)
    if isinstance(type_, List):
        return items, type_
    message = f'"{of.name}" goes through the items of a list, and this is "{items.type}"'
    hint = f'"{of.name}" of a collection stands outside of this function, where there is one record.'
    if of.name in ("min", "max"):
        hint = f"{of.name}(a, b) compares two values."
    return context.report(Code.BAD_OPERANDS, message, of.name_span or of.span, hint=hint)


def _typed(kind: Each, items: Expr, type_: List, function: Lambda) -> ForEach:
    (item,), body, nullable = function.parameters, function.body, is_nullable(items.type)
    match kind:
        case Each.MAP:
            made: Type = List(body.type)
        case Each.FILTER:
            made = List(narrow(type_.item, known(body, Outcome.TRUE), item.name))
        case Each.ANY | Each.ALL:
            made, nullable = Bool(), nullable or is_nullable(body.type)
        case _:
            assert_never(kind)
    return ForEach(kind, items, item, body, as_nullable(made) if nullable else made)


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
    indices = (written.index,) if isinstance(written, ast.Index) else _ends(written)
    parts = complete(value(part, scope) for part in (written.of, *indices))
    if parts is None:
        return None
    of = strip(parts[0].type)
    if isinstance(of, Struct) and isinstance(parts[1], Literal) and isinstance(parts[1].value, str):
        return field(parts[0], parts[1].value, written.span, scope, context)
    if isinstance(of, Struct):
        message = f'square brackets take an item of a list or the value of a key, and this is "{parts[0].type}"'
        return context.report(Code.BAD_OPERANDS, message, written.span, hint=_field_hint(of, parts[1]))
    if isinstance(written, ast.Slice):
        return operation("slice", parts, written.span, context, "[...]")
    if isinstance(of, String):
        message = f'square brackets do not take a character of "{parts[0].type}"'
        return context.report(Code.BAD_OPERANDS, message, written.span, hint=_CHARACTER)
    return operation("map_at" if isinstance(of, Map) else "get", parts, written.span, context, "[...]")


def _ends(written: ast.Slice) -> tuple[ast.Expr, ...]:
    start = ast.Literal(0, Int()) if written.start is None else written.start
    return (start,) if written.end is None else (start, written.end)


def _field_hint(of: Struct, index: Expr) -> str:
    number = index.value if isinstance(index, Literal) else None
    if isinstance(number, int) and 0 <= number < len(of.names):
        return f'A field is written ".{of.names[number]}".'
    return f"It has the fields {', '.join(of.names)}."
