"""Functions in expressions: `lower(x)`, `x.lower()`, and what operators of the language stand for.

The table `ghcm.functions` decides what fits; here it is looked up, arguments are converted, and what does not fit is
explained.
"""

import re

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import every, sound, suggest
from ghcm.expr import Call, Expr, Literal, MakeList, MakeStruct, complete
from ghcm.functions import FAMILIES, FUNCTIONS, SUMMARIES, resolve
from ghcm.language import ast
from ghcm.lowering import foreign_idioms
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.expressions.constants import check_arithmetic, check_read, check_written, known
from ghcm.lowering.expressions.conversion import alike_or_report, convert
from ghcm.lowering.expressions.decimals import beside_decimals, decimal_advice, quotient, round_half_up, to_decimal
from ghcm.lowering.expressions.enums import to_enum
from ghcm.lowering.expressions.equality import of_maps
from ghcm.lowering.expressions.functions import call_defined
from ghcm.lowering.expressions.records import json_to
from ghcm.lowering.expressions.regex import BadPattern, Pattern, canonical
from ghcm.lowering.expressions.texts import beside_texts
from ghcm.lowering.types import kind_words
from ghcm.operators import OPERATORS
from ghcm.reducers import AggregateFunction
from ghcm.signatures import COMPARISONS, OF_MAPS
from ghcm.source import Span
from ghcm.types import is_nullable, pair_of, strip
from ghcm.values.timestamps import how_written

CALLABLE: dict[str, str] = {
    written: function.name
    for function in FUNCTIONS.values()
    for written in re.findall(r"(?<![.\w])(\w+)\(", function.signature)
}
"""From the names that programs call to functions: `min` to `least`."""

_AGGREGATES = tuple(each.value for each in AggregateFunction)
_OF_ONE = {
    name: f"xs.{name}() looks at the items of a list; records are aggregated by aggregate_by_key({name}(...))."
    for name in SUMMARIES
} | {name: foreign_idioms.FUNCTIONS[name] for name in ("first", "last")}
_OF_MANY = "Aggregates stand in aggregate_by_key(...) and in the arguments of a published call."
_REPEATED = ("extract_all", "replace_pattern", "split_pattern", "count_matches")
"""What goes on behind a match; engines differ in what follows one of no characters."""
_LENGTHS = (
    "d * n takes a whole number; to_duration(to_seconds(d) / n) is a part of a duration, and "
    "to_duration(to_seconds(d) * 1.5) is as much and a half."
)
_TYPED = {
    "to_enum": to_enum,
    "json_to": json_to,
    "to_decimal": to_decimal,
    "round_half_up": round_half_up,
    "quotient": quotient,
}
"""Functions whose further arguments say a type."""
_PATTERNS = tuple(function.name for function in FAMILIES["patterns"])


def apply(written: ast.Apply, scope: Scope) -> Expr:
    """A call inside an expression, in either form."""
    receiver: tuple[ast.Argument, ...] = ()
    match written.function:
        case ast.Ref(name=name, span=span):
            pass
        case ast.Attribute(of=of, name=name, span=whole, name_span=name_span):
            span, receiver = name_span or whole, (ast.Argument(of, span=of.span),)
        case other:
            raise scope.report(Code.NO_FUNCTION, "this is no function and cannot be called", other.span)
    operands, context = (*receiver, *written.arguments), scope.context
    if name in context.functions:
        given = every(lambda operand: scope.typed(operand.value), operands)
        return call_defined(sound(context.functions[name]), operands, given, written, context)
    function = _named(name, span, context, as_method=bool(receiver), count=len(written.arguments))
    for operand in written.arguments:
        if operand.name == "scale" and function in _TYPED:
            continue
        if operand.name is not None or isinstance(operand.value, ast.Lambda):
            reason = "takes no named arguments" if operand.name is not None else "takes no function as an argument"
            raise scope.report(Code.BAD_OPERANDS, f'"{name}" {reason}', operand.span or operand.value.span)
    if function in _TYPED:
        return _TYPED[function](operands, written.span, scope)
    values = every(lambda operand: scope.typed(operand.value), operands)
    if name == "map_of":
        return operation(function, (_entries_of(values, written.span, context),), written.span, context, name)
    return _checked(function, values, [operand.value.span for operand in operands], written, context)


def _entries_of(arguments: tuple[Expr, ...], span: Span | None, context: Context) -> Expr:
    """A list of records `{key, value}` of keys and values by turns."""
    keys, values = arguments[::2], arguments[1::2]
    if not keys or len(keys) != len(values):
        hint = 'It is written map_of("a", 1, "b", 2).'
        raise context.report(Code.BAD_OPERANDS, '"map_of" takes keys and values by turns', span, hint=hint)
    if any(is_nullable(each.type) for each in keys):
        hint = 'A filter or "??" gives a key that is not null.'
        raise context.report(Code.MAY_BE_NULL, 'a key of "map_of" may be null', span, hint=hint)
    pairs = [MakeStruct((key, value), pair_of(key.type, value.type)) for key, value in zip(keys, values, strict=True)]
    items, type_ = alike_or_report(pairs, 'the entries of "map_of"', "are", span, context)
    return MakeList(items, types.List(type_))


def _checked(
    function: str, arguments: tuple[Expr, ...], spans: list[Span | None], written: ast.Apply, context: Context
) -> Expr:
    """The call with these arguments, of which the constants are checked."""
    if function in _PATTERNS and len(arguments) >= 2:
        arguments = _with_pattern(function, arguments, spans, context)
    check_written(function, arguments, spans, context)
    made = operation(function, arguments, written.span, context)
    check_read(made, spans, context)
    return known(made)


def operation(function: str, arguments: tuple[Expr, ...], span: Span | None, context: Context, sign: str = "") -> Call:
    """The call of a function of the table on typed arguments, converted as it asks; `sign` is the operator that was
    written.
    """
    entry = FUNCTIONS[function]
    if function == "mul" and len(arguments) == 2 and isinstance(strip(arguments[1].type), types.Duration):
        arguments = _length_first(arguments)
    arguments = of_maps(function, beside_decimals(function, beside_texts(function, arguments, span, context)))
    found = tuple(argument.type for argument in arguments)
    resolution = resolve(entry, found)
    if resolution is not None:
        pairs = zip(arguments, resolution.parameters, strict=True)
        fitting = complete(convert(argument, to) for argument, to in pairs)
        if fitting is not None:
            made = Call(function, fitting, resolution.result)
            check_arithmetic(made, span, context)
            return made
    name = sign or next(written for written, meant in CALLABLE.items() if meant == function)
    message = f'"{name}" does not take {kind_words(found)}'
    detail = f"It is written {entry.signature}: {entry.says}."
    raise context.report(Code.BAD_OPERANDS, message, span, detail=detail, hint=_advice(function, arguments))


def _named(name: str, span: Span | None, context: Context, *, as_method: bool, count: int) -> str:
    """The function that a written name means in a call."""
    function = CALLABLE.get(name)
    aggregates = name in _AGGREGATES and (function is None or count < 2)
    if not as_method and (aggregates or name in context.aggregates):
        message = f'"{name}" aggregates many records, and an expression sees one'
        raise context.report(Code.BAD_AGGREGATE, message, span, hint=_OF_ONE.get(name, _OF_MANY))
    if function is not None and (not as_method or FUNCTIONS[function].method):
        return function
    if function is not None:
        raise context.report(
            Code.NO_FUNCTION, f'"{name}" is not called as a method', span, hint=f'Write "{name}(...)".'
        )
    hint = foreign_idioms.FUNCTIONS.get(name, "") or suggest(name, (*CALLABLE, *context.functions))
    if name in OPERATORS and name not in foreign_idioms.FUNCTIONS:
        hint = f'"{name}" is an operator of collections; inside an expression there is one record.'
    elif name in context.kinds:
        hint = f'"{name}" is a {context.kinds[name]}; publish(...) calls units.'
    raise context.report(Code.NO_FUNCTION, f'there is no function "{name}"', span, hint=hint)


def _with_pattern(
    function: str, arguments: tuple[Expr, ...], spans: list[Span | None], context: Context
) -> tuple[Expr, ...]:
    """The arguments with the constant pattern in its one spelling."""
    read = _pattern(function, arguments[1], spans[1], context)
    respelt = (arguments[0], Literal(read.text, types.String()), *arguments[2:])
    if function != "extract" or len(arguments) < 3:
        return respelt
    group = arguments[2].value if isinstance(arguments[2], Literal) else None
    if isinstance(group, int) and 0 <= group <= read.groups:
        return respelt
    code, message = Code.BAD_PATTERN, f"the pattern has no group {group}"
    if group is None:
        code, message = Code.NOT_CONSTANT, f'the group of "{function}" is not a constant number'
    detail = f"The pattern has {read.groups} group{'' if read.groups == 1 else 's'}; 0 is the whole match."
    raise context.report(code, message, spans[2], detail=detail)


def _pattern(function: str, pattern: Expr, span: Span | None, context: Context) -> Pattern:
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        message = f'the pattern of "{function}" is not a constant string'
        detail = "Engines agree on a pattern that is checked here, before anything runs."
        raise context.report(Code.NOT_CONSTANT, message, span, detail=detail)
    try:
        read = canonical(pattern.value, capture=function == "extract")
    except BadPattern as bad:
        message = f'the pattern of "{function}" is not understood: {bad.reason}'
        detail = "Patterns keep to what RE2, Java and Python read alike."
        at = _within(span, pattern.value, bad.position)
        raise context.report(Code.BAD_PATTERN, message, at, detail=detail, hint=bad.hint) from bad
    if read.empty and function in _REPEATED:
        message = f'the pattern of "{function}" may match no character at all'
        raise context.report(Code.BAD_PATTERN, message, span, hint='"+" instead of "*" asks for one at least.')
    return read


def _within(span: Span | None, pattern: str, position: int) -> Span | None:
    """The source position inside the literal, where the literal stands in the source as it is."""
    if span is None:
        return None
    written = span.source.text[span.start : span.end]
    start = written.find(pattern)
    if not pattern or start < 0:
        return span
    at = span.start + start + min(position, len(pattern) - 1)
    return type(span)(span.source, at, at + 1)


_OF_OTHER_COUNT = {
    "substring": "s[2:] is all of it from there.",
    "round": "round(x * 100.0) / 100.0 keeps two digits; round_half_up(x, 2) is for decimals.",
}
"""What to write where two arguments are given, as other languages have it."""


def _length_first(arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The factors of a duration, of which `2 * d` is written for `d * 2`."""
    return arguments[::-1] if isinstance(strip(arguments[0].type), types.Int | types.Int32) else arguments


def _advice(function: str, arguments: tuple[Expr, ...]) -> str:
    if len(arguments) == 2 and function in _OF_OTHER_COUNT:
        return _OF_OTHER_COUNT[function]
    stripped = [strip(argument.type) for argument in arguments]
    if any(isinstance(each, types.Null) for each in stripped):
        return 'A test for null is written "x is null".'
    if function in COMPARISONS and any(isinstance(each, types.Map) for each in stripped):
        return OF_MAPS
    if function == "get" and isinstance(stripped[0], types.Map) and len(arguments) == 3:
        return "get(map, key) is null where the key is not there, and get(map, key) ?? 0 is another value then."
    if function == "coalesce" and isinstance(stripped[-1], types.Bool):
        return '"??" binds tighter than comparisons: (a == b) ?? false.'
    items = [strip(each.item) if isinstance(each, types.List) else each for each in stripped]
    if any(isinstance(each, types.Decimal) for each in items):
        return decimal_advice(function, tuple(stripped))
    numbers = [isinstance(each, types.Int | types.Int32 | types.Float) for each in stripped]
    if any(isinstance(each, types.String) for each in stripped) and any(numbers):
        return "to_string(x) makes text of a number, to_int(x) and to_float(x) read one."
    times = [each for each in stripped if isinstance(each, types.Date | types.Timestamp)]
    if types.String() in stripped and times:
        return f"{how_written(times[0])} to_{times[0]}(x) reads a text."
    if any(isinstance(each, types.Duration) for each in stripped) and function in ("mul", "div", "floordiv", "mod"):
        return _LENGTHS
    if any(isinstance(each, types.Date) for each in stripped) and function in ("add", "sub"):
        return "add_days(d, n) and add_months(d, n) move a date, days_between(start, end) counts days."
    if any(isinstance(each, types.Timestamp) for each in stripped) and len(arguments) == 2:
        return "from_seconds(n) makes a timestamp of seconds since 1970; a duration such as 10s moves one."
    if function in ("and", "or", "not") and any(is_nullable(each) for each in stripped):
        return 'A test for null is written "x is null".'
    return ""
