"""How tightly expressions bind when they are written, and where they need parentheses."""

from __future__ import annotations

from typing import assert_never

from ghcm.language import ast

LOOSE, OR, AND, NOT, COMPARISON, COALESCE, SUM, PRODUCT, UNARY, TIGHT = range(10)
LEVELS: dict[str, int] = {
    "or": OR, "and": AND, "==": COMPARISON, "!=": COMPARISON, "<": COMPARISON, "<=": COMPARISON,
    ">": COMPARISON, ">=": COMPARISON, "??": COALESCE, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
    "//": PRODUCT, "%": PRODUCT, "in": COMPARISON, "not in": COMPARISON, "is": COMPARISON, "is not": COMPARISON,
}  # fmt: skip


def value_level(value: ast.Expr) -> int:
    """The level of the value of a `let`: in parentheses where a bare `in` in it would begin the body."""
    return TIGHT if _shows_in(value) else LOOSE


def _shows_in(expr: ast.Expr) -> bool:
    match expr:
        case ast.Binary(op="in" | "not in"):
            return True
        case ast.Binary(op=op, left=left, right=right):
            return LEVELS[op] < COMPARISON and (_shows_in(left) or _shows_in(right))
        case ast.Unary(op="not", operand=inner) | ast.IfElse(no=inner) | ast.Let(body=inner) | ast.Lambda(body=inner):
            return _shows_in(inner)
        case _:
            return False


def level_of(expr: ast.Expr) -> int:
    """How tightly an expression binds: in parentheses where something tighter is asked for."""
    match expr:
        case ast.Lambda() | ast.IfElse() | ast.Let() | ast.Match():
            return LOOSE
        case ast.Binary(op=op):
            return LEVELS[op]
        case ast.IsNull():
            return COMPARISON
        case ast.Unary(op=op):
            return NOT if op == "not" else UNARY
        case ast.Attribute() | ast.Apply():
            return LOOSE if ends_in_type(expr) else TIGHT
        case ast.Literal() | ast.Ref() | ast.TupleExpr() | ast.ListExpr() | ast.RecordExpr() | ast.Update():
            return TIGHT
        case ast.Index() | ast.Slice():
            return TIGHT
        case _:
            assert_never(expr)


def left_level(op: ast.BinaryOp) -> int:
    """Operators associate to the left, comparisons not at all."""
    return COALESCE if LEVELS[op] == COMPARISON else LEVELS[op]


def ends_in_type(expr: ast.Expr) -> bool:
    """Whether a result type stands in the chain: nothing but a dot may follow it without parentheses."""
    match expr:
        case ast.Apply(result=result, function=function):
            return result is not None or (isinstance(function, ast.Attribute) and ends_in_type(function))
        case ast.Attribute(of=of):
            return ends_in_type(of)
        case _:
            return False
