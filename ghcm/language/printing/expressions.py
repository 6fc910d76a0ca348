"""Types and expressions as canonical text: on one line where they fit, else broken at their outermost joint, and in
parentheses where they bind too loosely.

Breaking never changes what the text means: line ends inside brackets, and before a dot or an operator, do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from ghcm.language import ast
from ghcm.language.literals import RESERVED, print_duration, print_float, print_string
from ghcm.types import Duration, Float

WIDTH = 100
_DEEPEST = 60
"""Items are aligned behind their bracket up to this column, else indented on lines of their own."""

_LOOSE, _OR, _AND, _NOT, _COMPARISON, _COALESCE, _SUM, _PRODUCT, _UNARY, _TIGHT = range(10)
_LEVELS: dict[str, int] = {
    "or": _OR, "and": _AND, **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARISON), "??": _COALESCE,
    **dict.fromkeys(("in", "not in", "is", "is not"), _COMPARISON), "+": _SUM, "-": _SUM,
    **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
}  # fmt: skip


def _value_level(value: ast.Expr) -> int:
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
        case _:  # everything else ends in a bracket, a name or a constant
            return False


def _level_of(expr: ast.Expr) -> int:
    """How tightly an expression binds: in parentheses where something tighter is asked for."""
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
            return _LOOSE if _ends_in_type(expr) else _TIGHT
        case ast.Literal() | ast.Ref() | ast.TupleExpr() | ast.ListExpr() | ast.RecordExpr() | ast.Update():
            return _TIGHT
        case ast.Index() | ast.Slice():
            return _TIGHT
        case _:
            assert_never(expr)


def _left_level(op: ast.BinaryOp) -> int:
    """Operators associate to the left, comparisons not at all."""
    return _COALESCE if _LEVELS[op] == _COMPARISON else _LEVELS[op]


def _ends_in_type(expr: ast.Expr) -> bool:
    """Whether a result type stands in the chain: nothing but a dot may follow it without parentheses."""
    match expr:
        case ast.Apply(result=result, function=function):
            return result is not None or (isinstance(function, ast.Attribute) and _ends_in_type(function))
        case ast.Attribute(of=of):
            return _ends_in_type(of)
        case _:
            return False


def flat_type(type_: ast.TypeExpr) -> str:
    """A type on one line."""
    match type_:
        case ast.NamedType(name=name, arguments=()):
            return name
        case ast.NamedType(name=name, arguments=arguments):
            inner = ", ".join(str(item) if isinstance(item, int) else flat_type(item) for item in arguments)
            return f"{name}({inner})" if isinstance(arguments[0], int) else f"{name}<{inner}>"
        case ast.NullableType(of=of):
            return f"{flat_type(of)}?"
        case ast.StructType(fields=fields):
            return "{" + ", ".join(map(flat_field, fields)) + "}"
        case ast.TupleType(items=items):
            return f"({', '.join(map(flat_type, items))})"
        case ast.EnumType(values=values):
            return f"enum {{{', '.join(map(flat_value, values))}}}"
        case _:
            assert_never(type_)


def flat_value(value: ast.Name) -> str:
    """A value of an enum: bare where it is a name."""
    bare = value.text.isascii() and value.text.isidentifier() and value.text not in RESERVED and value.text != "_"
    return value.text if bare else print_string(value.text)


def flat_field(field: ast.FieldDecl) -> str:
    """A field on one line."""
    path = "" if field.path is None else f" from {print_string(field.path)}"
    return f"{field.name.text}: {flat_type(field.type)}{field.counts}{path}"


@dataclass(frozen=True, slots=True)
class _Inside:
    """One expression, which binds as tightly as `level` at least, between two texts."""

    head: str
    of: ast.Expr
    level: int
    end: str = ""


_Item = tuple[str, ast.Expr]
"""A label, and the value behind it."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """Items between brackets; inside of braces there are spaces."""

    opening: str
    items: Sequence[_Item]
    closing: str


def _form(expr: ast.Expr) -> str | _Inside | _Listed | ast.Binary | ast.IfElse | ast.Let:
    """What an expression is on paper; what has joints of its own is itself."""
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.Ref(name=name):
            return name
        case ast.Attribute(of=of, name=name):
            return _Inside("", of, _dot_level(of), f".{name}")
        case ast.Index(of=of, index=index):
            return _Inside("", of, _TIGHT, f"[{flat(index, _OR)}]")
        case ast.Slice(of=of, start=start, end=end):
            bounds = ":".join("" if each is None else flat(each, _OR) for each in (start, end))
            return _Inside("", of, _TIGHT, f"[{bounds}]")
        case ast.Unary(op=op, operand=operand):
            return _Inside("not ", operand, _NOT) if op == "not" else _Inside("-", operand, _UNARY)
        case ast.IsNull(operand=operand, negated=negated):
            return _Inside("", operand, _COALESCE, f" is {'not ' if negated else ''}null")
        case ast.Lambda(body=body):
            return _Inside(_lambda_head(expr), body, _LOOSE)
        case ast.Match(subject=subject, cases=cases):
            arms = [(f"{_pattern(case.pattern)} => ", case.value) for case in cases]
            return _Listed(f"match {_subject(subject)} {{", arms, "}")
        case ast.RecordExpr(name=name, spreads=spreads, fields=fields):
            taken = [("...", each) for each in spreads]
            return _Listed("{" if name is None else f"{name} {{", [*taken, *_labelled(fields)], "}")
        case ast.Update(of=of, fields=fields):
            return _Listed(f"{flat(of, _TIGHT)} with {{", _labelled(fields), "}")
        case ast.TupleExpr(items=items):
            return _Listed("(", [("", item) for item in items], ")")
        case ast.ListExpr(items=items):
            return _Listed("[", [("", item) for item in items], "]")
        case ast.Apply():
            return _whole_call(expr)
        case ast.Binary() | ast.IfElse() | ast.Let():
            return expr
        case _:
            assert_never(expr)


def _labelled(fields: Sequence[tuple[ast.Name, ast.Expr]]) -> list[_Item]:
    return [(f"{name.text}: ", value) for name, value in fields]


def _whole_call(call: ast.Apply) -> _Listed:
    return _called(flat(call.function, _LOOSE if isinstance(call.function, ast.Attribute) else _TIGHT), call)


def _called(name: str, call: ast.Apply) -> _Listed:
    """The call of what `name` says, with the type that stands behind it."""
    arguments = [("" if each.name is None else f"{each.name} = ", each.value) for each in call.arguments]
    return _Listed(f"{name}(", arguments, ")" if call.result is None else f") : {flat_type(call.result)}")


def flat(expr: ast.Expr, level: int = _LOOSE) -> str:
    """An expression on one line, in parentheses where it binds less than `level`."""
    text = _flat(expr)
    return f"({text})" if _level_of(expr) < level else text


def _flat(expr: ast.Expr) -> str:
    form = _form(expr)
    match form:
        case str():
            return form
        case _Inside(head, of, level, end):
            return f"{head}{flat(of, level)}{end}"
        case _Listed():
            return _flat_list(form)
        case ast.Binary(op=op, left=left, right=right):
            return f"{flat(left, _left_level(op))} {op} {flat(right, _LEVELS[op] + 1)}"
        case ast.IfElse(condition=condition, yes=yes, no=no):
            return f"if {flat(condition)} then {flat(yes)} else {flat(no)}"
        case ast.Let(name=name, value=value, body=body):
            return f"let {name.text} = {flat(value, _value_level(value))} in {flat(body)}"
        case _:
            assert_never(form)


def _flat_list(listed: _Listed) -> str:
    inner = ", ".join(f"{label}{flat(value)}" for label, value in listed.items)
    if listed.closing == "}":
        inner = f" {inner} " if inner else " "
    return f"{listed.opening}{inner}{listed.closing}"


def _literal(expr: ast.Literal) -> str:
    value = expr.value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return print_string(value)
    if isinstance(expr.type, Duration):
        return print_duration(int(value))
    return print_float(value) if isinstance(expr.type, Float) else str(value)


def _pattern(pattern: ast.Pattern | None) -> str:
    """What stands before the arrow of a case."""
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


def _lambda_head(function: ast.Lambda) -> str:
    """A function up to its body, claims included."""
    names = [parameter.text for parameter in function.parameters]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return " ".join([*(f"@{claim}" for claim in function.claims), head, "=> "])


def _dot_level(of: ast.Expr) -> int:
    """How tightly what stands before a dot binds."""
    return _LOOSE if isinstance(of, ast.Attribute | ast.Apply) else _TIGHT


def _subject(subject: ast.Expr) -> str:
    """What `match` looks at: a brace behind it must not be taken for a record's."""
    base: ast.Expr = subject
    while isinstance(base, ast.Attribute | ast.Apply | ast.Index | ast.Slice):
        base = base.function if isinstance(base, ast.Apply) else base.of
    return f"({flat(subject)})" if isinstance(base, ast.RecordExpr | ast.Update) else flat(subject, _TIGHT)


def layout(expr: ast.Expr, column: int, tail: int = 0, level: int = _LOOSE) -> list[str]:
    """The lines of an expression whose first line starts at `column` and whose last is followed by `tail` characters.

    Lines after the first carry their whole indentation. What has no joint stays too long.
    """
    text = flat(expr, level)
    if column + len(text) + tail <= WIDTH:
        return [text]
    if _level_of(expr) < level:
        return _joined("(", layout(expr, column + 1, tail + 1), ")")
    if isinstance(expr, ast.Apply):
        return _chain(expr, column, tail)
    form = _form(expr)
    match form:
        case str() | _Listed(items=[]):
            return [text]
        case _Inside(head, of, inner, end):
            return _joined(head, layout(of, column + len(head), tail + len(end), inner), end)
        case _Listed():
            return _bracketed(form, column, tail)
        case ast.Binary():
            return _operation(form, column, tail)
        case ast.IfElse():
            return _choice(form, column, tail)
        case ast.Let():
            return _let(form, column, tail)
        case _:
            assert_never(form)


def _joined(head: str, lines: Sequence[str], end: str) -> list[str]:
    whole = [head + lines[0], *lines[1:]]
    return [*whole[:-1], whole[-1] + end]


def _operation(expr: ast.Binary, column: int, tail: int) -> list[str]:
    """The right side on a line of its own, behind the operator."""
    lead = " " * column + f"{expr.op} "
    left = layout(expr.left, column, 0, _left_level(expr.op))
    return [*left, *_joined(lead, layout(expr.right, len(lead), tail, _LEVELS[expr.op] + 1), "")]


def _let(expr: ast.Let, column: int, tail: int) -> list[str]:
    """The body under the value."""
    head, pad = f"let {expr.name.text} = ", " " * column
    return [
        *_joined(head, layout(expr.value, column + len(head), 3, _value_level(expr.value)), " in"),
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


def _items(items: Sequence[_Item], column: int, tail: int) -> list[str]:
    """Items at `column`, one per line, the first without its indentation."""
    lines: list[str] = []
    for index, (label, value) in enumerate(items):
        last = index == len(items) - 1
        found = layout(value, column + len(label), tail if last else 1)
        lines += _joined((" " * column if index else "") + label, found, "" if last else ",")
    return lines


def _bracketed(listed: _Listed, column: int, tail: int) -> list[str]:
    """Items one per line behind the opening bracket, or below it where that would be too far to the right; in braces
    always below."""
    inside = column + len(listed.opening)
    if inside <= _DEEPEST and listed.closing != "}":
        return _joined(listed.opening, _items(listed.items, inside, tail + len(listed.closing)), listed.closing)
    outside = column if listed.closing == "}" else min(column, _DEEPEST)
    lines = _items(listed.items, outside + 2, 0)
    return [listed.opening, " " * (outside + 2) + lines[0], *lines[1:], " " * outside + listed.closing]


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
    text = flat(start, _dot_level(start))
    dots = column + len(text)
    if isinstance(start, ast.Ref | ast.Attribute) and dots <= _DEEPEST:
        return _joined(text, print_link(calls[0], dots), ""), dots, 1
    return layout(start, column, 0, _dot_level(start)), column + 2, 0


def print_link(call: ast.Apply, column: int, tail: int = 0) -> list[str]:
    """`.name(arguments)` of one method call, starting at `column`; the first line without its indentation."""
    assert isinstance(call.function, ast.Attribute)
    return _call(_called(f".{call.function.name}", call), column, tail)


def _call(call: _Listed, column: int, tail: int) -> list[str]:
    text = _flat_list(call)
    if column + len(text) + tail <= WIDTH or not call.items:
        return [text]
    if len(call.items) > 1:
        return _bracketed(call, column, tail)
    label, value = call.items[0]
    head = call.opening + label
    return _joined(head, layout(value, column + len(head), tail + len(call.closing)), call.closing)


def _chain(expr: ast.Apply, column: int, tail: int) -> list[str]:
    """One method call per line, the dots below each other."""
    start, calls = links(expr)
    if not calls:
        return _call(_whole_call(expr), column, tail)
    lines, dots, done = chain_head(start, calls, column)
    for index, call in enumerate(calls[done:], done + 1):
        lines += _joined(" " * dots, print_link(call, dots, tail if index == len(calls) else 0), "")
    return lines
