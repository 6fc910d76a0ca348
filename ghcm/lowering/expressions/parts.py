"""Parts of values in expressions: methods of lists that take a function (`xs.map(x => ...)`, `filter`, `any`, `all`,
`fold`) or may take one (`sum`, `mean`, `min`, `max`, `sort`, `distinct`), `x in xs`, indexing, and fields of records.
"""

from typing import assert_never

from ghcm.codes import Code
from ghcm.errors import every
from ghcm.expr import Each, Expr, ForEach, Get, Lambda, Literal, MakeStruct, Var, substitute
from ghcm.functions import FUNCTIONS, SUMMARIES, comparable
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.lowering.expressions.applications import CALLABLE, operation
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.expressions.functions import lambda_of
from ghcm.lowering.expressions.records import no_field
from ghcm.lowering.expressions.unions import type_in_union
from ghcm.lowering.narrowing import Outcome, known, narrow, path_of, to_known
from ghcm.source import Span
from ghcm.types import (
    Bool,
    Int,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Type,
    is_nullable,
    nullable_like,
    pair_of,
    strip,
    tuple_of,
)
from ghcm.unification import unify

EACH = {each.value: each for each in Each}
"""The methods by name."""

WHOLE = {**SUMMARIES, "sort": "list_sort", "distinct": "list_distinct"}
"""The methods that look at all items together, by name, and the functions that they are."""


def for_each(written: ast.Apply, of: ast.Attribute, scope: Scope) -> Expr:
    """The typed call of such a method."""
    kind, (items, type_) = EACH[of.name], _list_of(of, scope)
    if kind is Each.FOLD:
        return _fold(written, items, type_, scope)
    if len(written.arguments) != 1 or written.arguments[0].name is not None:
        message, hint = (
            f'"{of.name}" takes one function',
            f'It is written "list.{of.name}(x => ...)" or "list.{of.name}((x, i) => ...)".',
        )
        raise scope.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
    what, test, function = f'the function of "{of.name}"', kind is not Each.MAP, written.arguments[0].value
    if isinstance(function, ast.Lambda) and len(function.parameters) == 2:
        made = lambda_of(function, (type_.item, Int()), scope, what, test=test)
        return _with_index(kind, operation("indexed", (items,), written.span, scope.context, of.name), made)
    return _typed(kind, items, type_, lambda_of(function, (type_.item,), scope, what, test=test))


def _with_index(kind: Each, pairs: Expr, function: Lambda) -> ForEach:
    """Through items that come with their positions; `filter` gives the items alone."""
    type_, (item, index) = strip(pairs.type), function.parameters
    assert isinstance(type_, List)
    pair = Var(item.name, type_.item)
    value, place = Get(pair, "_1", item.type), Get(pair, "_2", index.type)
    body = substitute(function.body, {item.name: value, index.name: place})
    made = _typed(kind, pairs, type_, Lambda((pair,), body))
    if kind is not Each.FILTER:
        return made
    left = strip(made.type)
    assert isinstance(left, List)
    kept = Var(item.name, left.item)
    return _typed(Each.MAP, made, left, Lambda((kept,), Get(kept, "_1", item.type)))


def _fold(written: ast.Apply, items: Expr, type_: List, scope: Scope) -> ForEach:
    """A fold; the value so far is of a type that the first one and what the function gives have in common."""
    given = [argument.value for argument in written.arguments if argument.name is None]
    if len(given) != 2 or len(written.arguments) != 2:
        message = '"fold" takes a first value and a function'
        hint = 'It is written "list.fold(0, (total, x) => total + x)".'
        raise scope.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
    start, function = folding("fold", scope.typed(given[0]), given[1], type_.item, scope)
    return folded(start, items, function)


def folding(name: str, first: Expr, written: ast.Expr, item: Type, scope: Scope) -> tuple[Expr, Lambda]:
    """What a fold begins with, and its function of the value so far and an item, both of the type of that value."""
    so_far, what = first.type, f'the function of "{name}"'
    function = lambda_of(written, (so_far, item), scope, what)
    while (wider := unify(so_far, function.body.type)) is not None and wider != so_far:
        so_far = wider
        function = lambda_of(written, (so_far, item), scope, what)
    body, start = convert(function.body, so_far), convert(first, so_far)
    if wider is None or body is None or start is None:
        message = f'"{name}" begins with "{first.type}", and its function gives "{function.body.type}"'
        hint = "They are of one type: write what it begins with as the function gives it."
        raise scope.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
    return start, Lambda(function.parameters, body)


def folded(first: Expr, items: Expr, function: Lambda) -> ForEach:
    """The fold of a list by a function of the value so far, which is of the type of the first one, and an item."""
    so_far = first.type
    one, item = function.parameters
    pair = Var(item.name, tuple_of(so_far, item.type))
    by = {one.name: Get(pair, "_1", one.type), item.name: Get(pair, "_2", item.type)}
    begins = MakeStruct((first, items), tuple_of(so_far, items.type))
    return ForEach(Each.FOLD, begins, pair, substitute(function.body, by), nullable_like(so_far, items.type))


def of_whole(written: ast.Apply, of: ast.Attribute, scope: Scope) -> Expr:
    """The typed call of a method that looks at all items."""
    items, type_ = _list_of(of, scope)
    by, descending = _options(written, of, scope)
    made = None if by is None else lambda_of(by, (type_.item,), scope, f'the function of "{of.name}"')
    judged = type_.item if made is None else made.body.type
    if of.name not in ("sum", "mean") and not comparable(judged):
        message = f'"{of.name}" compares values, and maps have no order'
        raise scope.report(Code.BAD_OPERANDS, message, written.span, detail=f'They are "{judged}".')
    name, arguments = WHOLE[of.name], () if of.name != _SORT else (Literal(descending, Bool()),)
    if made is not None and of.name in SUMMARIES:
        items = _typed(Each.MAP, items, type_, made)
    elif made is not None:
        (item,) = made.parameters
        entry = MakeStruct((made.body, item), pair_of(made.body.type, item.type))
        name, items = "list_sort_by", _typed(Each.MAP, items, type_, Lambda((item,), entry))
    return operation(name, (items, *arguments), written.span, scope.context, of.name)


def _options(written: ast.Apply, of: ast.Attribute, scope: Scope) -> tuple[ast.Expr | None, bool]:
    """What a method of all items is given: a function of one, and for `sort` whether it is descending."""
    by: ast.Expr | None = None
    descending = False
    for argument in written.arguments:
        span = argument.span or argument.value.span
        match argument:
            case ast.Argument(name=None) if of.name in SUMMARIES and by is None:
                by = argument.value
            case ast.Argument(name="by" | None) if of.name == _SORT and by is None:
                by = argument.value
            case ast.Argument(name="descending", value=ast.Literal(value=bool(flag))) if of.name == _SORT:
                descending = flag
            case ast.Argument(name="descending") if of.name == _SORT:
                raise scope.report(Code.NOT_CONSTANT, '"descending" of "sort" is true or false', span)
            case _:  # any other argument
                message = f'"{of.name}" of a list takes {_TAKES[of.name]}'
                raise scope.report(Code.BAD_OPERANDS, message, span, hint=_WRITTEN[of.name])
    return by, descending


_SORT = "sort"
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


def _list_of(of: ast.Attribute, scope: Scope) -> tuple[Expr, List]:
    """The list before the dot and its type without `?`."""
    items = scope.typed(of.of)
    type_ = strip(items.type)
    if isinstance(type_, List):
        return items, type_
    message = f'"{of.name}" goes through the items of a list, and this is "{items.type}"'
    hint = f'"{of.name}" of a collection stands outside of this function, where there is one record.'
    if of.name in ("min", "max"):
        hint = f"{of.name}(a, b) compares two values."
    raise scope.report(Code.BAD_OPERANDS, message, of.name_span or of.span, hint=hint)


def _typed(kind: Each, items: Expr, type_: List, function: Lambda) -> ForEach:
    (item,), body = function.parameters, function.body
    match kind:
        case Each.MAP:
            made: Type = List(body.type)
        case Each.FILTER:
            made = List(narrow(type_.item, known(body, Outcome.TRUE), item.name))
        case Each.ANY | Each.ALL:
            made = nullable_like(Bool(), body.type)
        case Each.FOLD:
            raise AssertionError("a fold is typed by its own function")
        case _:
            assert_never(kind)
    return ForEach(kind, items, item, body, nullable_like(made, items.type))


_CHARACTER = "A part of a string is s[0:1]; s[:3] is its beginning, s[-1:] its last character."


def contained(written: ast.Binary, scope: Scope) -> Expr:
    """`x in xs`: an item of a list, a key of a map, a part of a string."""
    what, where = every(scope.typed, (written.left, written.right))
    name = "has_key" if isinstance(strip(where.type), Map) else "contains"
    found = operation(name, (where, what), written.span, scope.context, written.op)
    return found if written.op == "in" else operation("not", (found,), written.span, scope.context)


def picked(written: ast.Index | ast.Slice, scope: Scope) -> Expr:
    """`xs[i]` and `m[k]`, which fail where there is no such item or key, `xs[-1]`, `xs[a:b]`, and `r["x"]`, a field by
    its name."""
    indices = (written.index,) if isinstance(written, ast.Index) else _ends(written)
    parts = every(scope.typed, (written.of, *indices))
    of = strip(parts[0].type)
    if isinstance(of, Struct) and isinstance(parts[1], Literal) and isinstance(parts[1].value, str):
        return part_of(parts[0], parts[1].value, written.span, scope)
    if isinstance(of, Struct):
        message = f'square brackets take an item of a list or the value of a key, and this is "{parts[0].type}"'
        raise scope.report(Code.BAD_OPERANDS, message, written.span, hint=_field_hint(of, parts[1]))
    if isinstance(of, String) and isinstance(written, ast.Index):
        message = f'square brackets do not take a character of "{parts[0].type}"'
        raise scope.report(Code.BAD_OPERANDS, message, written.span, hint=_CHARACTER)
    name = "slice" if isinstance(written, ast.Slice) else "map_at" if isinstance(of, Map) else "get"
    return operation(name, parts, written.span, scope.context, "[...]")


def _ends(written: ast.Slice) -> tuple[ast.Expr, ...]:
    start = ast.Literal(0, Int()) if written.start is None else written.start
    return (start,) if written.end is None else (start, written.end)


def _field_hint(of: Struct, index: Expr) -> str:
    number = index.value if isinstance(index, Literal) else None
    if isinstance(number, int) and 0 <= number < len(of.names):
        return f'A field is written ".{of.names[number]}".'
    return f"It has the fields {', '.join(of.names)}."


def part_of(of: Expr, name: str, span: Span | None, scope: Scope) -> Expr:
    """The field of that name."""
    struct = strip(of.type)
    if not isinstance(struct, Struct):
        called = name in CALLABLE and FUNCTIONS[CALLABLE[name]].method
        hint = f'A function is called: ".{name}()".' if called else ""
        if isinstance(struct, Map):
            hint = f'The value of a key is written ["{name}"].'
        raise scope.report(Code.NO_FIELD, f'cannot take "{name}" of "{of.type}": it has no fields', span, hint=hint)
    field = struct.get(name)
    if field is None:
        raise no_field(name, struct, span, scope)
    if isinstance(of, MakeStruct) and all(path_of(each) is not None for each in of.values):
        return as_known(of.values[struct.index(name)], scope)
    read = Get(of, field.name, nullable_like(field.type, of.type))
    if struct.variants:  # without its `?` where every record that the union may be has it
        certain = not is_nullable(type_in_union(of, struct, name, span, scope)) and not is_nullable(of.type)
        return to_known(read) if certain and is_nullable(read.type) else as_known(read, scope)
    return as_known(read, scope)


def as_known(expr: Expr, scope: Scope) -> Expr:
    """The value that is read, without its `?` where it is known to be there."""
    return to_known(expr) if isinstance(expr.type, Nullable) and path_of(expr) in scope.facts else expr
