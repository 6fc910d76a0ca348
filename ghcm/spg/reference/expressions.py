"""The meaning of expressions: a value for a record, or the failure of the record.

Arguments are evaluated from left to right, all of them before nulls are looked at; only `and`, `or`, `coalesce` and
`if` leave some out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never, cast

from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeList, MakeStruct, Param, Var
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.spg.reference.functions import call
from ghcm.types import Struct, strip

__all__ = ["apply", "evaluate"]


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
        case Call(function="and" | "or" as name, arguments=(left, right)):
            return _logic(name == "or", left, right, variables, parameters)
        case Call(function="coalesce", arguments=arguments):
            found = (evaluate(each, variables, parameters) for each in arguments)
            return next((value for value in found if value is not None), None)
        case Call(function=name, arguments=arguments):
            given = [evaluate(each, variables, parameters) for each in arguments]
            if FUNCTIONS[name].nulls is Nulls.PROPAGATE and any(each is None for each in given):
                return None
            return call(name, arguments[0].type, given)
        case _:
            assert_never(expr)


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
