"""The meaning of expressions: a value for a record, or the failure of the record.

Arguments are evaluated from left to right, all of them before nulls are looked at; only `and`, `or`, `coalesce` and
`if` leave some out.
"""

from collections.abc import Mapping
from typing import assert_never, cast

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Lambda, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.spg.reference.functions import Failed, Types, call
from ghcm.types import Struct, strip


def apply(function: Lambda, arguments: tuple[object, ...], parameters: Mapping[str, object]) -> object:
    """The value of a lambda for its arguments; `Failed` where the record fails."""
    names = [each.name for each in function.parameters]
    return evaluate(function.body, dict(zip(names, arguments, strict=True)), parameters)


def evaluate(expr: Expr, variables: Mapping[str, object], parameters: Mapping[str, object]) -> object:
    """The value of an expression; `Failed` where the record fails."""
    match expr:
        case Literal(value=value):
            return value
        case Var(name=name):
            return variables[name]
        case Param(name=name):
            return parameters[name]
        case Get(of=of, field=field):
            struct = evaluate(of, variables, parameters)
            index = cast("Struct", strip(of.type)).index(field)
            return None if struct is None else cast("tuple[object, ...]", struct)[index]
        case If(condition=condition, then=then, otherwise=otherwise):
            taken = then if evaluate(condition, variables, parameters) is True else otherwise
            return evaluate(taken, variables, parameters)
        case MakeStruct(values=values):
            return tuple([evaluate(each, variables, parameters) for each in values])
        case MakeList(items=items):
            return [evaluate(each, variables, parameters) for each in items]
        case ForEach():
            return _for_each(expr, variables, parameters)
        case Let(variable=variable, value=value, body=body):
            given = evaluate(value, variables, parameters)
            return evaluate(body, {**variables, variable.name: given}, parameters)
        case Try(body=body):
            try:
                return evaluate(body, variables, parameters)
            except Failed:
                return None
        case Call(function="and" | "or" as name, arguments=(left, right)):
            return _logic(name == "or", left, right, variables, parameters)
        case Call(function="coalesce", arguments=arguments):
            lazy = (evaluate(each, variables, parameters) for each in arguments)
            return next((value for value in lazy if value is not None), None)
        case Call(function=name, arguments=arguments, type=result):
            found = [evaluate(each, variables, parameters) for each in arguments]
            if FUNCTIONS[name].nulls is Nulls.PROPAGATE and any(each is None for each in found):
                return None
            return call(name, Types(tuple(each.type for each in arguments), result), found)
        case _:
            assert_never(expr)


def _for_each(expr: ForEach, variables: Mapping[str, object], parameters: Mapping[str, object]) -> object:
    items = evaluate(expr.list, variables, parameters)
    if items is None:
        return None
    if expr.kind is Each.FOLD:
        return _fold(expr, cast("tuple[object, list[object] | None]", items), variables, parameters)
    several = cast("list[object]", items)
    values = [evaluate(expr.body, {**variables, expr.item.name: each}, parameters) for each in several]
    match expr.kind:
        case Each.MAP:
            return values
        case Each.FILTER:
            return [item for item, value in zip(several, values, strict=True) if value is True]
        case Each.ANY:
            return True if True in values else None if None in values else False
        case Each.ALL:
            return False if False in values else None if None in values else True
        case _:
            assert_never(expr.kind)


def _fold(
    expr: ForEach,
    given: tuple[object, list[object] | None],
    variables: Mapping[str, object],
    parameters: Mapping[str, object],
) -> object:
    so_far, items = given
    if items is None:
        return None
    for item in items:
        so_far = evaluate(expr.body, {**variables, expr.item.name: (so_far, item)}, parameters)
    return so_far


def _logic(
    decides: bool, left: Expr, right: Expr, variables: Mapping[str, object], parameters: Mapping[str, object]
) -> bool | None:
    """`or` is decided by true, `and` by false; else null beats the other value."""
    first = evaluate(left, variables, parameters)
    if first is decides:
        return decides
    second = evaluate(right, variables, parameters)
    if second is decides:
        return decides
    return None if first is None or second is None else not decides
