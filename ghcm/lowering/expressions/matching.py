"""`match` becomes a chain of `if`: one comparison for each case, in the order in which they are written.

Its patterns are constants, each named once, that together cover every value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, every, sound
from ghcm.expr import Call, Expr, If, Literal, complete
from ghcm.language import ast
from ghcm.lowering.context import Context, Scope, let_bound
from ghcm.lowering.expressions.applications import operation
from ghcm.lowering.expressions.conversion import alike_or_report
from ghcm.lowering.expressions.enums import report_no_value
from ghcm.lowering.expressions.functions import DEEPEST
from ghcm.lowering.expressions.unions import as_record, as_union_type, tag_is, variant_named
from ghcm.lowering.narrowing import Outcome, known, left_of, path_of, to_known
from ghcm.source import Span
from ghcm.types import Bool, Enumeration, String, Struct, Type, is_nullable, nullable_like, strip


def match_value(written: ast.Match, scope: Scope) -> Expr:
    """The typed chain of a `match`; its last case needs no test, because every case must be covered. What is looked at
    is computed once.
    """
    if len(written.cases) > DEEPEST:
        hint = "A join with a table of the cases does the same."
        raise scope.report(Code.TOO_DEEP, f"the match has more than {DEEPEST} cases", written.span, hint=hint)
    subject = scope.typed(written.subject)
    possible = _possible(subject, scope)
    checked = with_values(written, possible, scope.context)
    check_cases(checked, possible, scope.context)
    return let_bound(subject, "it", scope, lambda it, inner: _cases(checked, it, inner))


def _possible(subject: Expr, scope: Scope) -> Type:
    """The type of what is looked at; of a union only the records that it may be here."""
    union = as_union_type(subject.type)
    if union is None:
        return subject.type
    left = left_of(union.variants, path_of(subject), scope.facts) or union.variants
    return nullable_like(replace(union, variants=left), subject.type)


def _cases(written: ast.Match, subject: Expr, scope: Scope) -> Expr:
    tests: list[Expr | None] = []
    values: list[Expr | None] = []
    for case in written.cases:
        test = None if case.pattern is None else attempt(_test, subject, case.pattern, scope)
        if case.pattern is not None and test is None:
            values.append(None)
            continue
        inner = scope if test is None else scope.knowing(known(test, Outcome.TRUE))
        values.append(attempt(_binding(subject, case.pattern, inner).typed, case.value))
        tests.append(test)
        if test is not None:
            scope = scope.knowing(known(test, Outcome.NOT_TRUE))
    converted, type_ = alike_or_report(sound(complete(values)), "the cases", "give", written.span, scope.context)
    result = converted[-1]
    for test, each in zip(reversed(tests[:-1]), reversed(converted[:-1]), strict=True):
        if test is not None:
            result = If(test, each, result, type_)
    return result


def _binding(subject: Expr, pattern: ast.Pattern | None, scope: Scope) -> Scope:
    """The scope of a case, in which the record of a union has the name that its pattern gives."""
    union = strip(subject.type)
    if not isinstance(pattern, ast.BoundVariant) or not isinstance(union, Struct):
        return scope
    variant = next(each for each in union.variants if each.name == pattern.record)
    attempt(scope.check_free, pattern.name)
    scope.context.note(pattern.name.span, variant.record)
    there = to_known(subject) if is_nullable(subject.type) else subject
    return scope.binding({pattern.name.text: as_record(there, variant)})


def _test(subject: Expr, pattern: ast.Pattern, scope: Scope) -> Expr:
    union = as_union_type(subject.type)
    match pattern:
        case ast.Ref(name=name, span=span) | ast.BoundVariant(record=name, span=span) if union is not None:
            return tag_is(subject, variant_named(name, union, span, scope.context))
        case ast.BoundVariant():
            raise Reported
        case ast.AnyOf(patterns=patterns, span=span):
            return _joined("or", every(lambda each: _test(subject, each, scope), patterns), span, scope)
        case ast.Range(first=first, last=last, span=span):
            ends = every(lambda end: _compared(*end, subject, scope), (("ge", first), ("le", last)))
            return _joined("and", ends, span, scope)
        case _:
            return _compared("eq", pattern, subject, scope)


def _compared(name: str, constant: ast.Expr, subject: Expr, scope: Scope) -> Expr:
    made = scope.typed(constant)
    if isinstance(made, Literal) and made.value is None:
        return Call("is_null", (subject,), Bool())
    return operation(name, (subject, made), constant.span, scope.context, "match")


def _joined(name: str, tests: tuple[Expr, ...], span: Span | None, scope: Scope) -> Expr:
    return reduce(lambda left, right: operation(name, (left, right), span, scope.context), tests)


_One: TypeAlias = ast.Expr | ast.Range | ast.BoundVariant


def with_values(written: ast.Match, type_: Type, context: Context) -> ast.Match:
    """The match with the names in its patterns as the values of the enum that they are; wrong patterns are reported."""
    enum, union = strip(type_), as_union_type(type_)

    def constant(pattern: _One) -> _One:
        if isinstance(enum, Enumeration) and isinstance(pattern, ast.Ref | ast.Literal):
            text = pattern.name if isinstance(pattern, ast.Ref) else pattern.value
            if isinstance(text, str) and text not in enum.values:
                raise report_no_value(enum, text, pattern.span, context)
            return ast.Literal(text, String(), span=pattern.span) if isinstance(text, str) else pattern
        if isinstance(pattern, ast.BoundVariant):
            message = f'"{type_}" is no union, and "{pattern.record} {pattern.name.text}" is a record of one'
            raise context.report(Code.BAD_MATCH, message, pattern.span)
        if isinstance(pattern, ast.Ref):
            hint = 'a string stands in quotes; "_" matches everything else'
            raise context.report(Code.BAD_MATCH, f'"{pattern.name}" is no pattern', pattern.span, hint=hint)
        return pattern

    def changed(case: ast.Case) -> ast.Case:
        match case.pattern:
            case None:
                return case
            case ast.AnyOf(patterns=patterns) as several:
                return replace(case, pattern=replace(several, patterns=every(constant, patterns)))
            case pattern:
                return replace(case, pattern=constant(pattern))

    if union is None:
        return replace(written, cases=every(changed, written.cases))
    every(lambda case: _check_records(case, union, context), written.cases)
    return written


def _check_records(case: ast.Case, union: Struct, context: Context) -> None:
    """Report patterns that are no records of the union, nor null."""

    def check(part: _One) -> None:
        match part:
            case ast.Literal(value=None):
                return
            case ast.BoundVariant(record=record, name=name, span=span) if isinstance(case.pattern, ast.AnyOf):
                attempt(variant_named, record, union, span, context)
                message = f'"{name.text}" is a name for one record, and here are several'
                hint = "What all of them have is read of the union itself."
                raise context.report(Code.BAD_MATCH, message, name.span, hint=hint)
            case ast.Ref(name=record, span=span) | ast.BoundVariant(record=record, span=span):
                variant_named(record, union, span, context)
            case _:  # any other expression is no pattern of a union
                message = f'"{union}" is a union, whose cases are records'
                hint = f"match e {{ {union.variants[0].name} x => x..., _ => ... }}"
                raise context.report(Code.BAD_MATCH, message, part.span, hint=hint)

    every(check, _alternatives(case))


def _alternatives(case: ast.Case) -> tuple[_One, ...]:
    """The patterns of a case; none of the last case, which takes whatever is left."""
    match case.pattern:
        case None:
            return ()
        case ast.AnyOf(patterns=patterns):
            return patterns
        case pattern:
            return (pattern,)


def check_cases(written: ast.Match, type_: Type, context: Context) -> None:
    """Report cases that are wrong for a value of this type, or missing."""
    seen: list[object] = []
    found: list[Reported] = []
    for index, case in enumerate(written.cases):
        for problem in _problems(case, seen, last=index == len(written.cases) - 1):
            found.append(context.report(Code.BAD_MATCH, problem, case.span or written.span))
    missing = () if any(case.pattern is None for case in written.cases) else _missing(type_, seen)
    if missing != ():
        message = f"the match leaves {', '.join(missing) if missing else 'a case'} open"
        hint = 'A last case "_ => ..." takes whatever is left.'
        found.append(context.report(Code.BAD_MATCH, message, written.span, hint=hint))
    if found:
        raise found[0]


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
        case _:  # no list of constants holds all values of other types
            return None


def _problems(case: ast.Case, seen: list[object], *, last: bool) -> Iterator[str]:
    """What is wrong with a case behind others; its constants are added to those seen."""
    if case.pattern is None and not last:
        yield 'no record comes to a case behind "_"'
    for part in _alternatives(case):
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
        case _:  # nothing else is a constant
            return None


def _shown(value: object) -> object:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else value
