"""Aggregates: `count()`, `sum(v => v.bytes)`, `min(ts)` of an aggregation or of a published call."""

from __future__ import annotations

from ghcm.errors import suggest
from ghcm.expr import Expr, Get, Lambda, Var
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering import habits
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.conversion import convert
from ghcm.lowering.expressions import lambda_of, typed
from ghcm.lowering.types import has_null
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.types import Duration, Float, Int, Int32, Struct, Type, as_nullable, is_nullable, strip

__all__ = ["aggregate_of", "is_aggregate"]

_FUNCTIONS = {function.value: function for function in AggregateFunction}
_WHOLE = "value"
"""What a bare expression calls a record that is no struct."""


def is_aggregate(written: ast.Expr) -> bool:
    """Whether an expression is written like an aggregate: one of their names, of at most one argument."""
    match written:
        case ast.Ref(name=name):
            return name in _FUNCTIONS
        case ast.Apply(function=ast.Ref(name=name), arguments=arguments):
            return name in _FUNCTIONS and len(arguments) < 2
        case _:
            return False


def aggregate_of(name: str, written: ast.Expr, element: Type, scope: Scope, context: Context) -> Aggregate | None:
    """The aggregate of that name over records of `element`, whose columns a bare expression sees as names."""
    match written:
        case ast.Ref(name=said, span=span) if said in _FUNCTIONS:
            bare = True
            arguments: tuple[ast.Argument, ...] = ()
        case ast.Apply(function=ast.Ref(name=said), arguments=arguments, span=span) if is_aggregate(written):
            bare = False
        case other:
            said = other.function.name if isinstance(other, ast.Apply) and isinstance(other.function, ast.Ref) else ""
            context.report(
                Code.BAD_AGGREGATE,
                "this is not an aggregate",
                other.span,
                detail=f"Aggregates are {', '.join(_FUNCTIONS)}, of one argument.",
                hint=habits.FUNCTIONS.get(said, "") or suggest(said, _FUNCTIONS),
            )
            return None
    function = _FUNCTIONS[said]
    if function is AggregateFunction.COUNT and not arguments:
        return Aggregate(name, function, None, Int())
    if not arguments and not bare:
        context.report(Code.BAD_AGGREGATE, f'"{said}" aggregates nothing', span, hint=f"For example {said}(x => x).")
        return None
    argument = _argument(arguments[0].value, element, scope, context) if arguments else _whole(element)
    return None if argument is None else _typed_aggregate(name, function, argument, written, context)


def _whole(element: Type) -> Lambda:
    parameter = Var(_WHOLE, element)
    return Lambda((parameter,), parameter)


def _argument(written: ast.Expr, element: Type, scope: Scope, context: Context) -> Lambda | None:
    if isinstance(written, ast.Lambda):
        return lambda_of(written, (element,), scope, context, "an aggregate's argument")
    parameter = Var(_WHOLE, element)
    columns: dict[str, Expr | None] = {_WHOLE: parameter}
    if isinstance(element, Struct):
        columns = {field.name: Get(parameter, field.name, field.type) for field in element.fields}
    body = typed(written, scope.binding(columns), context)
    return None if body is None else Lambda((parameter,), body)


def _typed_aggregate(
    name: str, function: AggregateFunction, argument: Lambda, written: ast.Expr, context: Context
) -> Aggregate | None:
    """The aggregate with the type of its result, which is null only where every value may be."""
    body = argument.body
    result = _result(function, strip(body.type))
    if result is None or has_null(body.type):
        message = f'"{function.value}" does not take "{body.type}"'
        context.report(Code.BAD_AGGREGATE, message, written.span, detail=_TAKES[function])
        return None
    if function is AggregateFunction.SUM:
        body = convert(body, as_nullable(result) if is_nullable(body.type) else result) or body
    nullable = is_nullable(body.type) and function is not AggregateFunction.COUNT
    type_ = as_nullable(result) if nullable else result
    return Aggregate(name, function, Lambda(argument.parameters, body), type_)


_TAKES = {
    AggregateFunction.COUNT: "It counts the values that are not null.",
    AggregateFunction.SUM: "It adds numbers and durations.",
    AggregateFunction.MIN: "It compares values, and maps cannot be compared.",
    AggregateFunction.MAX: "It compares values, and maps cannot be compared.",
    AggregateFunction.MEAN: "It is the mean of numbers.",
}


def _result(function: AggregateFunction, of: Type) -> Type | None:
    match function, of:
        case AggregateFunction.COUNT, _:
            return Int()
        case AggregateFunction.SUM, Int() | Int32():
            return Int()
        case AggregateFunction.SUM, Float() | Duration():
            return of
        case AggregateFunction.MEAN, Int() | Int32() | Float():
            return Float()
        case ((AggregateFunction.MIN | AggregateFunction.MAX), _):
            return of if comparable(of) else None
        case _:
            return None
