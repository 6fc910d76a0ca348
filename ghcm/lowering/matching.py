"""`match` becomes a chain of `if`: one comparison for each case, in the order in which they are written."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.expr import Call, Expr, If, Literal
from ghcm.language import ast
from ghcm.lowering.applications import operation
from ghcm.lowering.context import Context, Scope, Value
from ghcm.lowering.conversion import common_type, convert, to_known
from ghcm.lowering.keeping import keeping
from ghcm.lowering.narrowing import Outcome, known, left_of, path_of
from ghcm.lowering.nesting import DEEPEST
from ghcm.lowering.patterns import check_cases, with_values
from ghcm.lowering.variants import as_record, tag_is, variant_named
from ghcm.source import Span
from ghcm.types import Bool, Nullable, Struct, Type, is_nullable, strip


def match_value(written: ast.Match, scope: Scope, context: Context, value: Value) -> Expr | None:
    """The typed chain of a `match`; its last case needs no test, because every case must be covered. What is looked at
    is computed once.
    """
    if len(written.cases) > DEEPEST:
        message = f"the match has more than {DEEPEST} cases"
        context.report(Code.TOO_DEEP, message, written.span, hint="A join with a table of the cases does the same.")
        return None
    subject = value(written.subject, scope)
    if subject is None:
        return None
    possible = _possible(subject, scope)
    checked = with_values(written, possible, context)
    if checked is None or not check_cases(checked, possible, context):
        return None
    return keeping(subject, "it", scope, lambda it, inner: _cases(checked, it, inner, context, value))


def _possible(subject: Expr, scope: Scope) -> Type:
    """The type of what is looked at; of a union only the records that it may be here."""
    union = strip(subject.type)
    if not isinstance(union, Struct) or not union.variants:
        return subject.type
    left = left_of(union.variants, path_of(subject), scope.facts) or union.variants
    return replace(union, variants=left) if union == subject.type else Nullable(replace(union, variants=left))


def _cases(written: ast.Match, subject: Expr, scope: Scope, context: Context, value: Value) -> Expr | None:
    tests: list[Expr | None] = []
    values: list[Expr | None] = []
    for case in written.cases:
        test = None if case.pattern is None else _test(subject, case.pattern, scope, context, value)
        if case.pattern is not None and test is None:
            values.append(None)
            continue
        inner = scope if test is None else scope.knowing(known(test, Outcome.TRUE))
        values.append(value(case.value, _binding(subject, case.pattern, inner, context)))
        tests.append(test)
        if test is not None:
            scope = scope.knowing(known(test, Outcome.NOT_TRUE))
    made = [each for each in values if each is not None]
    if len(made) < len(values):
        return None
    return _chain(written, tests, made, context)


def _binding(subject: Expr, pattern: ast.Pattern | None, scope: Scope, context: Context) -> Scope:
    """The scope of a case, in which the record of a union has the name that its pattern gives."""
    union = strip(subject.type)
    if not isinstance(pattern, ast.BoundVariant) or not isinstance(union, Struct):
        return scope
    name, variant = pattern.name.text, next(each for each in union.variants if each.name == pattern.record)
    if name in scope.parameters:
        message = f'"{name}" would hide the parameter of the unit of that name'
        context.report(Code.RESERVED, message, pattern.name.span)
    context.note(pattern.name.span, variant.record)
    there = to_known(subject) if is_nullable(subject.type) else subject
    return scope.binding({name: as_record(there, variant)})


def _chain(written: ast.Match, tests: list[Expr | None], values: list[Expr], context: Context) -> Expr | None:
    type_ = common_type(values, context.records.known_unions)
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


def _test(subject: Expr, pattern: ast.Pattern, scope: Scope, context: Context, value: Value) -> Expr | None:
    union = strip(subject.type)
    match pattern:
        case ast.Ref(name=name, span=span) | ast.BoundVariant(record=name, span=span) if (
            isinstance(union, Struct) and union.variants
        ):
            variant = variant_named(name, union, span, context)
            return None if variant is None else tag_is(subject, variant)
        case ast.BoundVariant():
            return None
        case ast.AnyOf(patterns=patterns, span=span):
            tests = [_test(subject, each, scope, context, value) for each in patterns]
            return _joined("or", tests, span, context)
        case ast.Range(first=first, last=last, span=span):
            ends = [_compared(name, subject, end, scope, context, value) for name, end in (("ge", first), ("le", last))]
            return _joined("and", ends, span, context)
        case _:
            return _compared("eq", subject, pattern, scope, context, value)


def _compared(
    name: str, subject: Expr, constant: ast.Expr, scope: Scope, context: Context, value: Value
) -> Expr | None:
    made = value(constant, scope)
    if made is None:
        return None
    if isinstance(made, Literal) and made.value is None:
        return Call("is_null", (subject,), Bool())
    return operation(name, (subject, made), constant.span, context, "match")


def _joined(name: str, tests: list[Expr | None], span: Span | None, context: Context) -> Expr | None:
    result = tests[0]
    for test in tests[1:]:
        result = None if result is None or test is None else operation(name, (result, test), span, context)
    return result
