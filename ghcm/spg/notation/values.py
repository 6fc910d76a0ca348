"""Canonical values as text that explains itself, and back.

null  true  -12  1.5  NaN  Infinity  "text"  bytes"AP8="  decimal"1.50"  (struct, value)  [list]  {map: value}
"""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import cast

from ghcm.spg.notation.tokens import Tokens, quoted

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
