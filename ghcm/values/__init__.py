"""The JSON forms of canonical values: how values stand in calls, replies, sinks, dead letters and in the SPG.

`writer` and `reader` make the conversion of one type once, for loops over many values. This package neither compares
nor evaluates, and it does not decode raw records of sources, which follow looser rules.

    bool, int, int32 -> the same      float -> number, or "NaN", "Infinity", "-Infinity"      decimal -> string
    string -> string                  bytes -> base64 string                                  null -> null
    timestamp -> "2026-01-02T03:04:05.000006Z"     date -> "2026-01-02"     duration -> number of seconds
    list -> array      struct -> object      map -> object where keys are strings, else array of [key, value]
"""

import json
import re
from collections.abc import Callable
from typing import NoReturn, cast

from ghcm.types import Float, String, Struct, Type, strip
from ghcm.values.decimals import WrittenFloat, has_decimal
from ghcm.values.reading import reader, refuse_value
from ghcm.values.writing import Json, make_writer, own_writer, writer

__all__ = [
    "Json",
    "WrittenFloat",
    "cell",
    "cell_writer",
    "compact",
    "decode",
    "encode",
    "encoder",
    "from_json",
    "has_decimal",
    "inert",
    "key_text",
    "key_writer",
    "own_writer",
    "reader",
    "refuse_value",
    "to_json",
    "writer",
]

_FORMULAS = "=+-@\t\r\n＝＋－＠"
"""What a text begins with that a spreadsheet executes, in any width."""

_NUMBER = re.compile(r"[-+]?(\d+([.]\d*)?([eE][-+]?\d+)?|Infinity)", re.ASCII)

_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def compact(data: Json) -> str:
    """JSON data as compact text."""
    return _COMPACT.encode(data)


def cell(data: object) -> str:
    """JSON data as the text of a cell: null is empty, what is nested stays JSON.

    >>> cell(None), cell("a"), cell(1.5), cell([True, None])
    ('', 'a', '1.5', '[true, null]')
    """
    if isinstance(data, bool | dict | list | tuple):
        return json.dumps(data, ensure_ascii=False, default=str)
    return "" if data is None else str(data)


def inert(text: str) -> str:
    """A cell of CSV as a text that no spreadsheet executes: an apostrophe comes before what would be a formula.
    Numbers, which it only computes, stay.

    >>> inert("=1+1"), inert("-1.5"), inert("a=1")
    ("'=1+1", '-1.5', 'a=1')
    """
    return f"'{text}" if text[:1] in _FORMULAS and text and not _NUMBER.fullmatch(text) else text


def to_json(value: object, type_: Type) -> Json:
    """The JSON form of a canonical value of `type_`.

    >>> from ghcm.types import Field, Nullable, Timestamp
    >>> to_json((1, None), Struct((Field("at", Timestamp()), Field("label", Nullable(String())))))
    {'at': '1970-01-01T00:00:00.000001Z', 'label': None}
    """
    return writer(type_)(value)


def from_json(data: Json, type_: Type) -> object:
    """The canonical value behind a JSON form; ValueError says what did not fit and where.

    >>> from ghcm.types import List
    >>> from_json(["a", 1], List(String()))
    Traceback (most recent call last):
    ValueError: [1]: expected string, found 1
    """
    return reader(type_)(data)


def encode(value: object, type_: Type) -> str:
    """The JSON form as compact text; equal values give equal text."""
    return _COMPACT.encode(writer(type_)(value))


def encoder(type_: Type) -> Callable[[object], str]:
    """The function that does `encode` for many values of one type."""
    if isinstance(type_, String):
        return cast("Callable[[object], str]", json.encoder.encode_basestring)
    write, text = writer(type_), _COMPACT.encode
    return lambda value: text(write(value))


def decode(text: str, type_: Type) -> object:
    """The inverse of `encode`; ValueError where the text is no JSON or does not fit."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None
    return reader(type_)(data)


def key_text(value: object, type_: Type) -> str:
    """The text of a sink key: a string as itself, another scalar as JSON without quotes, a struct as compact array.

    >>> from ghcm.types import Int, tuple_of
    >>> key_text((1, "a"), tuple_of(Int(), String()))
    '[1,"a"]'
    """
    return key_writer(type_)(value)


def key_writer(type_: Type) -> Callable[[object], str]:
    """The function that does `key_text` for many keys of one type."""
    inner = strip(type_)
    if not isinstance(inner, Struct):
        return _text_writer(make_writer(type_))
    parts = [make_writer(field.type) for field in inner.fields]

    def to_json(value: object) -> Json:
        if value is None:
            return None
        return [write(part) for write, part in zip(parts, cast("tuple[object, ...]", value), strict=True)]

    return _text_writer(to_json)


def cell_writer(type_: Type) -> Callable[[object], str | None]:
    """The function that gives the cells of CSV: a text as itself, null as none, a float as Python writes it, anything
    else as its JSON text.
    """
    write = repr if isinstance(strip(type_), Float) else _text_writer(make_writer(strip(type_)))
    return lambda value: None if value is None else write(value)


def _text_writer(to_json: Callable[[object], Json]) -> Callable[[object], str]:
    def write(value: object) -> str:
        data = to_json(value)
        return data if isinstance(data, str) else compact(data)

    return write


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
