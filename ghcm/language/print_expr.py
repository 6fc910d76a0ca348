"""Expressions as canonical text: flat on one line where they fit, else broken at their outermost joint.

Breaking never changes what the text means: line ends inside brackets, and before a dot or an operator, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ghcm.language import ast
from ghcm.language.literals import print_duration, print_float, print_string
from ghcm.language.print_type import flat_type
from ghcm.types import Duration, Float

__all__ = ["WIDTH", "chain_head", "flat", "layout", "links", "print_link"]

WIDTH = 100
_INDENT = "  "
_DEEPEST = 60
"""Items are aligned behind their bracket up to this column, else indented on lines of their own."""

_LOOSE, _OR, _AND, _NOT, _COMPARISON, _COALESCE, _SUM, _PRODUCT, _UNARY, _TIGHT = range(10)
_LEVELS: dict[str, int] = {
    "or": _OR, "and": _AND, "==": _COMPARISON, "!=": _COMPARISON, "<": _COMPARISON, "<=": _COMPARISON,
    ">": _COMPARISON, ">=": _COMPARISON, "??": _COALESCE, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT,
    "//": _PRODUCT, "%": _PRODUCT, "in": _COMPARISON, "not in": _COMPARISON, "is": _COMPARISON, "is not": _COMPARISON,
}  # fmt: skip


# --- flat ------------------------------------------------------------------------------------------------------------


def flat(expr: ast.Expr, level: int = _LOOSE) -> str:
    """An expression on one line, in parentheses where it binds less than `level`."""
    text = _flat(expr)
    return f"({text})" if _level(expr) < level else text


def _flat(expr: ast.Expr) -> str:
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.Ref(name=name):
            return name
        case ast.Attribute(of=of, name=name):
            return f"{_inner(of)}.{name}"
        case ast.Apply(function=function, arguments=arguments):
            return f"{_function(function)}({', '.join(map(_argument, arguments))}){_result(expr)}"
        case ast.Index() | ast.Slice():
            return f"{flat(expr.of, _TIGHT)}[{_places(expr)}]"
        case ast.Unary(op="not", operand=operand):
            return f"not {flat(operand, _NOT)}"
        case ast.Unary(operand=operand):
            return f"-{flat(operand, _UNARY)}"
        case ast.Binary(op=op, left=left, right=right):
            return f"{flat(left, _left(op))} {op} {flat(right, _LEVELS[op] + 1)}"
        case ast.IsNull(operand=operand, negated=negated):
            return f"{flat(operand, _COALESCE)} is {'not ' if negated else ''}null"
        case ast.IfElse(condition=condition, yes=yes, no=no):
            return f"if {flat(condition)} then {flat(yes)} else {flat(no)}"
        case ast.Let(name=name, value=value, body=body):
            return f"let {name.text} = {flat(value, _closed(value))} in {flat(body)}"
        case ast.Match(subject=subject, cases=cases):
            return f"match {_subject(subject)} {{ {', '.join(map(_case, cases))} }}"
        case ast.TupleExpr(items=items):
            return f"({', '.join(map(flat, items))})"
        case ast.ListExpr(items=items):
            return f"[{', '.join(map(flat, items))}]"
        case ast.RecordExpr(fields=fields):
            inner = ", ".join(f"{name.text}: {flat(value)}" for name, value in fields)
            return f"{_record(expr)} {inner} }}" if inner else f"{_record(expr)} }}"
        case ast.Update(fields=fields):
            inner = ", ".join(f"{name.text}: {flat(value)}" for name, value in fields)
            return f"{_update(expr)} {inner} }}" if inner else f"{_update(expr)} }}"
        case ast.Lambda(body=body):
            return f"{_head(expr)} {flat(body)}"
        case _:
            assert_never(expr)


def _literal(expr: ast.Literal) -> str:
    value = expr.value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return print_string(value)
    if isinstance(expr.type, Duration):
        return print_duration(int(value))
    return print_float(value) if isinstance(expr.type, Float) else str(value)


def _argument(argument: ast.Argument) -> str:
    return flat(argument.value) if argument.name is None else f"{argument.name} = {flat(argument.value)}"


def _result(call: ast.Apply) -> str:
    return "" if call.result is None else f" : {flat_type(call.result)}"


def _places(expr: ast.Index | ast.Slice) -> str:
    """What stands in square brackets, where nothing looser than `or` does."""
    if isinstance(expr, ast.Index):
        return flat(expr.place, _OR)
    return ":".join("" if place is None else flat(place, _OR) for place in (expr.start, expr.end))


def _closed(value: ast.Expr) -> int:
    """The level of the value of a `let`: in parentheses where a bare `in` in it would begin the body."""
    return _TIGHT if _shows_in(value) else _LOOSE


def _shows_in(expr: ast.Expr) -> bool:
    match expr:
        case ast.Binary(op="in" | "not in"):
            return True
        case ast.Binary(op=op, left=left, right=right):
            return _LEVELS[op] < _COMPARISON and (_shows_in(left) or _shows_in(right))
        case ast.Unary(op="not", operand=inner) | ast.IfElse(no=inner) | ast.Let(body=inner) | ast.Lambda(body=inner):
            return _shows_in(inner)
        case _:
            return False


def _case(case: ast.Case) -> str:
    return f"{_pattern(case.pattern)} => {flat(case.value)}"


def _pattern(pattern: ast.Pattern | None) -> str:
    match pattern:
        case None:
            return "_"
        case ast.Range(first=first, last=last):
            return f"{flat(first)}..{flat(last)}"
        case ast.BoundVariant(record=record, name=name):
            return f"{record} {name.text}"
        case ast.AnyOf(patterns=patterns):
            return " or ".join(map(_pattern, patterns))
        case _:
            return flat(pattern)


def _update(expr: ast.Update) -> str:
    return f"{flat(expr.of, _TIGHT)} with {{"


def _record(expr: ast.RecordExpr) -> str:
    return "{" if expr.name is None else f"{expr.name} {{"


def _head(function: ast.Lambda) -> str:
    names = [parameter.text for parameter in function.parameters]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return " ".join([*(f"@{claim}" for claim in function.claims), head, "=>"])


def _level(expr: ast.Expr) -> int:
    match expr:
        case ast.Lambda() | ast.IfElse() | ast.Let() | ast.Match():
            return _LOOSE
        case ast.Binary(op=op):
            return _LEVELS[op]
        case ast.IsNull():
            return _COMPARISON
        case ast.Unary(op=op):
            return _NOT if op == "not" else _UNARY
        case ast.Attribute() | ast.Apply():
            return _LOOSE if _typed(expr) else _TIGHT
        case ast.Literal() | ast.Ref() | ast.TupleExpr() | ast.ListExpr() | ast.RecordExpr() | ast.Update():
            return _TIGHT
        case ast.Index() | ast.Slice():
            return _TIGHT
        case _:
            assert_never(expr)


def _left(op: ast.BinaryOp) -> int:
    """Operators associate to the left, comparisons not at all."""
    return _COALESCE if _LEVELS[op] == _COMPARISON else _LEVELS[op]


def _typed(expr: ast.Expr) -> bool:
    """Whether a result type stands in the chain: nothing but a dot may follow it without parentheses."""
    match expr:
        case ast.Apply(result=result, function=function):
            return result is not None or (isinstance(function, ast.Attribute) and _typed(function))
        case ast.Attribute(of=of):
            return _typed(of)
        case _:
            return False


def _inner(of: ast.Expr) -> str:
    """What stands before a dot."""
    return flat(of) if isinstance(of, ast.Attribute | ast.Apply) else flat(of, _TIGHT)


def _function(function: ast.Expr) -> str:
    """What stands before the parenthesis of a call."""
    return flat(function) if isinstance(function, ast.Attribute) else flat(function, _TIGHT)


def _subject(subject: ast.Expr) -> str:
    """What `match` looks at: a brace behind it must not be taken for a record's."""
    base: ast.Expr = subject
    while isinstance(base, ast.Attribute | ast.Apply | ast.Index | ast.Slice):
        base = base.function if isinstance(base, ast.Apply) else base.of
    return f"({flat(subject)})" if isinstance(base, ast.RecordExpr | ast.Update) else flat(subject, _TIGHT)


# --- broken ----------------------------------------------------------------------------------------------------------


def layout(expr: ast.Expr, column: int, tail: int = 0, level: int = _LOOSE) -> list[str]:
    """The lines of an expression whose first line starts at `column` and whose last is followed by `tail` characters.

    Lines after the first carry their whole indentation. What has no joint stays too long.
    """
    text = flat(expr, level)
    if column + len(text) + tail <= WIDTH:
        return [text]
    if _level(expr) < level:
        inner = layout(expr, column + 1, tail + 1)
        return _joined("(", inner, ")")
    match expr:
        case ast.Apply() | ast.Attribute():
            return _chain(expr, column, tail)
        case ast.Lambda(body=body):
            head = f"{_head(expr)} "
            return _joined(head, layout(body, column + len(head), tail), "")
        case ast.Binary(op=op, left=left, right=right):
            first = layout(left, column, 0, _left(op))
            lead = " " * column + f"{op} "
            return [*first, *_joined(lead, layout(right, len(lead), tail, _LEVELS[op] + 1), "")]
        case ast.IfElse():
            return _choice(expr, column, tail)
        case ast.Let(name=name, value=value, body=body):
            head, pad = f"let {name.text} = ", " " * column
            return [
                *_joined(head, layout(value, column + len(head), 3, _closed(value)), " in"),
                *_joined(pad, layout(body, column, tail), ""),
            ]
        case ast.Match(subject=subject, cases=cases):
            return _braced(f"match {_subject(subject)} {{", [_case_item(case) for case in cases], column)
        case ast.RecordExpr(fields=fields):
            return (
                [text]
                if not fields
                else _braced(_record(expr), [(f"{name.text}: ", value) for name, value in fields], column)
            )
        case ast.Update(fields=fields):
            labelled = [(f"{name.text}: ", value) for name, value in fields]
            return _braced(_update(expr), labelled, column) if fields else [text]
        case ast.TupleExpr(items=items):
            return _bracketed("(", [("", item) for item in items], ")", column, tail)
        case ast.ListExpr(items=items):
            return _bracketed("[", [("", item) for item in items], "]", column, tail)
        case ast.Unary(op=op, operand=operand):
            head = "not " if op == "not" else "-"
            return _joined(head, layout(operand, column + len(head), tail, _NOT if op == "not" else _UNARY), "")
        case ast.IsNull(operand=operand, negated=negated):
            end = f" is {'not ' if negated else ''}null"
            return _joined("", layout(operand, column, tail + len(end), _COALESCE), end)
        case ast.Index() | ast.Slice():
            end = f"[{_places(expr)}]"
            return _joined("", layout(expr.of, column, tail + len(end), _TIGHT), end)
        case ast.Literal() | ast.Ref():
            return [text]
        case _:
            assert_never(expr)


_Item = tuple[str, ast.Expr]
"""A label, and the value behind it."""


def _joined(head: str, lines: Sequence[str], end: str) -> list[str]:
    whole = [head + lines[0], *lines[1:]]
    return [*whole[:-1], whole[-1] + end]


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
    return f"{_pattern(case.pattern)} => ", case.value


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
    text = _inner(start)
    bare = isinstance(start, ast.Ref | ast.Attribute) and column + len(text) <= _DEEPEST
    if not bare:
        lines = (
            layout(start, column) if isinstance(start, ast.Attribute | ast.Apply) else layout(start, column, 0, _TIGHT)
        )
        return lines, column + 2, 0
    dots = column + len(text)
    return _joined(text, print_link(calls[0], dots), ""), dots, 1


def print_link(call: ast.Apply, column: int, tail: int = 0) -> list[str]:
    """`.name(arguments)` of one method call, starting at `column`; the first line without its indentation."""
    assert isinstance(call.function, ast.Attribute)
    return _call(f".{call.function.name}", call, column, tail)


def _call(name: str, call: ast.Apply, column: int, tail: int) -> list[str]:
    end = _result(call)
    items = [("" if argument.name is None else f"{argument.name} = ", argument.value) for argument in call.arguments]
    text = f"{name}({', '.join(map(_argument, call.arguments))}){end}"
    if column + len(text) + tail <= WIDTH or not items:
        return [text]
    if len(items) == 1:
        head = f"{name}({items[0][0]}"
        return _joined(head, layout(items[0][1], column + len(head), tail + 1 + len(end)), f"){end}")
    return _joined("", _bracketed(f"{name}(", items, ")", column, tail + len(end)), end)


def _chain(expr: ast.Attribute | ast.Apply, column: int, tail: int) -> list[str]:
    """One method call per line, the dots below each other."""
    if isinstance(expr, ast.Attribute):
        level = _LOOSE if isinstance(expr.of, ast.Attribute | ast.Apply) else _TIGHT
        return _joined("", layout(expr.of, column, tail + len(expr.name) + 1, level), f".{expr.name}")
    start, calls = links(expr)
    if not calls:
        return _call(_function(expr.function), expr, column, tail)
    lines, dots, done = chain_head(start, calls, column)
    for index, call in enumerate(calls[done:], done + 1):
        lines += _joined(" " * dots, print_link(call, dots, tail if index == len(calls) else 0), "")
    return lines
