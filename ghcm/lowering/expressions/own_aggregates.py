"""Aggregates of a user's own: `fold`, and functions that are aggregates.

`fold` has what an aggregate begins with, how a value is added, how two become one, and what is given. With a merge each
value is added to the beginning by itself, and what becomes of the values is merged in any order, so that an engine may
merge parts of a group. Without it the values of a group are added one after the other.

A function such as `function share(bytes: int) : float? = fold(bytes, ...)` is written out where it is called, over the
records that are aggregated there.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import cast

from ghcm.codes import Code
from ghcm.expr import Call, Expr, Get, If, Lambda, Let, Literal, MakeStruct, Var, fresh, rebuild, substitute
from ghcm.language import ast, trees
from ghcm.language.literals import CLAIMS
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.expressions.functions import lambda_of, whole
from ghcm.lowering.expressions.parts import folded, folding
from ghcm.lowering.types import has_null
from ghcm.operators import Argument
from ghcm.reducers import Builtin, Custom, Fields, Reducer, prove
from ghcm.types import Bool, List, Struct, Type, as_nullable, is_nullable, nullable_like, strip

ARGUMENTS = (
    Argument("initial", "any"),
    Argument("add", "lambda2"),
    Argument("merge", "lambda2", required=False, positional=False),
    Argument("result", "lambda1", required=False, positional=False),
    Argument("order", "lambda1", required=False, positional=False),
)
"""What it takes behind the value."""


@dataclass(frozen=True, slots=True)
class Fold:
    """What is aggregated of a record, how two such become one (None: in order), and what makes the result."""

    argument: Lambda
    reducer: Reducer | None
    finish: Lambda


def fold_of(given: Given, value: Lambda, scope: Scope) -> Fold:
    """The fold of what a function gives of each record; a null is passed over."""
    item = strip(value.body.type)
    first = whole(given.required("initial"), scope, '"initial" of "fold"')
    for name, type_ in (("value", value.body.type), ("initial", first.type)):
        if has_null(type_):
            message = f'"{name}" of "fold" is "{type_}", of which nothing is known'
            raise scope.report(Code.BAD_AGGREGATE, message, given.span(name))
    first, add = folding("fold", first, given.required("add"), item, scope)
    if is_nullable(so_far := add.parameters[0].type):
        message = f'what "fold" adds up is "{so_far}", and it may not be null'
        hint = "A record with a field that may be null is there itself, such as { best: null }."
        raise scope.report(Code.MAY_BE_NULL, message, given.span("add"), hint=hint)
    merge = given.expr("merge")
    if merge is None:
        taken = Var("values", List(item))
        return Fold(value, None, _finished(folded(first, taken, add), taken, given, scope))
    reducer = _reducer(merge, first.type, scope)
    taken = Var("state", as_nullable(first.type))
    made = Call("coalesce", (taken, first), first.type)
    return Fold(_of_one(value, first, add), reducer, _finished(made, taken, given, scope))


def _of_one(value: Lambda, first: Expr, add: Lambda) -> Lambda:
    """What a value is when it is added to the beginning; null of null."""
    so_far, item = add.parameters
    body, type_ = value.body, nullable_like(first.type, value.body.type)
    name = fresh(item.name, frozenset(each.name for each in (*value.parameters, *add.parameters)))
    kept = Var(name, body.type)
    there: Expr = Call("known", (kept,), item.type) if is_nullable(body.type) else kept
    added = rebuild(substitute(add.body, {so_far.name: first, item.name: there}), _written_part)
    if is_nullable(body.type):
        test = Call("is_null", (kept,), Bool())
        added = If(test, Literal(None, type_), added, type_)
    return Lambda(value.parameters, Let(kept, body, added, type_))


def _written_part(expr: Expr) -> Expr:
    """A constant in place of the field of a record that is written out, as what a fold begins with often is."""
    match expr:
        case Get(of=MakeStruct(values=values, type=Struct() as type_), field=name):
            part = values[type_.names.index(name)]
            return part if isinstance(part, Literal) else expr
        case _:  # any other is what it is
            return expr


def _reducer(written: ast.Expr, type_: Type, scope: Scope) -> Reducer:
    """The merge: proven, or claimed to go in any order."""
    function = lambda_of(written, (type_, type_), scope, '"merge" of "fold"')
    body = convert(function.body, type_)
    if body is None:
        message = f'"merge" makes one "{type_}" of two, and this one makes "{function.body.type}"'
        hint = "What fold begins with and what add gives say which type that is."
        raise scope.report(Code.WRONG_TYPE, message, written.span, hint=hint)
    function = Lambda(function.parameters, body)
    proven = prove(function)
    if proven is not None:
        return Custom(function, True, None) if _takes_nulls(proven) else proven
    claims = written.claims if isinstance(written, ast.Lambda) else ()
    if set(CLAIMS) <= set(claims):
        return Custom(function, True, None)
    message = "this merge may give another result in another order"
    detail = "What is proven is a + b of numbers, min, max, and, or, and tuples and records of these."
    hint = "It takes both claims: @associative @commutative." if claims else _CLAIM
    raise scope.report(Code.BAD_REDUCER, message, written.span, detail=detail, hint=hint)


def _takes_nulls(reducer: Reducer) -> bool:
    """Whether a part of it is built in and null of nulls, which it would pass over."""
    match reducer:
        case Builtin(type=type_):
            return is_nullable(type_)
        case Fields(parts=parts):
            return any(map(_takes_nulls, parts))
        case Custom():
            return False


_CLAIM = "If order does not matter, say so with @associative @commutative; without merge values are added in an order."


def _finished(made: Expr, taken: Var, given: Given, scope: Scope) -> Lambda:
    """The function that makes the result of what was added up, which is made of what is taken."""
    written = given.expr("result")
    if written is None:
        return Lambda((taken,), made)
    result = lambda_of(written, (made.type,), scope, '"result" of "fold"')
    (state,) = result.parameters
    if has_null(result.body.type):
        message = f'"result" of "fold" gives "{result.body.type}"'
        raise scope.report(Code.BAD_AGGREGATE, message, written.span)
    kept = Var(fresh(state.name, frozenset({taken.name})), state.type)
    body = substitute(result.body, {state.name: kept})
    return Lambda((taken,), Let(kept, made, body, body.type))


# --- functions that are aggregates -----------------------------------------------------------------------------------

_WHERE = Argument("where", "lambda1", required=False, positional=False)


def arguments(function: ast.FunctionDecl, call: ast.Apply, inside: tuple[str, ...], context: Context) -> Given:
    """What a function is called with, and which records it takes."""
    name = function.name.text
    if name in inside:
        message = f'function "{name}" calls itself'
        detail = "Functions are written out where they are called, which would never end."
        raise context.report(Code.RECURSIVE, message, call.span, detail=detail)
    takes = tuple(Argument(each.name.text, "any") for each in function.parameters)
    return match_arguments(name, (*takes, _WHERE), call, context)


def check_captured(function: ast.FunctionDecl, of_records: Collection[str], call: ast.Apply, context: Context) -> None:
    """Report a function inside that asks for a parameter which is another one in each record."""
    for each in _captured(function.body, frozenset(of_records)):
        message = f'"{each.name}" of "{function.name.text}" is another one in each record'
        detail = "A function inside an aggregate sees the value so far and the next one."
        hint = f"fold({{ {each.name}: {each.name}, ... }}, ...) adds a record that has it."
        raise context.report(Code.BAD_AGGREGATE, message, each.span, detail=detail, hint=hint)


def _captured(body: ast.Expr, names: frozenset[str]) -> Iterator[ast.Ref]:
    """Where functions inside ask for one of the names, unless another of that name is bound around there."""
    waiting: list[tuple[object, frozenset[str], bool]] = [(body, names, False)]
    while waiting:
        part, seen, inside = waiting.pop()
        match part:
            case ast.Ref(name=name) if inside and name in seen:
                yield part
            case ast.Lambda(parameters=parameters, body=within):
                waiting.append((within, seen - {each.text for each in parameters}, True))
            case ast.Let(name=name, value=value, body=within):
                waiting += [(within, seen - {name.text}, inside), (value, seen, inside)]
            case ast.Case(pattern=ast.BoundVariant(name=name), value=value):
                waiting.append((value, seen - {name.text}, inside))
            case ast.Node():
                waiting += [(each, seen, inside) for each in trees.held(part)]
            case _ if isinstance(part, tuple):
                waiting += [(each, seen, inside) for each in reversed(cast("tuple[object, ...]", part))]
            case _:  # a word or a number
                pass
