"""Whether expressions keep to their types: variables, fields, signatures of functions, values of literals.

Reads the types that stand on the nodes; it infers nothing and evaluates nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal as Number
from typing import assert_never, cast

from ghcm import types
from ghcm.expr import (
    Call,
    Each,
    Expr,
    ForEach,
    Get,
    If,
    Lambda,
    Let,
    Literal,
    MakeList,
    MakeStruct,
    Param,
    Try,
    Var,
    children,
)
from ghcm.functions import FUNCTIONS, resolve
from ghcm.types import INT_MAX, INT_MIN, as_nullable, is_nullable, strip
from ghcm.types.unification import accepts


def lambda_problems(
    function: Lambda, arguments: tuple[types.Type, ...], parameters: Mapping[str, types.Type]
) -> Iterator[str]:
    """What is wrong with a lambda that is given values of these types; `parameters` are the unit's."""
    if len(function.parameters) != len(arguments):
        yield f"a function of {len(function.parameters)} parameters is given {len(arguments)} values"
        return
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if not accepts(parameter.type, argument):
            yield f'"{parameter.name}" is "{parameter.type}", but is given "{argument}"'
    yield from expr_problems(function.body, {each.name: each.type for each in function.parameters}, parameters)


def expr_problems(
    expr: Expr, variables: Mapping[str, types.Type], parameters: Mapping[str, types.Type]
) -> Iterator[str]:
    """What is wrong with an expression, parts before wholes."""
    match expr:
        case ForEach(list=of, item=bound, body=body) | Let(value=of, variable=bound, body=body):
            yield from expr_problems(of, variables, parameters)
            yield from expr_problems(body, {**variables, bound.name: bound.type}, parameters)
        case _:  # the others bind no name
            for part in children(expr):
                yield from expr_problems(part, variables, parameters)
    problem = _problem(expr, variables, parameters)
    if problem:
        yield problem


def _problem(expr: Expr, variables: Mapping[str, types.Type], parameters: Mapping[str, types.Type]) -> str:
    match expr:
        case Literal(value=value, type=type_):
            return "" if is_value(value, type_) else f'{value!r} is no value of "{type_}"'
        case Var(name=name, type=type_):
            return (
                "" if variables.get(name) == type_ else f'variable "{name}" is "{variables.get(name)}", not "{type_}"'
            )
        case Param(name=name, type=type_):
            return (
                ""
                if parameters.get(name) == type_
                else f'parameter "{name}" is "{parameters.get(name)}", not "{type_}"'
            )
        case Get():
            return _get(expr)
        case Call():
            return _call(expr)
        case If(condition=condition, then=then, otherwise=otherwise, type=type_):
            if strip(condition.type) != types.Bool():
                return f'a condition is "{condition.type}"'
            return next((_misfit(type_, each) for each in (then, otherwise) if not accepts(type_, each.type)), "")
        case MakeStruct(values=values, type=type_):
            if not isinstance(type_, types.Struct) or len(type_.fields) != len(values):
                return f'{len(values)} values do not make "{type_}"'
            pairs = zip(type_.fields, values, strict=True)
            return next(
                (_misfit(field.type, value) for field, value in pairs if not accepts(field.type, value.type)), ""
            )
        case MakeList(items=items, type=type_):
            if not isinstance(type_, types.List):
                return f'a list is "{type_}"'
            return next((_misfit(type_.item, item) for item in items if not accepts(type_.item, item.type)), "")
        case ForEach():
            return _for_each(expr)
        case Let(variable=variable, value=value, body=body, type=type_):
            misfit = "" if accepts(variable.type, value.type) else _misfit(variable.type, value)
            return misfit or ("" if type_ == body.type else f'a let is "{type_}" and its body "{body.type}"')
        case Try(body=body, type=type_):
            return "" if type_ == as_nullable(body.type) else f'what is tried is "{body.type}", not "{type_}"'
        case _:
            assert_never(expr)


def _for_each(expr: ForEach) -> str:
    of, type_ = strip(expr.list.type), strip(expr.type)
    if not isinstance(of, types.List) or of.item != expr.item.type:
        return f'an item of "{of}" is no "{expr.item.type}"'
    if expr.kind is not Each.MAP and strip(expr.body.type) != types.Bool():
        return f'a condition is "{expr.body.type}"'
    match expr.kind:
        case Each.MAP:
            fits, nullable = type_ == types.List(expr.body.type), is_nullable(expr.list.type)
        case Each.FILTER:
            fits, nullable = isinstance(type_, types.List) and accepts(of.item, type_.item), is_nullable(expr.list.type)
        case Each.ANY | Each.ALL:
            fits, nullable = type_ == types.Bool(), is_nullable(expr.list.type) or is_nullable(expr.body.type)
        case _:
            assert_never(expr.kind)
    return "" if fits and nullable == is_nullable(expr.type) else f'"{expr.kind.value}" does not give "{expr.type}"'


def _misfit(wanted: types.Type, found: Expr) -> str:
    return f'"{found.type}" stands where "{wanted}" is asked for'


def _get(expr: Get) -> str:
    struct = strip(expr.of.type)
    field = struct.get(expr.field) if isinstance(struct, types.Struct) else None
    if field is None:
        return f'"{struct}" has no field "{expr.field}"'
    wanted = as_nullable(field.type) if is_nullable(expr.of.type) else field.type
    return "" if wanted == expr.type else f'field "{expr.field}" is "{wanted}", not "{expr.type}"'


def _call(call: Call) -> str:
    function = FUNCTIONS.get(call.function)
    if function is None:
        return f'there is no function "{call.function}"'
    given = tuple(each.type for each in call.arguments)
    resolution = resolve(function, given) if given else None
    shown = ", ".join(map(str, given))
    whole = call.function == "to_float" and isinstance(strip(given[0]), types.Int | types.Int32)
    pairs = zip(resolution.parameters if resolution else (), given, strict=False)
    if resolution is None or not (whole or all(accepts(to, each) for to, each in pairs)):
        return f"{call.function} does not take ({shown})"
    if resolution.result != call.type:
        return f'{call.function} of ({shown}) is "{resolution.result}", not "{call.type}"'
    if not all(isinstance(call.arguments[index], Literal) for index in function.constants if index < len(given)):
        return f"an argument of {call.function} is no constant"
    if function.bad_constant is None:
        return ""
    values = tuple(each.value if isinstance(each, Literal) else None for each in call.arguments)
    bad = function.bad_constant(tuple(map(strip, given)), values)
    return f"a constant of {call.function} cannot be: {bad.reason}" if bad else ""


def is_value(value: object, type_: types.Type) -> bool:
    """Whether it is a canonical value of the type."""
    match type_:
        case types.Nullable(of=of):
            return value is None or is_value(value, of)
        case types.Null():
            return value is None
        case types.Bool():
            return isinstance(value, bool)
        case types.Int() | types.Timestamp() | types.Duration():
            return type(value) is int and INT_MIN <= value <= INT_MAX
        case types.Int32() | types.Date():
            return type(value) is int and -(2**31) <= value < 2**31
        case types.Float():
            return type(value) is float
        case types.Decimal(precision=precision, scale=scale):
            return isinstance(value, Number) and value.is_finite() and _fits(value, precision, scale)
        case types.String():
            return type(value) is str and not any("\ud800" <= char <= "\udfff" for char in value)
        case types.Enumeration(values=values):
            return value in values
        case types.Bytes():
            return type(value) is bytes
        case types.List(item=item):
            return type(value) is list and all(is_value(each, item) for each in cast("list[object]", value))
        case types.Map(key=key, value=held):
            if not isinstance(value, dict):
                return False
            pairs = cast("dict[object, object]", value).items()
            return all(is_value(name, key) and is_value(each, held) for name, each in pairs)
        case types.Struct(fields=fields):
            if not isinstance(value, tuple):
                return False
            parts = cast("tuple[object, ...]", value)
            return len(parts) == len(fields) and all(
                is_value(each, field.type) for each, field in zip(parts, fields, strict=True)
            )
        case _:
            assert_never(type_)


def _fits(value: Number, precision: int, scale: int) -> bool:
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and -exponent <= scale and len(digits) + exponent <= precision - scale
