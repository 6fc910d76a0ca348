"""Decimals in expressions: `to_decimal(x, 10, 2)`, `round_half_up(x, 2)`, `div(a, b, scale = 2)`, constants, and why
functions do not take them.

The precision of a decimal is part of its type, so that a call carries the type that it makes as an empty list of it. As
in SQL `9.99` is a float, but beside a decimal it is the number that was written.
"""

from collections.abc import Callable
from decimal import Decimal as Number

from ghcm.codes import Code
from ghcm.errors import Reported, attempt
from ghcm.expr import Call, Expr, Literal, MakeList, complete
from ghcm.functions.arithmetic import MAX_QUOTIENT, quotient_of, rounded
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.signatures import COMPARISONS
from ghcm.source import Span
from ghcm.types import Decimal, Float, Int, Int32, List, String, Type, as_nullable, is_nullable, nullable_like, strip
from ghcm.unification import MAX_PRECISION, MAX_SUMMED_PRECISION, as_decimal, unify
from ghcm.values import from_json
from ghcm.values.decimals import EXACT, at_scale

_HOW = {
    "to_decimal": "It is written to_decimal(x, 10, 2): ten digits, two of them behind the point.",
    "round_half_up": "It is written round_half_up(x, 2): two digits behind the point.",
    "div": "It is written div(a, b, scale = 2): two digits behind the point.",
}
_OF_FLOAT = (
    "A float is seldom the decimal that it was written as: read the field as a decimal, or say what is meant: "
    "to_decimal(to_string(x), 10, 2)."
)
_NO_QUOTIENT = (
    "A quotient of decimals has as many digits as it is told: div(a, b, scale = 4) rounds to four behind the point, a "
    "half away from zero; to_float(a) / to_float(b) is a float."
)
_BESIDE_FLOAT = (
    "A float beside a decimal would make the result inexact: say which is meant, to_float(x) or "
    "to_decimal(x, digits, scale)."
)
_OF_LISTS = (
    f"Decimals of up to {MAX_SUMMED_PRECISION} digits have a sum, "
    f"xs.sum(x => to_decimal(x, {MAX_SUMMED_PRECISION}, 2)), and floats a mean, xs.mean(x => to_float(x))."
)
_TOO_WIDE = (
    f"All digits of the result may be more than the {MAX_PRECISION} that a decimal has: to_decimal(x, digits, scale) "
    "and round_half_up(x, scale) make a decimal of fewer."
)
_BESIDE_TEXT = "A constant is written as a number, 9.99; to_decimal(x, digits, scale) reads a text."
_OF_BOTH = ("sub", "mul", *COMPARISONS)
_DIVIDING = ("div", "floordiv", "mod")


def to_decimal(operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope) -> Expr:
    """`to_decimal(x, 10, 2)`; a constant becomes a constant."""
    of, (precision, scale) = _value_and_digits("to_decimal", operands, 2, span, scope)
    if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
        message = f"there is no decimal({precision}, {scale})"
        detail = f"It has {MAX_PRECISION} digits at most, and no more of them behind the point."
        hint = _HOW["to_decimal"]
        raise scope.report(Code.BAD_CONSTANT, message, operands[1].value.span, detail=detail, hint=hint)
    to = Decimal(precision, scale)
    if isinstance(of, Literal) and isinstance(of.value, int | float | str) and not isinstance(of.value, bool):
        return _constant(of.value, to, operands[0].value.span, scope)
    if not isinstance(strip(of.type), Int | Int32 | Decimal | String):
        message = f'"to_decimal" does not take "{of.type}"'
        hint = _OF_FLOAT if isinstance(strip(of.type), Float) else _HOW["to_decimal"]
        raise scope.report(Code.BAD_OPERANDS, message, operands[0].value.span, hint=hint)
    if isinstance(strip(of.type), Int32):
        of = Call("widen", (of,), nullable_like(Int(), of.type))
    return typed_call("to_decimal", of, to)


def round_half_up(operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope) -> Expr:
    """`round_half_up(x, 2)`."""
    of, (scale,) = _value_and_digits("round_half_up", operands, 1, span, scope)
    kind = strip(of.type)
    if not isinstance(kind, Decimal):
        message = f'"round_half_up" does not take "{of.type}"'
        hint = "It rounds decimals; to_decimal(x, digits, scale) makes one of an int or a string."
        raise scope.report(Code.BAD_OPERANDS, message, operands[0].value.span, hint=hint)
    return of if scale >= kind.scale else typed_call("round_half_up", of, rounded(kind, scale))


def quotient(operands: tuple[ast.Argument, ...], span: Span | None, scope: Scope) -> Expr:
    """`div(a, b, scale = 2)`."""
    of, (scale,) = _value_and_digits("div", operands[:1] + operands[2:], 1, span, scope)
    both = [_as_decimal(each) for each in (of, scope.typed(operands[1].value))]
    kinds = [strip(each.type) for each in both]
    for each, kind in zip(operands, kinds, strict=False):
        if not isinstance(kind, Decimal):
            message = f'"div" does not take "{kind}"'
            hint = "It divides decimals and whole numbers; a / b divides floats."
            raise scope.report(Code.BAD_OPERANDS, message, each.value.span, hint=hint)
    left, right = (kind for kind in kinds if isinstance(kind, Decimal))
    to = quotient_of(left, right, scale)
    if to is None:
        message = f'"div" of "{left}" and "{right}" cannot have {scale} digits behind the point'
        detail = f"The quotient would have more than {MAX_QUOTIENT} digits, or what is divided five more than these."
        hint = "to_decimal(x, digits, scale) makes a decimal of fewer."
        raise scope.report(Code.BAD_OPERANDS, message, span, detail=detail, hint=hint)
    result = as_nullable(to) if any(is_nullable(each.type) for each in both) else to
    return Call("quotient", (*both, Literal([], List(to))), result)


def _as_decimal(expr: Expr) -> Expr:
    """A whole number as a decimal, and a constant as it was written; anything else as it is."""
    if isinstance(expr, Literal):
        return written_decimal(expr) or expr
    if isinstance(strip(expr.type), Int32):
        expr = Call("widen", (expr,), nullable_like(Int(), expr.type))
    return typed_call("to_decimal", expr, Decimal(19, 0)) if isinstance(strip(expr.type), Int) else expr


def typed_call(function: str, of: Expr, to: Decimal) -> Expr:
    """The call of a function that makes a decimal of that type."""
    return Call(function, (of, Literal([], List(to))), nullable_like(to, of.type))


def _value_and_digits(
    name: str, operands: tuple[ast.Argument, ...], count: int, span: Span | None, scope: Scope
) -> tuple[Expr, list[int]]:
    of = attempt(scope.typed, operands[0].value) if operands else None
    named = [each for each in operands if each.name not in (None, "scale" if each is operands[-1] else None)]
    if len(operands) != count + 1 or named:
        raise scope.report(Code.BAD_OPERANDS, f'"{name}" takes a value and its digits', span, hint=_HOW[name])
    found: list[int] = []
    for each in operands[1:]:
        number = each.value.value if isinstance(each.value, ast.Literal) else None
        if not isinstance(number, int) or isinstance(number, bool):
            message = f'the digits of "{name}" are not constant whole numbers'
            raise scope.report(Code.NOT_CONSTANT, message, each.value.span, hint=_HOW[name])
        found.append(number)
    if of is None:
        raise Reported
    return of, found


def _constant(value: float | str, to: Decimal, span: Span | None, scope: Scope) -> Expr:
    try:
        made = Literal(from_json(value, to), to) if isinstance(value, str) else decimal_constant(value, to)
    except ValueError:
        made = None
    if made is None:
        hint = "Nothing is rounded: a constant has no more digits than its type."
        raise scope.report(Code.BAD_CONSTANT, f'"{value}" is no "{to}"', span, hint=hint)
    return made


def decimal_advice(function: str, types: tuple[Type, ...]) -> str:
    """Why a function does not take decimals, and what to do."""
    if function in ("list_sum", "list_mean"):
        return _OF_LISTS
    if function in _DIVIDING:
        return _NO_QUOTIENT
    if any(isinstance(strip(each), Float) for each in types):
        return _BESIDE_FLOAT
    if function in _OF_BOTH and any(isinstance(strip(each), String) for each in types):
        return _BESIDE_TEXT
    exact = [as_decimal(strip(each)) for each in types]
    if len(exact) == 2 and None not in exact:
        return _TOO_WIDE
    return "to_float(x), to_int(x) and to_string(x) make something else of a decimal."


_SURE = 15
"""So many digits of a constant every float keeps."""
_BESIDE = ("add", "sub", "mul", *COMPARISONS, "least", "greatest", "coalesce")


def written_decimal(literal: Literal) -> Literal | None:
    """A constant number as the decimal that was written; None of other constants, and of too many digits.

    >>> written_decimal(Literal(0.25, Float()))
    Literal(value=Decimal('0.25'), type=Decimal(precision=2, scale=2))
    """
    if isinstance(literal.value, bool) or not isinstance(literal.value, int | float):
        return None
    number = Number(repr(literal.value))
    if not number.is_finite() or len(number.as_tuple().digits) > (_SURE if isinstance(literal.value, float) else 19):
        return None
    _, behind = f"{number.normalize() if isinstance(literal.value, float) else number:f}.".split(".")[:2]
    if len(behind) > MAX_PRECISION:
        return None
    exact = at_scale(number, len(behind))
    precision = max(len(exact.as_tuple().digits), len(behind))
    return Literal(exact, Decimal(precision, len(behind))) if precision <= MAX_PRECISION else None


def decimal_constant(value: object, to: Decimal) -> Literal | None:
    """A constant as one of that decimal type; None where it does not fit or is no number."""
    if isinstance(value, float):
        found = written_decimal(Literal(value, Float()))
        return None if found is None else decimal_constant(found.value, to)
    if isinstance(value, bool) or not isinstance(value, int | Number):
        return None
    try:
        number = at_scale(Number(value), to.scale)
    except ArithmeticError:
        return None
    return Literal(number, to) if len(number.as_tuple().digits) <= to.precision else None


def beside_decimals(function: str, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The arguments of arithmetic, a comparison or a choice, constant numbers beside a decimal as decimals."""
    if function == "contains" and len(arguments) == 2:
        return _in_list(*arguments)
    if function not in _BESIDE or not any(isinstance(strip(each.type), Decimal) for each in arguments):
        return arguments
    return tuple(_beside(each) for each in arguments)


def _in_list(several: Expr, one: Expr) -> tuple[Expr, ...]:
    """A list of constant numbers in which a decimal is looked for, as decimals that hold them all and it too."""
    common: Type | None = strip(one.type)
    if not isinstance(several, MakeList) or not isinstance(common, Decimal):
        return several, one
    found = [_beside(each) for each in several.items]
    for each in found:
        common = None if common is None else unify(common, each.type)
    if not isinstance(common, Decimal):
        return several, one
    known = complete(decimal_constant(each.value, common) if isinstance(each, Literal) else None for each in found)
    return (several, one) if known is None else (MakeList(known, List(common)), one)


def _beside(expr: Expr) -> Expr:
    constant = _number(expr)
    return expr if constant is None else written_decimal(constant) or expr


_OF_CONSTANTS: dict[str, Callable[..., Number]] = {
    "add": EXACT.add,
    "sub": EXACT.subtract,
    "mul": EXACT.multiply,
    "neg": EXACT.minus,
}


def _number(expr: Expr) -> Literal | None:
    """A constant number, or the sum, difference or product of some as they were written: `1 + 0.19`."""
    if isinstance(expr, Literal):
        return expr
    if not isinstance(expr, Call) or expr.function not in _OF_CONSTANTS or not isinstance(expr.type, Int | Float):
        return None
    parts = [None if (each := _number(part)) is None else written_decimal(each) for part in expr.arguments]
    known = [each.value for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    found = float(_OF_CONSTANTS[expr.function](*known))
    return Literal(found, Float())
