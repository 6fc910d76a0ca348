"""Which expressions can fail a record: what the optimiser and every emitter ask before they move or merge one.

Answers err on the safe side: `can_fail` may say yes for what never fails, never no for what may.
"""

from ghcm import types
from ghcm.expr import Call, Expr, Literal, Try, children
from ghcm.functions import FUNCTIONS
from ghcm.types import strip
from ghcm.unification import unify

_COUNTED = (types.Int, types.Int32, types.Timestamp, types.Duration)


def can_fail(expr: Expr) -> bool:
    """Whether evaluating the expression may fail the record."""
    if isinstance(expr, Try):
        return False
    return (isinstance(expr, Call) and call_can_fail(expr)) or any(map(can_fail, children(expr)))


def call_can_fail(call: Call) -> bool:
    """Whether the call itself may fail, of arguments that do not."""
    arguments = call.arguments
    kind = strip(arguments[0].type) if arguments else None
    match call.function:
        case "add" | "sub" | "mul" | "neg" | "abs":
            return isinstance(strip(call.type), _COUNTED)
        case "div" | "mod" | "quotient":
            return not _is_nonzero(arguments[1])
        case "floordiv":
            return not _is_nonzero(arguments[1]) or (
                isinstance(kind, types.Int | types.Duration) and constant(arguments[1]) == -1
            )
        case "to_int":
            return isinstance(kind, types.Float | types.String | types.Decimal)
        case "to_decimal":
            return unify(strip(call.type), kind) != strip(call.type) if kind is not None else True
        case "to_float":
            return isinstance(kind, types.String)
        case "get":
            return not isinstance(kind, types.Map)
        case "list_sum":
            return not isinstance(strip(call.type), types.Float | types.Decimal)
        case "substring":
            return not all(isinstance(value := constant(each), int) and value >= 0 for each in arguments[1:])
        case "split":
            return not constant(arguments[1])
        case name:
            return bool(FUNCTIONS[name].failures)


def _is_nonzero(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is not None and expr.value != 0


def constant(expr: Expr) -> object:
    """The value of a literal; None for anything else (and for the literal null)."""
    return expr.value if isinstance(expr, Literal) else None
