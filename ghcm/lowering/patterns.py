"""Patterns of a `match`: constants, each named once, that together cover every value."""

from __future__ import annotations

from collections.abc import Iterator

from ghcm.language import ast
from ghcm.lowering.codes import Code
from ghcm.lowering.context import Context
from ghcm.types import Bool, Type, is_nullable, strip

__all__ = ["check_cases"]


def check_cases(written: ast.Match, type_: Type, context: Context) -> bool:
    """Whether the cases are right for a value of this type; what is wrong is reported."""
    seen: list[object] = []
    correct = True
    for index, case in enumerate(written.cases):
        for problem in _problems(case, seen, last=index == len(written.cases) - 1):
            context.report(Code.BAD_MATCH, problem, case.span or written.span)
            correct = False
    covered = any(case.pattern is None for case in written.cases) or _covers(type_, seen)
    if not covered:
        context.report(
            Code.BAD_MATCH,
            "the match leaves a case open",
            written.span,
            hint='A last case "_ => ..." takes whatever is left.',
        )
    return correct and covered


def _covers(type_: Type, seen: list[object]) -> bool:
    """Whether these constants are all values of a type."""
    return strip(type_) == Bool() and True in seen and False in seen and (not is_nullable(type_) or None in seen)


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


def _constant(pattern: ast.Expr) -> tuple[object] | None:
    """The value of a constant, in a tuple because it may be null."""
    match pattern:
        case ast.Literal(value=value):
            return (value,)
        case ast.Unary(op="-", operand=ast.Literal(value=int() | float() as value)):
            return (-value,)
        case _:
            return None


def _shown(value: object) -> object:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else value
