"""Values that the compiler knows: defaults of parameters, rows written into a program, fixed moments."""

from __future__ import annotations

from ghcm.expr import Call, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Value, Var

__all__ = ["NotConstant", "constant"]


class NotConstant(ValueError):
    """An expression whose value is known only when it runs."""


def constant(expr: Expr) -> Value:
    """The canonical value of an expression of literals; NotConstant for any other."""
    match expr:
        case Literal(value=value):
            return value
        case MakeStruct(values=values):
            return tuple(map(constant, values))
        case MakeList(items=items):
            return list(map(constant, items))
        case Call(function="from_micros", arguments=(micros,)):
            return constant(micros)
        case Call() | Get() | If() | Var() | Param() | ForEach() | Let() | Try():
            raise NotConstant
