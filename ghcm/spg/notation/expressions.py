"""Expressions and lambdas as text, and back.

Types are left out where they follow from the parts; elsewhere they are written: `(f.label :: string)` gives a type,
`@timestamp "..."` types a literal. Parameters of the unit are `$name`. Signs bind as in the text language.
"""

import dataclasses
from typing import cast

from ghcm.expr import Call, Each, Expr, ForEach, Get, If, Lambda, Let, Literal, MakeList, MakeStruct, Param, Try, Var
from ghcm.spg.notation.natural import Scope, natural, struct_of
from ghcm.spg.notation.tokens import Tokens, is_word, quoted, word_or_quoted
from ghcm.spg.notation.types import is_written_as_tuple, print_type, print_value, read_number, read_type, read_value
from ghcm.types import Date, List, Null, Struct, Timestamp, Type, strip, tuple_of
from ghcm.values.timestamps import date_text, parse_date, parse_timestamp, timestamp_text

_SIGNS = {
    "or": ("or", 1),
    "and": ("and", 2),
    "eq": ("==", 4),
    "ne": ("!=", 4),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "coalesce": ("??", 5),
    "add": ("+", 6),
    "sub": ("-", 6),
    "mul": ("*", 7),
    "div": ("/", 7),
    "floordiv": ("//", 7),
    "mod": ("%", 7),
}
_FUNCTIONS = {sign: (name, level) for name, (sign, level) in _SIGNS.items()}
_NOT, _COMPARISON, _PRIMARY = 3, 4, 9
_KEYWORDS = frozenset({"if", "then", "else", "and", "or", "not", "is", "null", "true", "false", "let", "in", "try"})
_EACH = {each.value: each for each in Each}


# --- printing --------------------------------------------------------------------------------------------------------


def print_lambda(function: Lambda, scope: Scope) -> str:
    """`(a: T, b: T) => body`."""
    parameters = ", ".join(
        f"{word_or_quoted(each.name)}: {print_type(each.type, scope.texts)}" for each in function.parameters
    )
    return f"({parameters}) => {print_expr(function.body, scope.inside(function.parameters))}"


def print_expr(expr: Expr, scope: Scope, level: int = 0) -> str:
    """The expression as text that may stand where the precedence is `level`."""
    expected = natural(expr, scope)
    exact = expected is not None and print_type(expected) == print_type(expr.type)
    if isinstance(expr, Literal) and not exact:
        return f"@{print_type(expr.type, scope.texts)} {_print_typed(expr)}"
    text, own = _print(expr, scope)
    if not exact:
        return f"({text} :: {print_type(expr.type, scope.texts)})"
    return text if own >= level else f"({text})"


def _print_typed(literal: Literal) -> str:
    if isinstance(literal.value, int):
        match strip(literal.type):
            case Timestamp():
                return quoted(timestamp_text(literal.value))
            case Date():
                return quoted(date_text(literal.value))
            case _:  # the others are written as their value
                pass
    return print_value(literal.value)


def _print(expr: Expr, scope: Scope) -> tuple[str, int]:
    match expr:
        case Literal(value=value):
            return print_value(value), _PRIMARY - 1
        case Var(name=name):
            return name if is_word(name) and name not in _KEYWORDS else f"%{quoted(name)}", _PRIMARY
        case Param(name=name):
            return f"${word_or_quoted(name)}", _PRIMARY
        case Get(of=of, field=name):
            return f"{print_expr(of, scope, _PRIMARY)}.{word_or_quoted(name)}", _PRIMARY
        case Call():
            return _print_call(expr, scope)
        case If(condition=condition, then=then, otherwise=otherwise):
            inner = [print_expr(part, scope, 1) for part in (condition, then)]
            return f"if {inner[0]} then {inner[1]} else {print_expr(otherwise, scope)}", 0
        case MakeStruct(values=values, type=type_):
            return _print_struct(values, type_, scope), _PRIMARY
        case MakeList(items=items):
            return f"[{', '.join(print_expr(each, scope) for each in items)}]", _PRIMARY
        case ForEach(kind=kind, list=of, item=item, body=body):
            name = word_or_quoted(item.name)
            text = print_expr(body, scope.binding(item))
            return f"{print_expr(of, scope, _PRIMARY)}.{kind.value}({name} => {text})", _PRIMARY
        case Let(variable=variable, value=value, body=body):
            typed = "" if variable.type == value.type else f": {print_type(variable.type, scope.texts)}"
            head = f"let {word_or_quoted(variable.name)}{typed} = {print_expr(value, scope, 1)}"
            return f"{head} in {print_expr(body, scope.binding(variable))}", 0
        case Try(body=body):
            return f"try({print_expr(body, scope)})", _PRIMARY


def _print_call(call: Call, scope: Scope) -> tuple[str, int]:
    name, arguments = call.function, call.arguments
    if name in _SIGNS and len(arguments) == 2:
        sign, level = _SIGNS[name]
        left = print_expr(arguments[0], scope, level + (level == _COMPARISON))
        return f"{left} {sign} {print_expr(arguments[1], scope, level + 1)}", level
    if len(arguments) == 1:
        match name:
            case "not":
                return f"not {print_expr(arguments[0], scope, _NOT)}", _NOT
            case "neg":
                return f"-({print_expr(arguments[0], scope)})", _PRIMARY - 1
            case "is_null" | "is_not_null":
                not_ = "" if name == "is_null" else "not "
                return f"{print_expr(arguments[0], scope, _COMPARISON + 1)} is {not_}null", _COMPARISON
            case _:
                pass
    return f"{word_or_quoted(name)}({', '.join(print_expr(each, scope) for each in arguments)})", _PRIMARY


def _print_struct(values: tuple[Expr, ...], type_: Type, scope: Scope) -> str:
    texts = [print_expr(value, scope) for value in values]
    if not isinstance(type_, Struct) or is_written_as_tuple(type_):
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    known = scope.texts.get(print_type(type_), "")
    inner = ", ".join(f"{word_or_quoted(name)}: {text}" for name, text in zip(type_.names, texts, strict=True))
    return f"{known}{{{inner}}}"


# --- parsing ---------------------------------------------------------------------------------------------------------


def read_lambda(tokens: Tokens, scope: Scope) -> Lambda:
    """The lambda that begins at the next token."""
    tokens.expect("(")
    parameters = tuple(tokens.many(")", lambda: Var(tokens.named(":"), read_type(tokens, scope.types))))
    tokens.expect("=>")
    return Lambda(parameters, read_expr(tokens, scope.inside(parameters)))


def read_expr(tokens: Tokens, scope: Scope, level: int = 0) -> Expr:
    """The expression that begins at the next token and whose signs bind at least as `level`."""
    if tokens.accept("if"):
        condition = read_expr(tokens, scope, 1)
        tokens.expect("then")
        then = read_expr(tokens, scope, 1)
        tokens.expect("else")
        return If(condition, then, read_expr(tokens, scope), then.type)
    if tokens.accept("let"):
        return _read_let(tokens, scope)
    left = _call(scope, "not", read_expr(tokens, scope, _NOT)) if tokens.accept("not") else _read_postfix(tokens, scope)
    while True:
        token = tokens.peek
        if token.text == "is" and level <= _COMPARISON and tokens.accept("is"):
            name = "is_not_null" if tokens.accept("not") else "is_null"
            tokens.expect("null")
            left = _call(scope, name, left)
            continue
        name, own = _FUNCTIONS.get(token.text, ("", -1)) if token.kind != "string" else ("", -1)
        if own < max(level, 1):
            return left
        tokens.take()
        left = _call(scope, name, left, read_expr(tokens, scope, own + 1))


def _call(scope: Scope, name: str, *arguments: Expr) -> Expr:
    return _typed(Call(name, arguments, Null()), scope)


def _typed(expr: Expr, scope: Scope) -> Expr:
    found = natural(expr, scope)
    return dataclasses.replace(expr, type=found) if found is not None else expr


def _read_postfix(tokens: Tokens, scope: Scope) -> Expr:
    expr = _read_primary(tokens, scope)
    while tokens.accept("."):
        name = tokens.name()
        if name in _EACH and tokens.accept("("):
            expr = _read_each(tokens, scope, _EACH[name], expr)
        else:
            expr = _typed(Get(expr, name, Null()), scope)
    return expr


def _read_each(tokens: Tokens, scope: Scope, kind: Each, of: Expr) -> Expr:
    items = strip(of.type)
    if kind is Each.FOLD and isinstance(items, Struct) and len(items.fields) == 2:
        so_far, several = items.fields[0].type, strip(items.fields[1].type)
        item: Type = tuple_of(so_far, several.item if isinstance(several, List) else Null())
    else:
        item = items.item if isinstance(items, List) else Null()
    variable = Var(tokens.named("=>"), item)
    body = read_expr(tokens, scope.binding(variable))
    tokens.expect(")")
    return _typed(ForEach(kind, of, variable, body, Null()), scope)


def _read_let(tokens: Tokens, scope: Scope) -> Expr:
    name = tokens.name()
    type_ = read_type(tokens, scope.types) if tokens.accept(":") else None
    tokens.expect("=")
    value = read_expr(tokens, scope, 1)
    tokens.expect("in")
    variable = Var(name, value.type if type_ is None else type_)
    body = read_expr(tokens, scope.binding(variable))
    return Let(variable, value, body, body.type)


def _read_primary(tokens: Tokens, scope: Scope) -> Expr:
    token = tokens.peek
    if token.kind in ("number", "string") or tokens.at("null", "true", "false"):
        return _typed(Literal(read_value(tokens), Null()), scope)
    if tokens.accept("-"):
        if tokens.peek.kind == "number":
            return _typed(Literal(-read_number(tokens), Null()), scope)
        return _call(scope, "neg", _read_primary(tokens, scope))
    if tokens.accept("@"):
        return _read_literal(tokens, scope)
    if tokens.accept("$"):
        return _typed(Param(tokens.name(), Null()), scope)
    if tokens.accept("%"):
        return _typed(Var(tokens.string(), Null()), scope)
    if tokens.accept("("):
        return _read_parentheses(tokens, scope)
    if tokens.accept("["):
        return _typed(MakeList(_read_list(tokens, scope, "]"), Null()), scope)
    if tokens.at("{"):
        return _read_struct(tokens, scope, None)
    if tokens.accept("try"):
        tokens.expect("(")
        body = read_expr(tokens, scope)
        tokens.expect(")")
        return _typed(Try(body, Null()), scope)
    name = tokens.name()
    if tokens.at("{") and isinstance(scope.types.get(name), Struct):
        return _read_struct(tokens, scope, cast("Struct", scope.types[name]))
    if tokens.accept("("):
        return _call(scope, name, *_read_list(tokens, scope, ")"))
    return _typed(Var(name, Null()), scope)


def _read_literal(tokens: Tokens, scope: Scope) -> Literal:
    type_ = read_type(tokens, scope.types)
    value = read_value(tokens)
    if isinstance(value, str) and isinstance(strip(type_), Timestamp):
        value = parse_timestamp(value)
    if isinstance(value, str) and isinstance(strip(type_), Date):
        value = parse_date(value)
    return Literal(value, type_)


def _read_parentheses(tokens: Tokens, scope: Scope) -> Expr:
    if tokens.accept(")"):
        return MakeStruct((), Struct(()))
    first = read_expr(tokens, scope)
    if tokens.accept("::"):
        type_ = read_type(tokens, scope.types)
        tokens.expect(")")
        return dataclasses.replace(first, type=type_)
    if tokens.accept(")"):
        return first
    tokens.expect(",")
    values = (first, *_read_list(tokens, scope, ")"))
    return MakeStruct(values, tuple_of(*(each.type for each in values)))


def _read_list(tokens: Tokens, scope: Scope, end: str) -> tuple[Expr, ...]:
    return tuple(tokens.many(end, lambda: read_expr(tokens, scope)))


def _read_struct(tokens: Tokens, scope: Scope, type_: Struct | None) -> Expr:
    tokens.expect("{")
    parts = tokens.many("}", lambda: (tokens.named(":"), read_expr(tokens, scope)))
    values = tuple(value for _, value in parts)
    return MakeStruct(values, type_ or struct_of(tuple(name for name, _ in parts), values))
