"""What rewrites do with expressions: put one in the place of a name."""

from dataclasses import replace

from ghcm import expr
from ghcm.expr import Call, Expr, Get, Lambda, MakeStruct, rebuild
from ghcm.functions import FUNCTIONS, resolve
from ghcm.types import Struct, is_nullable, strip


def substitute(function: Lambda, argument: Expr) -> Expr:
    """The body of a one-parameter lambda with `argument` in the place of its parameter; fields of a struct that is
    made on the spot are taken directly, and calls give no null then where nothing that they take is null."""
    (parameter,) = function.parameters

    def change(part: Expr) -> Expr:
        if isinstance(part, Get) and isinstance(part.of, MakeStruct) and isinstance(part.of.type, Struct):
            return part.of.values[part.of.type.index(part.field)]
        return _exactly(part) if isinstance(part, Call) else part

    return rebuild(expr.substitute(function.body, {parameter.name: argument}), change)


def _exactly(call: Call) -> Expr:
    """A call whose arguments may be known more exactly than before, with its result as they make it."""
    if call.function == "known" and not is_nullable(call.arguments[0].type):
        return call.arguments[0]
    if not is_nullable(call.type):
        return call
    found = resolve(FUNCTIONS[call.function], tuple(each.type for each in call.arguments))
    return replace(call, type=found.result) if found is not None and found.result == strip(call.type) else call
