"""Types and expressions as canonical text on one line, in parentheses where they bind too loosely."""

from __future__ import annotations

from typing import assert_never

from ghcm.language import ast
from ghcm.language.literals import RESERVED, print_duration, print_float, print_string
from ghcm.types import Duration, Float

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
        case _:  # everything else ends in a bracket, a name or a constant
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
    return f"{field.name.text}: {flat_type(field.type)}{path}"


def flat(expr: ast.Expr, level: int = LOOSE) -> str:
    """An expression on one line, in parentheses where it binds less than `level`."""
    text = _flat(expr)
    return f"({text})" if level_of(expr) < level else text


def _flat(expr: ast.Expr) -> str:
    match expr:
        case ast.Literal():
            return _literal(expr)
        case ast.Ref(name=name):
            return name
        case ast.Attribute(of=of, name=name):
            return f"{before_dot(of)}.{name}"
        case ast.Apply(function=function, arguments=arguments):
            return f"{before_call(function)}({', '.join(map(flat_argument, arguments))}){flat_result(expr)}"
        case ast.Index() | ast.Slice():
            return f"{flat(expr.of, TIGHT)}[{flat_index(expr)}]"
        case ast.Unary(op="not", operand=operand):
            return f"not {flat(operand, NOT)}"
        case ast.Unary(operand=operand):
            return f"-{flat(operand, UNARY)}"
        case ast.Binary(op=op, left=left, right=right):
            return f"{flat(left, left_level(op))} {op} {flat(right, LEVELS[op] + 1)}"
        case ast.IsNull(operand=operand, negated=negated):
            return f"{flat(operand, COALESCE)} is {'not ' if negated else ''}null"
        case ast.IfElse(condition=condition, yes=yes, no=no):
            return f"if {flat(condition)} then {flat(yes)} else {flat(no)}"
        case ast.Let(name=name, value=value, body=body):
            return f"let {name.text} = {flat(value, value_level(value))} in {flat(body)}"
        case ast.Match(subject=subject, cases=cases):
            return f"match {flat_subject(subject)} {{ {', '.join(map(_case, cases))} }}"
        case ast.TupleExpr(items=items):
            return f"({', '.join(map(flat, items))})"
        case ast.ListExpr(items=items):
            return f"[{', '.join(map(flat, items))}]"
        case ast.RecordExpr(fields=fields):
            inner = ", ".join(f"{name.text}: {flat(value)}" for name, value in fields)
            return f"{record_head(expr)} {inner} }}" if inner else f"{record_head(expr)} }}"
        case ast.Update(fields=fields):
            inner = ", ".join(f"{name.text}: {flat(value)}" for name, value in fields)
            return f"{update_head(expr)} {inner} }}" if inner else f"{update_head(expr)} }}"
        case ast.Lambda(body=body):
            return f"{lambda_head(expr)} {flat(body)}"
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


def flat_argument(argument: ast.Argument) -> str:
    """An argument of a call, with its name where it has one."""
    return flat(argument.value) if argument.name is None else f"{argument.name} = {flat(argument.value)}"


def flat_result(call: ast.Apply) -> str:
    """The type that a call says behind it, colon included, or nothing."""
    return "" if call.result is None else f" : {flat_type(call.result)}"


def flat_index(expr: ast.Index | ast.Slice) -> str:
    """What stands in square brackets, where nothing looser than `or` does."""
    if isinstance(expr, ast.Index):
        return flat(expr.index, OR)
    return ":".join("" if each is None else flat(each, OR) for each in (expr.start, expr.end))


def _case(case: ast.Case) -> str:
    return f"{flat_pattern(case.pattern)} => {flat(case.value)}"


def flat_pattern(pattern: ast.Pattern | None) -> str:
    """What stands before the arrow of a case."""
    match pattern:
        case None:
            return "_"
        case ast.Range(first=first, last=last):
            return f"{flat(first)}..{flat(last)}"
        case ast.BoundVariant(record=record, name=name):
            return f"{record} {name.text}"
        case ast.AnyOf(patterns=patterns):
            return " or ".join(map(flat_pattern, patterns))
        case _:
            return flat(pattern)


def update_head(expr: ast.Update) -> str:
    """An update up to its opening brace."""
    return f"{flat(expr.of, TIGHT)} with {{"


def record_head(expr: ast.RecordExpr) -> str:
    """A record up to its opening brace."""
    return "{" if expr.name is None else f"{expr.name} {{"


def lambda_head(function: ast.Lambda) -> str:
    """A function up to its arrow, claims included."""
    names = [parameter.text for parameter in function.parameters]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return " ".join([*(f"@{claim}" for claim in function.claims), head, "=>"])


def before_dot(of: ast.Expr) -> str:
    """What stands before a dot."""
    return flat(of) if isinstance(of, ast.Attribute | ast.Apply) else flat(of, TIGHT)


def before_call(function: ast.Expr) -> str:
    """What stands before the parenthesis of a call."""
    return flat(function) if isinstance(function, ast.Attribute) else flat(function, TIGHT)


def flat_subject(subject: ast.Expr) -> str:
    """What `match` looks at: a brace behind it must not be taken for a record's."""
    base: ast.Expr = subject
    while isinstance(base, ast.Attribute | ast.Apply | ast.Index | ast.Slice):
        base = base.function if isinstance(base, ast.Apply) else base.of
    return f"({flat(subject)})" if isinstance(base, ast.RecordExpr | ast.Update) else flat(subject, TIGHT)
