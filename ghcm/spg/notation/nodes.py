"""What a task does as text, and back: each class is `name(required, fields, other = fields)`.

Driven by `ghcm.spg.forms`, so an operation needs no line here to print and parse.
"""

from enum import Enum
from typing import Any, assert_never, cast, get_args

from ghcm.expr import Expr, Lambda
from ghcm.spg.forms import Anything, Choice, Each, EnumOf, Form, Many, Optional, Plain, TypeOf, parts_of
from ghcm.spg.notation.expressions import print_expr, print_lambda, read_expr, read_lambda
from ghcm.spg.notation.natural import Scope
from ghcm.spg.notation.tokens import Tokens, quoted, word_or_quoted
from ghcm.spg.notation.types import print_type, print_value, read_type, read_value
from ghcm.spg.traits import snake
from ghcm.types import Type

_EXPRESSIONS: frozenset[Any] = frozenset(get_args(Expr))


def print_node(form: Form, value: object, scope: Scope) -> str:
    """The text of a field's value."""
    match form:
        case Optional(of=of):
            return "none" if value is None else print_node(of, value, scope)
        case Many(of=Anything()):  # a row
            return print_value(value)
        case Many(of=of):
            return f"[{', '.join(print_node(of, each, scope) for each in cast('tuple[object, ...]', value))}]"
        case Each(of=several):
            parts = zip(several, cast("tuple[object, ...]", value), strict=True)
            return f"({', '.join(print_node(of, each, scope) for of, each in parts)})"
        case TypeOf():
            return print_type(cast("Type", value), scope.texts)
        case EnumOf():
            return word_or_quoted(str(cast("Enum", value).value))
        case Plain() if isinstance(value, str):
            return quoted(value)
        case Plain() | Anything():
            return print_value(value)
        case Choice():
            if isinstance(value, Lambda):
                return print_lambda(value, scope)
            return print_expr(cast("Expr", value), scope) if type(value) in _EXPRESSIONS else _print_call(value, scope)
        case _:
            assert_never(form)


def _print_call(value: object, scope: Scope) -> str:
    texts: list[str] = []
    for part in parts_of(cast("Any", type(value))):
        held = getattr(value, part.name)
        if not part.is_default(held):
            text = print_node(part.form, held, scope)
            texts.append(text if part.required else f"{part.name} = {text}")
    return f"{snake(type(value).__name__)}({', '.join(texts)})"


def read_node(form: Form, tokens: Tokens, scope: Scope) -> object:
    """The field's value that begins at the next token."""
    match form:
        case Optional(of=of):
            return None if tokens.accept("none") else read_node(of, tokens, scope)
        case Many(of=Anything()):
            return read_value(tokens)
        case Many(of=of):
            tokens.expect("[")
            return tuple(tokens.many("]", lambda: read_node(of, tokens, scope)))
        case Each(of=several):
            return tuple(_read_each(several, tokens, scope))
        case TypeOf():
            return read_type(tokens, scope.types)
        case EnumOf(type=enum):
            return enum(tokens.name())
        case Plain(type=type_):
            return _read_plain(type_, tokens)
        case Anything():
            return read_value(tokens)
        case Choice():
            return _read_choice(form, tokens, scope)
        case _:
            assert_never(form)


def _read_plain(type_: type, tokens: Tokens) -> object:
    start = tokens.peek
    value = read_value(tokens)
    if type(value) not in ((int, float) if type_ is float else (type_,)):
        raise ValueError(f"line {start.line}, column {start.column}: expected {type_.__name__}, found {value!r}")
    return value


def _read_each(several: tuple[Form, ...], tokens: Tokens, scope: Scope) -> list[object]:
    items: list[object] = []
    for of in several:
        tokens.expect("," if items else "(")
        items.append(read_node(of, tokens, scope))
    tokens.expect(")")
    return items


def _read_choice(form: Choice, tokens: Tokens, scope: Scope) -> object:
    named = {snake(each.__name__): each for each in form.classes if each not in _EXPRESSIONS and each is not Lambda}
    if tokens.peek.text in named and tokens.ahead(1).text == "(":
        return _read_call(named[tokens.take().text], tokens, scope)
    if Lambda in form.classes:
        return read_lambda(tokens, scope)
    if not _EXPRESSIONS.intersection(form.classes):
        tokens.refuse(" or ".join(named))
    return read_expr(tokens, scope)


def _read_call(class_: type, tokens: Tokens, scope: Scope) -> object:
    tokens.expect("(")
    parts = parts_of(class_)
    values: dict[str, object] = {}
    for part in parts:
        if part.required:
            if values:
                tokens.expect(",")
            values[part.name] = read_node(part.form, tokens, scope)
    optional = {part.name: part.form for part in parts if not part.required}
    while not tokens.accept(")"):
        if values:
            tokens.expect(",")
        name = tokens.name()
        if name not in optional:
            raise ValueError(f'a {class_.__name__} has no field "{name}" (line {tokens.peek.line})')
        tokens.expect("=")
        values[name] = read_node(optional.pop(name), tokens, scope)
    return class_(**values)
