"""`match` becomes a chain of `if`: one comparison for each case, in the order in which they are written.

Its patterns are constants, each named once, that together cover every value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from ghcm.codes import Code
from ghcm.expr import Call, Expr, If, Literal, complete
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, Value, let_bound
from ghcm.lowering.expressions.applications import operation
from ghcm.lowering.expressions.conversion import alike_or_report, to_known
from ghcm.lowering.expressions.enums import report_no_value
from ghcm.lowering.expressions.functions import DEEPEST
from ghcm.lowering.expressions.unions import as_record, tag_is, variant_named
from ghcm.lowering.narrowing import Outcome, known, left_of, path_of
from ghcm.source import Span
from ghcm.types import Bool, Enumeration, Nullable, String, Struct, Type, is_nullable, strip


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
    return let_bound(subject, "it", scope, lambda it, inner: _cases(checked, it, inner, context, value))


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
    made = complete(values)
    return None if made is None else _chain(written, tests, made, context)


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


def _chain(written: ast.Match, tests: list[Expr | None], values: tuple[Expr, ...], context: Context) -> Expr | None:
    made = alike_or_report(values, "the cases", "give", written.span, context)
    if made is None:
        return None
    converted, type_ = made
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


_One: TypeAlias = ast.Expr | ast.Range | ast.BoundVariant


def with_values(written: ast.Match, type_: Type, context: Context) -> ast.Match | None:
    """The match with the names in its patterns as the values of the enum that they are; None after a report."""
    enum = strip(type_)
    if isinstance(enum, Struct) and enum.variants:
        return written if _names_records(written, enum, context) else None
    correct = True

    def constant(pattern: _One) -> _One:
        nonlocal correct
        if isinstance(enum, Enumeration) and isinstance(pattern, ast.Ref | ast.Literal):
            text = pattern.name if isinstance(pattern, ast.Ref) else pattern.value
            if isinstance(text, str) and text not in enum.values:
                report_no_value(enum, text, pattern.span, context)
                correct = False
            return ast.Literal(text, String(), span=pattern.span) if isinstance(text, str) else pattern
        if isinstance(pattern, ast.BoundVariant):
            message = f'"{type_}" is no union, and "{pattern.record} {pattern.name.text}" is a record of one'
            context.report(Code.BAD_MATCH, message, pattern.span)
            correct = False
        if isinstance(pattern, ast.Ref):
            hint = 'a string stands in quotes; "_" matches everything else'
            context.report(Code.BAD_MATCH, f'"{pattern.name}" is no pattern', pattern.span, hint=hint)
            correct = False
        return pattern

    def changed(pattern: ast.Pattern | None) -> ast.Pattern | None:
        if isinstance(pattern, ast.AnyOf):
            return replace(pattern, patterns=tuple(map(constant, pattern.patterns)))
        return None if pattern is None else constant(pattern)

    cases = tuple(replace(case, pattern=changed(case.pattern)) for case in written.cases)
    return replace(written, cases=cases) if correct else None


def _names_records(written: ast.Match, union: Struct, context: Context) -> bool:
    """Whether all patterns are records of the union, or null; the others are reported."""
    correct = True
    for case in written.cases:
        for part in case.pattern.patterns if isinstance(case.pattern, ast.AnyOf) else (case.pattern,):
            match part:
                case None | ast.Literal(value=None):
                    pass
                case ast.Ref(name=name, span=span) | ast.BoundVariant(record=name, span=span):
                    correct = variant_named(name, union, span, context) is not None and correct
                case _:  # any other expression is no pattern of a union
                    message = f'"{union}" is a union, whose cases are records'
                    hint = f"match e {{ {union.variants[0].name} x => x..., _ => ... }}"
                    context.report(Code.BAD_MATCH, message, part.span, hint=hint)
                    correct = False
        if isinstance(case.pattern, ast.AnyOf):
            for part in case.pattern.patterns:
                if isinstance(part, ast.BoundVariant):
                    message = f'"{part.name.text}" is a name for one record, and here are several'
                    hint = "What all of them have is read of the union itself."
                    context.report(Code.BAD_MATCH, message, part.name.span, hint=hint)
                    correct = False
    return correct


def check_cases(written: ast.Match, type_: Type, context: Context) -> bool:
    """Whether the cases are right for a value of this type; what is wrong is reported."""
    seen: list[object] = []
    correct = True
    for index, case in enumerate(written.cases):
        for problem in _problems(case, seen, last=index == len(written.cases) - 1):
            context.report(Code.BAD_MATCH, problem, case.span or written.span)
            correct = False
    missing = () if any(case.pattern is None for case in written.cases) else _missing(type_, seen)
    if missing != ():
        message = f"the match leaves {', '.join(missing) if missing else 'a case'} open"
        context.report(Code.BAD_MATCH, message, written.span, hint='A last case "_ => ..." takes whatever is left.')
    return correct and missing == ()


def _missing(type_: Type, seen: list[object]) -> tuple[str, ...] | None:
    """The values of a type that are not among these constants; None where no list of constants holds them all."""
    null = ('"null"',) if is_nullable(type_) and None not in seen else ()
    match strip(type_):
        case Bool():
            return (*(f'"{_shown(each)}"' for each in (True, False) if each not in seen), *null)
        case Struct(variants=variants) if variants:
            return (*(f'"{each.name}"' for each in variants if each.name not in seen), *null)
        case Enumeration(values=values):
            return (*(f'"{each}"' for each in values if each not in seen), *null)
        case _:  # no list of constants holds all values of other types, and nothing else is a constant
            return None


def _problems(case: ast.Case, seen: list[object], *, last: bool) -> Iterator[str]:
    """What is wrong with a case behind others; its constants are added to those seen."""
    if case.pattern is None:
        yield from () if last else ('no record comes to a case behind "_"',)
        return
    for part in case.pattern.patterns if isinstance(case.pattern, ast.AnyOf) else (case.pattern,):
        if isinstance(part, ast.Range):
            yield from _of_range(part)
            continue
        found = _constant(part)
        if found is None:
            yield "a case is neither a constant nor _"
        elif any(type(each) is type(found[0]) and each == found[0] for each in seen):
            yield f'the case "{_shown(found[0])}" stands here twice'
        else:
            seen.append(found[0])


def _of_range(range_: ast.Range) -> Iterator[str]:
    ends = _constant(range_.first), _constant(range_.last)
    match ends:
        case ((int() | float() as first,), (int() | float() as last,)) if not isinstance(first, bool):
            yield from () if first <= last else (f"no value is in the range {first}..{last}",)
        case ((str() as first,), (str() as last,)):
            yield from () if first <= last else (f'no value is in the range "{first}".."{last}"',)
        case _:
            yield "the ends of a range are numbers, durations or strings, both of one kind"


def _constant(pattern: ast.Expr | ast.BoundVariant) -> tuple[object] | None:
    """The value of a constant, or the name of a union's record, in a tuple because it may be null."""
    match pattern:
        case ast.Ref(name=name) | ast.BoundVariant(record=name):
            return (name,)
        case ast.Literal(value=value):
            return (value,)
        case ast.Unary(op="-", operand=ast.Literal(value=int() | float() as value)):
            return (-value,)
        case _:  # no list of constants holds all values of other types, and nothing else is a constant
            return None


def _shown(value: object) -> object:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else value
