"""What an expression is once its parameters are known: fields of records that are made in place, constants, choices
between branches.

Nothing is folded that may fail: an overflow stays where it is, to fail each record.
"""

import operator
from collections.abc import Callable, Mapping

from ghcm.expr import Call, Expr, Get, If, Lambda, Let, Literal, MakeStruct, Param, Var, rebuild, substitute
from ghcm.failing import can_fail
from ghcm.types import INT_MAX, INT_MIN, Bool, Int, String, Struct, is_nullable


def applied(function: Lambda, argument: Expr) -> Expr:
    """The body of a function of one parameter for this argument."""
    (parameter,) = function.parameters
    return folded(substitute(function.body, {parameter.name: argument}))


def is_atom(expr: Expr) -> bool:
    """Whether an expression costs nothing: a name, a constant, a field of one."""
    while isinstance(expr, Get):
        expr = expr.of
    return isinstance(expr, Var | Param) or (isinstance(expr, Literal) and not isinstance(expr.value, list | dict))


def folded(expr: Expr) -> Expr:
    """The expression with what is known of it worked out; of the same value, and failing for the same records."""
    return rebuild(expr, _folded)


def _folded(expr: Expr) -> Expr:
    match expr:
        case Get(of=MakeStruct(values=values, type=Struct() as of), field=name) if _only(values, of.index(name)):
            return values[of.index(name)]
        case If(condition=Literal(value=chosen), then=then, otherwise=otherwise):
            return then if chosen is True else otherwise
        case Let(variable=variable, value=value, body=body) if is_atom(value):
            return folded(substitute(body, {variable.name: value}))
        case Call():
            return _call(expr)
        case _:  # nothing is known of it
            return expr


def _only(values: tuple[Expr, ...], chosen: int) -> bool:
    """Whether the other fields may be left out: none of them can fail."""
    return not any(can_fail(each) for index, each in enumerate(values) if index != chosen)


_WHOLE: Mapping[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_TESTS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _call(call: Call) -> Expr:
    """Calls of whole numbers and truth values that are known."""
    match call.function, call.arguments:
        case name, (Literal(value=int() as a, type=Int()), Literal(value=int() as b, type=Int())) if name in _TESTS:
            return Literal(_TESTS[name](a, b), Bool())
        case name, (Literal(value=int() as a, type=Int()), Literal(value=int() as b, type=Int())) if name in _WHOLE:
            value = _WHOLE[name](a, b)
            return Literal(value, Int()) if INT_MIN <= value <= INT_MAX else call
        case "and", (Literal(value=True), other) | (other, Literal(value=True)):
            return other
        case "or", (Literal(value=False), other) | (other, Literal(value=False)):
            return other
        case "and", (Literal(value=False) as known, _):
            return known
        case "or", (Literal(value=True) as known, _):
            return known
        case "and", (other, Literal(value=False) as known) if not can_fail(other):
            return known
        case "or", (other, Literal(value=True) as known) if not can_fail(other):
            return known
        case "eq" | "ne" as name, (Literal(value=str() as a, type=String()), Literal(value=str() as b, type=String())):
            return Literal((a == b) is (name == "eq"), Bool())
        case "not", (Literal(value=bool() as known),):
            return Literal(not known, Bool())
        case "is_null" | "is_not_null", (Var(type=of),) if not is_nullable(of):
            return Literal(call.function == "is_not_null", Bool())
        case _:  # it is worked out for each record
            return call
