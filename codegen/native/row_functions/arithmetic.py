"""Arithmetic as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper, infix, kind_of
from ghcm.codegen.native.row_text import PRODUCT, SUM, UNARY, Code
from ghcm.expr import Call
from ghcm.types import Decimal, Duration, Float, List, String, strip


def _arithmetic(operator: str, level: int, checked: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        match kind_of(expr):
            case Float() | String() | List():
                return infix(operator, level, *codes)
            case Decimal():
                return helper(checked.replace(".", ".exact_"), *codes)
            case _:
                return helper(checked, *codes)

    return emit


def _divide(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    if isinstance(kind_of(expr), Duration):
        codes = [Code(f"float({each.inner})") for each in codes]
    return infix("/", PRODUCT, *codes) if constant(expr.arguments[1]) else helper("arithmetic.divide", *codes)


def _floordiv(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    divisor = constant(expr.arguments[1])
    if divisor and (divisor != -1 or isinstance(kind_of(expr), Float)):
        return infix("//", PRODUCT, *codes)
    return helper("arithmetic.floordiv_float" if isinstance(kind_of(expr), Float) else "arithmetic.floordiv", *codes)


def _modulo(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return infix("%", PRODUCT, *codes) if constant(expr.arguments[1]) else helper("arithmetic.modulo", *codes)


def _negate(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match kind_of(expr):
        case Float():
            return Code(f"-{codes[0].at(UNARY)}", UNARY)
        case Decimal():
            return helper("arithmetic.exact_negate", *codes)
        case _:
            return helper("arithmetic.negate", *codes)


def _absolute(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match kind_of(expr):
        case Float():
            return Code(f"abs({codes[0].inner})")
        case Decimal():
            return helper("arithmetic.exact_absolute", *codes)
        case _:
            return helper("arithmetic.absolute", *codes)


def _round_half_up(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    to = strip(expr.type)
    assert isinstance(to, Decimal)
    return helper("arithmetic.round_half_up", codes[0], Code(str(to.scale)))


EMITTERS: dict[str, Emit] = {
    "add": _arithmetic("+", SUM, "arithmetic.add"),
    "sub": _arithmetic("-", SUM, "arithmetic.subtract"),
    "mul": _arithmetic("*", PRODUCT, "arithmetic.multiply"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "round_half_up": _round_half_up,
}
