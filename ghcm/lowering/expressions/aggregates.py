"""Aggregates: `count()`, `sum(v => v.bytes)`, `quantile(x, 0.9)` of an aggregation or of a published call."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ghcm.aggregates import AGGREGATES, PAIR, Rule, fraction_problem, mean_of_decimals, result_of
from ghcm.codes import Code
from ghcm.errors import Reported, sound, suggest
from ghcm.expr import Call, Expr, If, Lambda, Literal, MakeStruct, Param, Var, free_names, substitute
from ghcm.functions import comparable
from ghcm.language import ast, trees
from ghcm.lowering import foreign_idioms
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.expressions import own_aggregates
from ghcm.lowering.expressions.conversion import convert
from ghcm.lowering.expressions.functions import VALUE, lambda_of, of_columns, over_names
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.types import has_null
from ghcm.operators import Argument
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.signatures import OF_MAPS
from ghcm.source import Span
from ghcm.types import (
    Bool,
    Decimal,
    Float,
    Int,
    Int32,
    List,
    Struct,
    Type,
    as_nullable,
    is_nullable,
    nullable_like,
    strip,
)
from ghcm.unification import accepts, as_decimal

_FUNCTIONS = {function.value: function for function in AggregateFunction}
_ARRIVAL = "arrival"
"""The order in which records come, unless they have a field of this name."""
_BESIDES_EXPRESSIONS = (AggregateFunction.MIN, AggregateFunction.MAX)
"""Those whose names mean a function of two values, too."""
_SECOND = {
    "": (),
    "fraction": (Argument("fraction", "float"),),
    "count": (Argument("count", "int"),),
    "scale": (Argument("scale", "int", required=False, positional=False),),
    "other": (Argument("other", "any"),),
    "fold": own_aggregates.ARGUMENTS,
    "order": (
        Argument("count", "int", required=False),
        Argument("order", "lambda1", required=False, positional=False, choices=(_ARRIVAL,)),
    ),
}
_WHERE = Argument("where", "lambda1", required=False, positional=False)
"""Which records count; every aggregate takes it."""
ARGUMENTS = {
    function.value: (Argument("value", "any", required=False), *_SECOND[rule.option], _WHERE)
    for function, rule in AGGREGATES.items()
}
"""What each aggregate takes, by its name."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The records that are aggregated: their type, whether they have event time, and what expressions over them see.

    `unordered` says why none of them comes first; empty where they come one after the other. `endless`: they never
    cease to come to one aggregate. Inside a function that is an aggregate, `names` are its parameters as expressions of
    the record `value`, `where` says which records it takes, and it is `inside` of these functions.
    """

    element: Type
    timed: bool
    scope: Scope
    unordered: str
    endless: bool = False
    names: Mapping[str, Expr] | None = None
    where: Lambda | None = None
    inside: tuple[str, ...] = ()


def is_aggregate(written: ast.Expr, declared: Collection[str] = ()) -> bool:
    """Whether an expression is written like an aggregate: one of their names, or of those that the program has
    declared; `min(a, b)` is the lesser of two.
    """
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in declared:
            return True
        case ast.Ref(name=name):
            return name in _FUNCTIONS
        case ast.Apply(function=ast.Ref(name=name), arguments=arguments):
            values = [each for each in arguments if each.name is None]
            return name in _FUNCTIONS and (len(values) < 2 or _FUNCTIONS[name] not in _BESIDES_EXPRESSIONS)
        case _:
            return False


def of_aggregates(functions: Mapping[str, ast.FunctionDecl]) -> dict[str, ast.FunctionDecl]:
    """The functions whose body is an aggregate, or one of these."""
    found: dict[str, ast.FunctionDecl] = {}
    while True:
        further = {
            name: each
            for name, each in functions.items()
            if name not in found and isinstance(each.body, ast.Apply) and is_aggregate(each.body, found)
        }
        if not further:
            return found
        found |= further


def aggregate_of(name: str, written: ast.Expr, over: Aggregated) -> Aggregate:
    """The aggregate of that name over records, whose columns a bare expression sees as names."""
    context = over.scope.context
    match written:
        case ast.Apply(function=ast.Ref(name=said)) if said in context.aggregates:
            return aggregate_of(name, context.aggregates[said].body, _inside(context.aggregates[said], written, over))
        case ast.Ref(name=said) if said in _FUNCTIONS:
            call = ast.Apply(written, (), span=written.span)
        case ast.Apply(function=ast.Ref(name=said)) if is_aggregate(written):
            call = written
        case other:
            said = other.function.name if isinstance(other, ast.Apply) and isinstance(other.function, ast.Ref) else ""
            detail = f"Aggregates are {', '.join((*_FUNCTIONS, *context.aggregates))}."
            hint = foreign_idioms.FUNCTIONS.get(said, "") or suggest(said, (*_FUNCTIONS, *context.aggregates))
            if any(is_aggregate(part) for part in trees.walk(other) if isinstance(part, ast.Apply)):
                hint = "map(...) behind it computes with aggregates: n = count(), total = sum(x), then total / n."
            message = "this is not an aggregate"
            raise over.scope.report(Code.BAD_AGGREGATE, message, other.span, detail=detail, hint=hint)
    rule = AGGREGATES[_FUNCTIONS[said]]
    if rule.function is AggregateFunction.COUNT and not call.arguments and over.where is None:
        return Aggregate(name, rule.function, None, Int())
    if not call.arguments and call is written:
        hint = f"For example {rule.signature.rpartition('), ')[2].replace('x', 'x => x', 1)}."
        raise over.scope.report(Code.BAD_AGGREGATE, f'"{said}" aggregates nothing', call.span, hint=hint)
    given = match_arguments(said, ARGUMENTS[said], call, context)
    if given.dropped:
        raise Reported
    value, parameter = given.expr("value"), Var(VALUE, over.element)
    argument = Lambda((parameter,), parameter)
    if value is not None:
        argument = _argument(value, over, "an aggregate's argument")
        if (second := given.expr("other")) is not None:
            argument = _paired(said, argument, _argument(second, over, f'"other" of "{said}"'), written, over)
    elif rule.function is AggregateFunction.COUNT:
        argument = Lambda((parameter,), Literal(0, Int()))
    folding = rule.function is AggregateFunction.FOLD
    fold = own_aggregates.fold_of(given, argument, over.scope) if folding else None
    argument = argument if fold is None else fold.argument
    if (condition := given.expr("where")) is not None:
        argument = _where(argument, _argument(condition, over, f'"where" of "{said}"'), condition.span, over)
    if over.where is not None:
        argument = _where(argument, over.where, written.span, over)
    if fold is not None:
        result = fold.finish.body.type
        made = Aggregate(name, rule.function, argument, result, reducer=fold.reducer, finish=fold.finish)
        return _in_order(made, given, over, written.span)
    found = _typed_aggregate(name, rule, argument, written, over, given)
    return _with_option(found, rule, given, over, written.span)


def _argument(written: ast.Expr, over: Aggregated, what: str) -> Lambda:
    element = over.element
    if isinstance(written, ast.Lambda):
        return lambda_of(written, (element,), over.scope, what)
    if over.names is not None:
        return over_names(written, (Var(VALUE, element),), over.names, over.scope, what)
    return of_columns(written, element, over.scope, what, name=VALUE)


def _inside(function: ast.FunctionDecl, call: ast.Apply, over: Aggregated) -> Aggregated:
    """What the body of a function sees that is an aggregate, called with these arguments over records."""
    name, context = function.name.text, over.scope.context
    given = own_aggregates.arguments(function, call, over.inside, context)
    whole, names, constants = Var(VALUE, over.element), dict[str, Expr](), dict[str, Expr | None]()
    for parameter in function.parameters:
        written, what = given.required(parameter.name.text), f'"{parameter.name.text}" of "{name}"'
        made = _argument(written, over, what)
        body = substitute(made.body, {made.parameters[0].name: whole})
        body = fits(body, context.records.type_of(parameter.type), what, written.span, context)
        (names if VALUE in free_names(body) else constants)[parameter.name.text] = body
    own_aggregates.check_captured(function, names, call, context)
    where, condition = over.where, given.expr("where")
    if condition is not None:
        where = _argument(condition, over, f'"where" of "{name}"')
    scope, inside = Scope(context, variables=constants), (*over.inside, name)
    return replace(over, scope=scope, names=names, where=where, inside=inside)


def check_declared(function: ast.FunctionDecl, context: Context) -> None:
    """Report what is wrong with a function that is an aggregate, whatever it is called with."""
    parameters = {
        each.name.text: Param(each.name.text, context.records.type_of(each.type)) for each in function.parameters
    }
    scope, name = Scope(context, variables=parameters), function.name.text
    found = aggregate_of("value", function.body, Aggregated(Struct(()), True, scope, "", names={}, inside=(name,)))
    result = context.records.type_of(function.result)
    if not accepts(result, found.type):
        message = f'the result of function "{name}" is "{result}", but this is "{found.type}"'
        raise context.report(Code.WRONG_TYPE, message, function.body.span)


def _paired(said: str, one: Lambda, two: Lambda, written: ast.Expr, over: Aggregated) -> Lambda:
    """Two numbers of a record as one value, null where one is null."""
    (parameter,), (its,) = one.parameters, two.parameters
    parts: list[Expr] = []
    for part in (one.body, substitute(two.body, {its.name: parameter})):
        wanted = nullable_like(Float(), part.type)
        number = None if has_null(part.type) else convert(part, wanted)
        if number is None:
            message = f'"{said}" does not take "{part.type}"'
            detail = AGGREGATES[_FUNCTIONS[said]].takes
            hint = f"{said}(to_float(x), to_float(y)) is of floats." if isinstance(strip(part.type), Decimal) else ""
            raise over.scope.report(Code.BAD_AGGREGATE, message, written.span, detail=detail, hint=hint)
        parts.append(number)
    missing = [Call("is_null", (part,), Bool()) for part in parts if is_nullable(part.type)]
    if not missing:
        return Lambda((parameter,), MakeStruct(tuple(parts), PAIR))
    sure = tuple(Call("known", (part,), Float()) if is_nullable(part.type) else part for part in parts)
    test = missing[0] if len(missing) == 1 else Call("or", tuple(missing), Bool())
    type_ = as_nullable(PAIR)
    return Lambda((parameter,), If(test, Literal(None, type_), MakeStruct(sure, PAIR), type_))


def _where(argument: Lambda, condition: Lambda, span: Span | None, over: Aggregated) -> Lambda:
    """The argument of the records for which a condition is true, and null for the others, which aggregates skip."""
    test = condition.body
    if strip(test.type) != Bool():
        message = f'"where" is a condition, and this is "{test.type}"'
        raise over.scope.report(Code.WRONG_TYPE, message, span, hint="For example where = r => r.bytes > 0.")
    (parameter,), (its,) = argument.parameters, condition.parameters
    test = substitute(test, {its.name: parameter})
    if is_nullable(test.type):
        test = Call("coalesce", (test, Literal(False, Bool())), Bool())
    type_ = as_nullable(argument.body.type)
    return Lambda((parameter,), If(test, argument.body, Literal(None, type_), type_))


_OF_DECIMALS = {
    AggregateFunction.MEAN: "mean(x, scale = 4) is exact to four digits behind the point, mean(to_float(x)) a float.",
    AggregateFunction.VAR: "var(to_float(x)) is of floats.",
    AggregateFunction.STD: "std(to_float(x)) is of floats.",
    AggregateFunction.APPROX_DISTINCT: "distinct_count(x) counts any values.",
    AggregateFunction.MEDIAN: "quantile(x, 0.5) is of any values.",
}


def _typed_aggregate(
    name: str, rule: Rule, argument: Lambda, written: ast.Expr, over: Aggregated, given: Given
) -> Aggregate:
    body = argument.body
    if rule.option == "scale" and given.expr("scale") is not None:
        return _rounded_mean(name, argument, written, over, sound(given.integer("scale", least=0)))
    result = result_of(rule.function, body.type)
    if result is None or has_null(body.type):
        message = f'"{rule.function.value}" does not take "{body.type}"'
        hint = _OF_DECIMALS.get(rule.function, "") if isinstance(strip(body.type), Decimal) else ""
        raise over.scope.report(Code.BAD_AGGREGATE, message, written.span, detail=rule.takes, hint=hint)
    if rule.function is AggregateFunction.SUM and isinstance(strip(body.type), Int32):
        body = convert(body, nullable_like(result, body.type)) or body
    return Aggregate(name, rule.function, Lambda(argument.parameters, body), result)


def _rounded_mean(name: str, argument: Lambda, written: ast.Expr, over: Aggregated, scale: int) -> Aggregate:
    """A mean of decimals, or of whole numbers, with so many digits behind the point."""
    of = as_decimal(strip(argument.body.type))
    body = None if of is None else convert(argument.body, nullable_like(of, argument.body.type))
    result = None if of is None else mean_of_decimals(of, scale)
    if body is None or result is None:
        message = f'"mean" with a scale does not take "{argument.body.type}"'
        hint = "mean(x) is the mean of floats." if isinstance(strip(argument.body.type), Float) else ""
        if of is not None:
            message = f'"mean" of "{argument.body.type}" cannot have {scale} digits behind the point'
            hint = "mean(to_decimal(x, 18, 2), scale = 4) is of fewer digits, of which the sum has ten more."
        detail = "It takes decimals and whole numbers."
        raise over.scope.report(Code.BAD_AGGREGATE, message, written.span, detail=detail, hint=hint)
    return Aggregate(name, AggregateFunction.MEAN, Lambda(argument.parameters, body), nullable_like(result, body.type))


def _with_option(found: Aggregate, rule: Rule, given: Given, over: Aggregated, span: Span | None) -> Aggregate:
    match rule.option:
        case "" | "scale" | "other" | "fold":
            return found
        case "count":
            return replace(found, limit=sound(given.integer("count", least=1)))
        case "fraction":
            fraction = sound(given.number("fraction"))
            if problem := fraction_problem(fraction):
                message, hint = f'"fraction" of "quantile" {problem}', "For example quantile(x, 0.95)."
                raise over.scope.report(Code.OUT_OF_RANGE, message, given.span("fraction"), hint=hint)
            return replace(found, fraction=fraction)
        case "order":
            return _with_order(_several(found, given), given, over, span)


def _several(found: Aggregate, given: Given) -> Aggregate:
    """The list of so many, where a number is given."""
    if given.expr("count") is None:
        return found
    limit = sound(given.integer("count", least=1))
    return replace(found, limit=limit, type=List(strip(found.type)))


def _with_order(found: Aggregate, given: Given, over: Aggregated, span: Span | None) -> Aggregate:
    """`first` and `last` by an order or by arrival, or by event time where there is one."""
    name = found.function.value
    written = given.expr("order")
    if isinstance(written, ast.Ref) and written.name == _ARRIVAL and not _has_column(over.element, _ARRIVAL):
        if over.unordered:
            message = f'"{name}" by arrival needs records that come one after the other'
            hint = f"{name}(x, order = r => ...) goes by a value of the records."
            raise over.scope.report(Code.BAD_ORDER, message, written.span, detail=over.unordered, hint=hint)
        return replace(found, arrival=True)
    order = None if written is None else _argument(written, over, f'"order" of "{name}"')
    if order is None and not over.timed:
        message = f'"{name}" goes by event time, and these records have none'
        by = f"{name}(x, order = r => ...) says which is {name}"
        by += f", {name}(x, order = arrival) takes the one that came {name}" if not over.unordered else ""
        hint = f"{by}; {_NEAR_THE_SOURCE}"
        raise over.scope.report(Code.NEEDS_TIME, message, span, hint=hint)
    for type_ in (over.element,) if order is None else (order.body.type, over.element):
        if not comparable(type_):
            message = f'"{type_}" has no order'
            raise over.scope.report(Code.NOT_COMPARABLE, message, span, hint=OF_MAPS)
    return replace(found, order=order)


def _in_order(fold: Aggregate, given: Given, over: Aggregated, span: Span | None) -> Aggregate:
    """A fold that has no merge with its order."""
    order = given.span("order")
    if fold.reducer is not None:
        if order is not None:
            message, hint = '"merge" goes in any order, and "order" in one', "Without merge, values go in the order."
            raise over.scope.report(Code.BAD_ORDER, message, order, hint=hint)
        return fold
    if over.endless:
        message = "values that come for ever cannot be added in order"
        hint = "window(...) makes groups that end; merge = (a, b) => ... makes one of two in any order."
        raise over.scope.report(Code.BAD_ORDER, message, order or span, hint=hint)
    if given.expr("order") is None and not over.timed:
        message = '"fold" without a merge adds values by event time, and these records have none'
        hint = f"order = r => ... says which is first, merge = (a, b) => ... goes in any order; {_NEAR_THE_SOURCE}"
        raise over.scope.report(Code.NEEDS_TIME, message, span, hint=hint)
    return _with_order(fold, given, over, span)


def _has_column(element: Type, name: str) -> bool:
    return isinstance(element, Struct) and element.get(name) is not None


_NEAR_THE_SOURCE = "event_time(...) near the source gives records their time."
