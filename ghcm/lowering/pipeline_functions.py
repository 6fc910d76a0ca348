"""Functions of collections, written out where they are called: `function large(rows: stream<Flow>, least: int) :
stream<Flow> = rows.filter(r => r.bytes > least)`.

Their bodies are pipelines, checked with what they are given, so that a function takes input that ends and input that
does not. What they give is held against the type that they say. Functions of values are in `expressions.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import attempt, every
from ghcm.expr import Expr
from ghcm.language import ast, trees
from ghcm.lowering.context import Context
from ghcm.lowering.drafts import Bound, Flow, UnitDraft
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import difference, fits
from ghcm.source import Span
from ghcm.types import Shape, Type, is_nullable, pair_of
from ghcm.unification import accepts

_COLLECTIONS = {"stream": (Shape.STREAM, 1), "pairs": (Shape.PAIRS, 2)}
"""The types of collections: their shape, and how many types they name."""
_HOW = 'A collection is written "stream<Record>" or "pairs<Key, Value>".'

Evaluate = Callable[[ast.Expr, UnitDraft], Bound]


def is_of_collections(function: ast.FunctionDecl) -> bool:
    """Whether a function takes or gives a collection."""
    written = (function.result, *(each.type for each in function.parameters))
    return any(isinstance(each, ast.NamedType) and each.name in _COLLECTIONS for each in written)


def check(functions: Mapping[str, ast.FunctionDecl], context: Context) -> None:
    """Report types that are none, results that are no collections, defaults, and parameters named twice."""
    for function in functions.values():
        if attempt(_type, function.result, context) is not None and not _is_collection(function.result):
            message = f'function "{function.name.text}" takes a collection and gives a value'
            context.report(Code.WRONG_TYPE, message, function.name.span, hint=_HOW)
        named: set[str] = set()
        for each in function.parameters:
            attempt(_type, each.type, context)
            if each.name.text in named:
                message = f'function "{function.name.text}" has the parameter "{each.name.text}" twice'
                context.report(Code.DECLARED_TWICE, message, each.name.span)
            if each.default is not None:
                message = f'parameter "{each.name.text}" of function "{function.name.text}" has a default'
                context.report(Code.BAD_LAMBDA, message, each.default.span, hint="Each call gives every value.")
            named.add(each.name.text)
        _check_ends(function, context)


def _check_ends(function: ast.FunctionDecl, context: Context) -> None:
    for part in trees.walk(function.body, past=ast.Lambda):
        match part:
            case ast.Apply(function=ast.Attribute(name="to" | "publish" | "reply" as end, name_span=span)):
                message = f'function "{function.name.text}" gives a collection, and "{end}" gives none'
                context.report(Code.WRONG_SHAPE, message, span, hint=f"{end}(...) stands behind the call.")
            case _:
                pass


def written_out(
    function: ast.FunctionDecl,
    given: tuple[ast.Expr, ...],
    call: ast.Apply,
    unit: UnitDraft,
    evaluate: Evaluate,
    named: Callable[[ast.Expr, bool], set[int]],
) -> Bound:
    """What the function gives of these arguments; its tasks stand in the statement of the call."""
    name, context = function.name.text, unit.context
    if name in unit.inside:
        message = f'function "{name}" calls {"itself" if unit.inside[-1] == name else "itself by way of others"}'
        detail = "Functions are written out where they are called, which would never end."
        raise context.report(Code.RECURSIVE, message, call.span, detail=detail)
    if len(given) != len(function.parameters) or any(each.name is not None for each in call.arguments):
        wanted = ", ".join(each.name.text for each in function.parameters)
        message = f'function "{name}" takes {len(function.parameters)} arguments, and here are {len(given)}'
        raise context.report(Code.ARGUMENT_MISSING, message, call.span, hint=f"It is called {name}({wanted}).")
    assigned: dict[str, Bound | None] = {}
    values: dict[str, Expr | None] = {}
    for parameter, each in zip(function.parameters, given, strict=True):
        if _is_collection(parameter.type):
            assigned[parameter.name.text] = _collection(parameter, each, unit, evaluate)
        else:
            what, type_ = f'"{parameter.name.text}" of "{name}"', _type(parameter.type, context)
            found = whole(each, unit.scope, what)
            values[parameter.name.text] = fits(found, type_[1], what, each.span, context)
    if id(call) in unit.named_nodes:
        unit.named_nodes |= named(function.body, True)
    scope = replace(unit.scope, parameters=values, collections=frozenset(assigned))
    bound = evaluate(function.body, replace(unit, scope=scope, assigned=assigned, inside=(*unit.inside, name)))
    if isinstance(bound, Flow):
        return _as_said(bound, function.result, f'function "{name}" gives', function.result.span, unit)
    return bound


def _collection(parameter: ast.Parameter, given: ast.Expr, unit: UnitDraft, evaluate: Evaluate) -> Bound:
    bound = evaluate(given, unit)
    if isinstance(bound, Flow):
        return _as_said(bound, parameter.type, f'"{parameter.name.text}" is', given.span, unit)
    return bound


def _as_said(flow: Flow, written: ast.TypeExpr, what: str, span: Span | None, unit: UnitDraft) -> Flow:
    """The collection as one of the type that is written; where a filter has left no nulls, that may have a `?`."""
    shape, element = _type(written, unit.context)
    collection = flow.collection
    if collection.shape is shape and collection.element == element:
        return flow
    alike = collection.shape is shape and not collection.windowed and accepts(element, collection.element)
    if alike and is_nullable(element) == is_nullable(collection.element):  # a record or null is a column of its own
        return replace(flow, collection=replace(collection, element=element))
    says = f"{'pairs' if shape is Shape.PAIRS else 'stream'} of {element}"
    differs = difference(element, collection.element) if collection.shape is shape else ""
    detail = f'It is of type "{collection}"{": " + differs if differs else "."}'
    hint = "map(...) makes other records, map_to_pair(...) pairs of them."
    message = f"{what} a {says}, and this is another collection"
    raise unit.context.report(Code.WRONG_TYPE, message, span, detail=detail, hint=hint)


def _is_collection(written: ast.TypeExpr) -> bool:
    return isinstance(written, ast.NamedType) and written.name in _COLLECTIONS


def _type(written: ast.TypeExpr, context: Context) -> tuple[Shape | None, Type]:
    """The type that is written; of collections their shape and that of their records."""
    if not isinstance(written, ast.NamedType) or written.name not in _COLLECTIONS:
        return None, context.records.type_of(written)
    shape, count = _COLLECTIONS[written.name]
    arguments = [each for each in written.arguments if not isinstance(each, int)]
    if len(arguments) != count or len(written.arguments) != count:
        raise context.report(Code.BAD_TYPE, f'"{written.name}" says what it holds', written.span, hint=_HOW)
    found = every(context.records.type_of, arguments)
    return shape, pair_of(*found) if shape is Shape.PAIRS else found[0]
