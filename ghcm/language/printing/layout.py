"""Expressions over several lines: flat where they fit, else broken at their outermost joint.

Breaking never changes what the text means: line ends inside brackets, and before a dot or an operator, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ghcm.language import ast
from ghcm.language.printing.expressions import (
    COALESCE,
    LEVELS,
    LOOSE,
    NOT,
    TIGHT,
    UNARY,
    before_call,
    before_dot,
    flat,
    flat_argument,
    flat_index,
    flat_pattern,
    flat_result,
    flat_subject,
    lambda_head,
    left_level,
    level_of,
    record_head,
    update_head,
    value_level,
)

WIDTH = 100
_INDENT = "  "
_DEEPEST = 60
"""Items are aligned behind their bracket up to this column, else indented on lines of their own."""


def layout(expr: ast.Expr, column: int, tail: int = 0, level: int = LOOSE) -> list[str]:
    """The lines of an expression whose first line starts at `column` and whose last is followed by `tail` characters.

    Lines after the first carry their whole indentation. What has no joint stays too long.
    """
    text = flat(expr, level)
    if column + len(text) + tail <= WIDTH:
        return [text]
    if level_of(expr) < level:
        inner = layout(expr, column + 1, tail + 1)
        return _joined("(", inner, ")")
    match expr:
        case ast.Apply() | ast.Attribute():
            return _chain(expr, column, tail)
        case ast.Lambda(body=body):
            head = f"{lambda_head(expr)} "
            return _joined(head, layout(body, column + len(head), tail), "")
        case ast.Binary():
            return _operation(expr, column, tail)
        case ast.IfElse():
            return _choice(expr, column, tail)
        case ast.Let():
            return _let(expr, column, tail)
        case ast.Match(subject=subject, cases=cases):
            return _braced(f"match {flat_subject(subject)} {{", [_case_item(case) for case in cases], column)
        case ast.RecordExpr(fields=()) | ast.Update(fields=()) | ast.Literal() | ast.Ref():
            return [text]
        case ast.RecordExpr(fields=fields):
            return _braced(record_head(expr), [(f"{name.text}: ", value) for name, value in fields], column)
        case ast.Update(fields=fields):
            return _braced(update_head(expr), [(f"{name.text}: ", value) for name, value in fields], column)
        case ast.TupleExpr(items=items):
            return _bracketed("(", [("", item) for item in items], ")", column, tail)
        case ast.ListExpr(items=items):
            return _bracketed("[", [("", item) for item in items], "]", column, tail)
        case ast.Unary(op=op, operand=operand):
            head = "not " if op == "not" else "-"
            return _joined(head, layout(operand, column + len(head), tail, NOT if op == "not" else UNARY), "")
        case ast.IsNull(operand=operand, negated=negated):
            end = f" is {'not ' if negated else ''}null"
            return _joined("", layout(operand, column, tail + len(end), COALESCE), end)
        case ast.Index() | ast.Slice():
            end = f"[{flat_index(expr)}]"
            return _joined("", layout(expr.of, column, tail + len(end), TIGHT), end)
        case _:
            assert_never(expr)


_Item = tuple[str, ast.Expr]
"""A label, and the value behind it."""


def _joined(head: str, lines: Sequence[str], end: str) -> list[str]:
    whole = [head + lines[0], *lines[1:]]
    return [*whole[:-1], whole[-1] + end]


def _operation(expr: ast.Binary, column: int, tail: int) -> list[str]:
    """The right side on a line of its own, behind the operator."""
    lead = " " * column + f"{expr.op} "
    left = layout(expr.left, column, 0, left_level(expr.op))
    return [*left, *_joined(lead, layout(expr.right, len(lead), tail, LEVELS[expr.op] + 1), "")]


def _let(expr: ast.Let, column: int, tail: int) -> list[str]:
    """The body under the value."""
    head, pad = f"let {expr.name.text} = ", " " * column
    return [
        *_joined(head, layout(expr.value, column + len(head), 3, value_level(expr.value)), " in"),
        *_joined(pad, layout(expr.body, column, tail), ""),
    ]


def _choice(expr: ast.IfElse, column: int, tail: int) -> list[str]:
    """One line, or more, for each condition and value; `else if` goes on at the same column."""
    pad = " " * column
    lines = _joined("if ", layout(expr.condition, column + 3), "")
    while True:
        lines += _joined(f"{pad}then ", layout(expr.yes, column + 5), "")
        if not isinstance(expr.no, ast.IfElse):
            return [*lines, *_joined(f"{pad}else ", layout(expr.no, column + 5, tail), "")]
        expr = expr.no
        lines += _joined(f"{pad}else if ", layout(expr.condition, column + 8), "")


def _case_item(case: ast.Case) -> _Item:
    return f"{flat_pattern(case.pattern)} => ", case.value


def _items(items: Sequence[_Item], column: int, tail: int) -> list[str]:
    """Items at `column`, one per line, the first without its indentation."""
    lines: list[str] = []
    for index, (label, value) in enumerate(items):
        last = index == len(items) - 1
        found = layout(value, column + len(label), tail if last else 1)
        lines += _joined((" " * column if index else "") + label, found, "" if last else ",")
    return lines


def _braced(opening: str, items: Sequence[_Item], column: int) -> list[str]:
    """Items on lines of their own between braces."""
    pad = " " * column
    lines = _items(items, column + 2, 0)
    return [opening, pad + _INDENT + lines[0], *lines[1:], pad + "}"]


def _bracketed(opening: str, items: Sequence[_Item], closing: str, column: int, tail: int) -> list[str]:
    """Items one per line behind the opening bracket, or below it where that would be too far to the right."""
    inside = column + len(opening)
    if not items:
        return [opening + closing]
    if inside <= _DEEPEST:
        return _joined(opening, _items(items, inside, tail + len(closing)), closing)
    inside = min(column, _DEEPEST) + 2
    lines = _items(items, inside, 0)
    return [opening, " " * inside + lines[0], *lines[1:], " " * (inside - 2) + closing]


def links(expr: ast.Expr) -> tuple[ast.Expr, list[ast.Apply]]:
    """A chain as what it starts from and its method calls; `a.b.c(x).d(y)` starts from `a.b`."""
    found: list[ast.Apply] = []
    while isinstance(expr, ast.Apply) and isinstance(expr.function, ast.Attribute):
        found.append(expr)
        expr = expr.function.of
    return expr, found[::-1]


def chain_head(start: ast.Expr, calls: Sequence[ast.Apply], column: int) -> tuple[list[str], int, int]:
    """How a broken chain begins: its first lines, the column of the dots, and how many calls stand in those lines.

    The first call stays beside a bare name; after a source, which is a call itself, all calls go below it.
    """
    text = before_dot(start)
    bare = isinstance(start, ast.Ref | ast.Attribute) and column + len(text) <= _DEEPEST
    if not bare:
        lines = (
            layout(start, column) if isinstance(start, ast.Attribute | ast.Apply) else layout(start, column, 0, TIGHT)
        )
        return lines, column + 2, 0
    dots = column + len(text)
    return _joined(text, print_link(calls[0], dots), ""), dots, 1


def print_link(call: ast.Apply, column: int, tail: int = 0) -> list[str]:
    """`.name(arguments)` of one method call, starting at `column`; the first line without its indentation."""
    assert isinstance(call.function, ast.Attribute)
    return _call(f".{call.function.name}", call, column, tail)


def _call(name: str, call: ast.Apply, column: int, tail: int) -> list[str]:
    end = flat_result(call)
    items = [("" if argument.name is None else f"{argument.name} = ", argument.value) for argument in call.arguments]
    text = f"{name}({', '.join(map(flat_argument, call.arguments))}){end}"
    if column + len(text) + tail <= WIDTH or not items:
        return [text]
    if len(items) == 1:
        head = f"{name}({items[0][0]}"
        return _joined(head, layout(items[0][1], column + len(head), tail + 1 + len(end)), f"){end}")
    return _joined("", _bracketed(f"{name}(", items, ")", column, tail + len(end)), end)


def _chain(expr: ast.Attribute | ast.Apply, column: int, tail: int) -> list[str]:
    """One method call per line, the dots below each other."""
    if isinstance(expr, ast.Attribute):
        level = LOOSE if isinstance(expr.of, ast.Attribute | ast.Apply) else TIGHT
        return _joined("", layout(expr.of, column, tail + len(expr.name) + 1, level), f".{expr.name}")
    start, calls = links(expr)
    if not calls:
        return _call(before_call(expr.function), expr, column, tail)
    lines, dots, done = chain_head(start, calls, column)
    for index, call in enumerate(calls[done:], done + 1):
        lines += _joined(" " * dots, print_link(call, dots, tail if index == len(calls) else 0), "")
    return lines
