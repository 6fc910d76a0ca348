"""Types as text, and back: what the text form and the JSON form of the SPG both write; and values that explain
themselves.

    int   string?   list<int>   map<string, float>   decimal(10, 2)   (int, string)   (int,)
    enum{tcp, udp}   enum Proto{tcp, "n/a"}
    {key: string, value: int}   Flow{ts: timestamp from "time", "odd name": int}
    Event{kind: enum{login, failed}, user: string? of {login}}
    null  true  -12  1.5  NaN  Infinity  "text"  bytes"AP8="  decimal"1.50"  (struct, value)  [list]  {map: value}

A record's name, its fields' paths and the tags by which a field is there are kept, though types are equal without them.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from functools import lru_cache
from typing import cast, get_args

from ghcm import types
from ghcm.spg.notation.tokens import Tokens, quoted, word_or_quoted

_SCALARS: dict[str, types.Type] = {str(kind()): kind() for kind in get_args(types.Type) if not fields(kind)}


def is_written_as_tuple(type_: types.Struct) -> bool:
    """Whether the struct is written as a tuple, which loses nothing of it."""
    names = tuple(f"_{index}" for index in range(1, len(type_.fields) + 1))
    return (
        bool(type_.fields)
        and type_.name is None
        and type_.names == names
        and not any(part.path for part in type_.fields)
    )


def print_type(type_: types.Type, names: Mapping[str, str] | None = None) -> str:
    """The type as text. `names`: what to write instead of a struct, by the struct's own text."""
    match type_:
        case types.Nullable(of=of):
            return f"{print_type(of, names)}?"
        case types.List(item=item):
            return f"list<{print_type(item, names)}>"
        case types.Map(key=key, value=value):
            return f"map<{print_type(key, names)}, {print_type(value, names)}>"
        case types.Struct() if is_written_as_tuple(type_):
            inner = ", ".join(print_type(part.type, names) for part in type_.fields)
            return f"({inner}{',' if len(type_.fields) == 1 else ''})"
        case types.Struct():
            known = (names or {}).get(print_type(type_)) if names else None
            return known or f"{_record_word(type_.name)}{print_fields(type_, names)}"
        case types.Enumeration(values=values, name=name):
            return f"enum{f' {word_or_quoted(name)}' if name else ''}{{{', '.join(map(word_or_quoted, values))}}}"
        case _:  # the others are words
            return str(type_)


def _record_word(name: str | None) -> str:
    return "" if not name else quoted(name) if name == "enum" else word_or_quoted(name)


def print_fields(type_: types.Struct, names: Mapping[str, str] | None = None) -> str:
    """The fields of a struct in braces."""
    return "{" + ", ".join(_print_field(part, type_, names) for part in type_.fields) + "}"


def _print_field(part: types.Field, struct: types.Struct, names: Mapping[str, str] | None) -> str:
    tags = dict(struct.cases).get(part.name, ())
    owners = f" of {{{', '.join(map(word_or_quoted, tags))}}}" if tags else ""
    needed = [(tag, record) for tag, field, record in struct.needs if field == part.name]
    pairs = ", ".join(f"{word_or_quoted(tag)}: {word_or_quoted(record)}" for tag, record in needed)
    owners += f" needs {{{pairs}}}" if needed else ""
    path = f" from {quoted(part.path)}" if part.path is not None else ""
    return f"{word_or_quoted(part.name)}: {print_type(part.type, names)}{owners}{path}"


@lru_cache(maxsize=4096)
def parse_type(text: str) -> types.Type:
    """The inverse of `print_type` without names; ValueError says what is wrong."""
    tokens = Tokens(text)
    type_ = read_type(tokens)
    if tokens.peek.kind != "end":
        tokens.refuse("the end")
    return type_


def read_type(tokens: Tokens, names: Mapping[str, types.Type] | None = None) -> types.Type:
    """The type that begins at the next token. `names`: types by the names that may stand for them."""
    type_ = _read_plain(tokens, names or {})
    return types.Nullable(type_) if tokens.accept("?") else type_


def _read_plain(tokens: Tokens, names: Mapping[str, types.Type]) -> types.Type:
    if tokens.accept("("):
        return types.tuple_of(*tokens.many(")", lambda: read_type(tokens, names)))
    if tokens.at("{"):
        return read_struct(tokens, names)
    bare = tokens.peek.kind == "word"
    name = tokens.name()
    if bare and name == "enum":
        called = None if tokens.at("{") else tokens.name()
        return types.Enumeration(_read_texts(tokens), called)
    if tokens.at("{"):
        return read_struct(tokens, names, name)
    if bare and name in names:
        return names[name]
    if bare and name == "list" and tokens.accept("<"):
        item = read_type(tokens, names)
        tokens.expect(">")
        return types.List(item)
    if bare and name == "map" and tokens.accept("<"):
        key = read_type(tokens, names)
        tokens.expect(",")
        value = read_type(tokens, names)
        tokens.expect(">")
        return types.Map(key, value)
    if bare and name == "decimal" and tokens.accept("("):
        precision = tokens.integer()
        tokens.expect(",")
        scale = tokens.integer()
        tokens.expect(")")
        return types.Decimal(precision, scale)
    if bare and name in _SCALARS:
        return _SCALARS[name]
    raise ValueError(f'there is no type "{name}" (line {tokens.peek.line}, before column {tokens.peek.column})')


def _read_texts(tokens: Tokens) -> tuple[str, ...]:
    tokens.expect("{")
    return tuple(tokens.many("}", tokens.name))


def read_struct(tokens: Tokens, names: Mapping[str, types.Type], called: str | None = None) -> types.Struct:
    """The struct of that name whose fields, in braces, begin at the next token."""
    cases: list[tuple[str, tuple[str, ...]]] = []
    needs: list[tuple[str, str, str]] = []

    def field() -> types.Field:
        name = tokens.named(":")
        type_ = read_type(tokens, names)
        if tokens.accept("of"):
            cases.append((name, _read_texts(tokens)))
        if tokens.accept("needs"):
            tokens.expect("{")
            needs.extend(tokens.many("}", lambda: (tokens.named(":"), name, tokens.name())))
        return types.Field(name, type_, tokens.string() if tokens.accept("from") else None)

    tokens.expect("{")
    fields = tuple(tokens.many("}", field))
    return types.Struct(fields, called, cases=tuple(cases), needs=tuple(needs))


_WORDS: dict[str, object] = {"null": None, "true": True, "false": False, "NaN": math.nan, "Infinity": math.inf}


def print_value(value: object) -> str:
    """The value as text; TypeError for what is no canonical value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else "NaN" if math.isnan(value) else "-Infinity"[value > 0 :]
        case str():
            return quoted(value)
        case bytes():
            return f'bytes"{base64.b64encode(value).decode("ascii")}"'
        case Decimal():
            return f'decimal"{value}"'
        case tuple():
            parts = [print_value(each) for each in cast("tuple[object, ...]", value)]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        case list():
            return f"[{', '.join(print_value(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return "{" + ", ".join(f"{print_value(key)}: {print_value(held)}" for key, held in pairs) + "}"
        case _:  # no other Python value is canonical
            raise TypeError(f"{type(value).__name__} is no canonical value")


def read_value(tokens: Tokens) -> object:
    """The value that begins at the next token."""
    token = tokens.peek
    if token.kind == "string":
        return tokens.string()
    if token.kind == "number":
        return read_number(tokens)
    if tokens.accept("-"):
        return -math.inf if tokens.accept("Infinity") else -read_number(tokens)
    if token.kind == "word" and token.text in _WORDS:
        return _WORDS[tokens.take().text]
    if tokens.accept("bytes"):
        return base64.b64decode(tokens.string(), validate=True)
    if tokens.accept("decimal"):
        return Decimal(tokens.string())
    if tokens.accept("("):
        return tuple(tokens.many(")", lambda: read_value(tokens)))
    if tokens.accept("["):
        return tokens.many("]", lambda: read_value(tokens))
    tokens.expect("{")
    return dict(tokens.many("}", lambda: _read_pair(tokens)))


def read_number(tokens: Tokens) -> int | float:
    """The number at the next token: whole without point and exponent."""
    text = tokens.take_kind("number", "a number")
    return int(text) if text.isdecimal() else float(text)


def _read_pair(tokens: Tokens) -> tuple[object, object]:
    key = read_value(tokens)
    tokens.expect(":")
    return key, read_value(tokens)
