"""Patterns of a `match`: constants, each named once, that together cover every value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from ghcm.codes import Code
from ghcm.language import ast
from ghcm.lowering.context import Context
from ghcm.lowering.enums import report_no_value
from ghcm.lowering.variants import variant_named
from ghcm.types import Bool, Enumeration, String, Struct, Type, is_nullable, strip

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
            return ast.Literal(text, String(), pattern.span) if isinstance(text, str) else pattern
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
                case _:
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
        context.report(
            Code.BAD_MATCH,
            f"the match leaves {', '.join(missing) if missing else 'a case'} open",
            written.span,
            hint='A last case "_ => ..." takes whatever is left.',
        )
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
        case _:
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
        case _:
            return None


def _shown(value: object) -> object:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else value
