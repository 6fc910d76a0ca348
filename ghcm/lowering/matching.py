"""`match` becomes a chain of `if`: one comparison for each case, in the order in which they are written."""

from __future__ import annotations

from ghcm.expr import Call, Expr, If, Literal
from ghcm.language import ast
from ghcm.lowering.applications import Value, operation
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.conversion import common_type, convert
from ghcm.lowering.narrowing import Outcome, known
from ghcm.lowering.nesting import DEEPEST
from ghcm.types import Bool, is_nullable, strip

__all__ = ["match_value"]


def match_value(written: ast.Match, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The typed chain of a `match`; its last case needs no test, because every case must be covered."""
    if len(written.cases) > DEEPEST:
        message = f"the match has more than {DEEPEST} cases"
        context.report(Code.TOO_DEEP, message, written.span, hint="A join with a table of the cases does the same.")
        return None
    subject = value(written.subject, scope)
    if subject is None or not _check_cases(written, subject, context):
        return None
    tests: list[Expr | None] = []
    values: list[Expr | None] = []
    for case in written.cases:
        test = None if case.pattern is None else _test(subject, case.pattern, scope, context, value)
        if case.pattern is not None and test is None:
            values.append(None)
            continue
        values.append(value(case.value, scope if test is None else scope.knowing(known(test, Outcome.TRUE))))
        tests.append(test)
        if test is not None:
            scope = scope.knowing(known(test, Outcome.NOT_TRUE))
    made = [each for each in values if each is not None]
    if len(made) < len(values):
        return None
    return _chain(written, tests, made, context)


def _chain(written: ast.Match, tests: list[Expr | None], values: list[Expr], context: Context) -> Expr | None:
    type_ = common_type(values)
    converted = [] if type_ is None else [made for each in values if (made := convert(each, type_)) is not None]
    if type_ is None or len(converted) < len(values):
        found = ", ".join(dict.fromkeys(f'"{each.type}"' for each in values))
        context.report(
            Code.BRANCHES_DIFFER, "the cases have no type in common", written.span, detail=f"They give {found}."
        )
        return None
    result = converted[-1]
    for test, each in zip(reversed(tests[:-1]), reversed(converted[:-1]), strict=True):
        if test is not None:
            result = If(test, each, result, type_)
    return result


def _test(subject: Expr, pattern: ast.Expr, scope: Scope, context: Context, value: Value) -> Expr | None:
    made = value(pattern, scope)
    if made is None:
        return None
    if isinstance(made, Literal) and made.value is None:
        return Call("is_null", (subject,), Bool())
    return operation("eq", (subject, made), pattern.span, context, "match")


def _check_cases(written: ast.Match, subject: Expr, context: Context) -> bool:
    """Whether the patterns are constants, each named once, and together cover every value."""
    patterns = [case.pattern for case in written.cases]
    seen: set[object] = set()
    correct = True
    for index, case in enumerate(written.cases):
        problem = _problem(case.pattern, seen, last=index == len(patterns) - 1)
        if problem:
            context.report(Code.BAD_MATCH, problem, case.span or written.span)
            correct = False
        if isinstance(case.pattern, ast.Literal):
            seen.add(case.pattern.value)
    is_bool = strip(subject.type) == Bool()
    covered = None in patterns or (
        is_bool and {True, False} <= seen and (not is_nullable(subject.type) or None in seen)
    )
    if not covered:
        context.report(
            Code.BAD_MATCH,
            "the match leaves a case open",
            written.span,
            hint='A last case "_ => ..." takes whatever is left.',
        )
    return correct and covered


def _problem(pattern: ast.Expr | None, seen: set[object], *, last: bool) -> str:
    match pattern:
        case None:
            return "" if last else 'no record comes to a case behind "_"'
        case ast.Literal(value=value):
            shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else value
            return f'the case "{shown}" stands here twice' if _in(value, seen) else ""
        case ast.Unary(op="-", operand=ast.Literal()):
            return ""
        case _:
            return "a case is neither a constant nor _"


def _in(value: object, seen: set[object]) -> bool:
    return any(type(value) is type(each) and value == each for each in seen)
