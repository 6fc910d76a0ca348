"""The arguments of operators, sources and sinks: Python values into expressions, as the operator table asks for them.

Strings become durations and names where the table wants these (`disorder="10s"`, `format="json"`). Nothing is checked
here: names, numbers and kinds of arguments are checked where both front ends pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.operands import Operands
from ghcm.language.fluent.problems import keep
from ghcm.language.fluent.steps import StepFunction
from ghcm.language.fluent.values import duration_of, expr_of, plain
from ghcm.language.literals import parse_duration
from ghcm.operators import OPERATORS, Argument
from ghcm.source import Span
from ghcm.types import Null

if TYPE_CHECKING:
    from ghcm.language.fluent.pipelines import Pipeline


_DURATION = re.compile(r"[0-9][0-9_]*(\.[0-9]+)?(us|ms|s|m|h|d)")
_NAMES = frozenset(("format", "mode", "kind", "by", "on", "time"))
"""Options whose strings are names wherever the table does not say more: those of sinks and windows."""
_WINDOWS = ("tumbling", "sliding", "session")


def arguments_of(
    operator: str, values: Sequence[object], options: Mapping[str, object], places: Operands
) -> tuple[ast.Argument, ...]:
    """The arguments of a call; options that are None are not given. Mistakes are reported and stand as null."""
    declared = OPERATORS[operator].arguments if operator in OPERATORS else ()
    positional = [each for each in declared if each.positional]
    found: list[ast.Argument] = []
    for index, value in enumerate(values):
        wanted = positional[min(index, len(positional) - 1)] if positional else None
        span = places.at(index)
        found.append(ast.Argument(_value(operator, wanted, value, span), None, span))
    for name, value in options.items():
        if value is not None:
            wanted = next((each for each in declared if each.name == plain(name)), _option(plain(name)))
            span = places.of(name)
            found.append(ast.Argument(_value(operator, wanted, value, span), plain(name), span))
    return tuple(found)


def _option(name: str) -> Argument | None:
    return Argument(name, "name") if name in _NAMES else None


def _value(operator: str, wanted: Argument | None, value: object, span: Span) -> ast.Expr:
    try:
        if isinstance(value, str):
            return _text(operator, wanted, value, span)
        if operator == "iterate" and wanted is not None and wanted.name == "step" and callable(value):
            return StepFunction(cast("Callable[[Pipeline], Pipeline]", value)).__ghcm_expr__(span)
        return expr_of(value, span)
    except ProgramError as error:
        keep(error)
        return ast.Literal(None, Null(), span)


def _text(operator: str, wanted: Argument | None, value: str, span: Span) -> ast.Expr:
    kind = wanted.kind if wanted is not None else ""
    may_be_duration = kind == "duration" or operator in _WINDOWS or kind == "int or duration"
    if may_be_duration and _DURATION.fullmatch(value):
        return duration_of(parse_duration(value), span)
    if kind == "name" and value.isidentifier():
        return ast.Ref(value, span)
    return expr_of(value, span)
