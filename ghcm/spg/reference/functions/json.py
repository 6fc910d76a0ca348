"""The meanings of the functions of JSON texts."""

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn, cast

from ghcm.functions import Failure
from ghcm.spg.notation.types import parse_type
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail
from ghcm.spg.reference.json_records import value_in
from ghcm.types import Bool, Float, Int, Int32, List, Map, String, Struct, Type, strip
from ghcm.values import encode
from ghcm.values.texts import parse_path

_DEEPEST = 200


class _Number(str):
    """A number as it is written."""


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _parsed(text: str) -> Any:
    try:
        data = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        fail(Failure.BAD_CAST, f"it is no JSON: {error}")
    return data if _depth(data) <= _DEEPEST else fail(Failure.BAD_CAST, "it is nested too deeply")


def _depth(data: object) -> int:
    depth, level = 0, [data]
    while any(isinstance(each, dict | list) for each in level):
        depth, level = depth + 1, [part for each in level for part in _parts(each)]
    return depth


def _parts(data: object) -> list[object]:
    """The items of an array, the values of an object, nothing of others."""
    if isinstance(data, dict):
        return list(cast("dict[str, object]", data).values())
    return cast("list[object]", data) if isinstance(data, list) else []


def _at(text: str, path: str) -> Any:
    """What stands there, None where nothing does."""
    found: object = _parsed(text)
    for step in parse_path(path) or _whole_path(path):
        if isinstance(step, str):
            found = cast("dict[str, object]", found).get(step) if isinstance(found, dict) else None
        else:
            found = None if isinstance(found, dict) else dict(enumerate(_parts(found))).get(step)
    return found


def _whole_path(path: str) -> tuple[str | int, ...]:
    """The path of the whole text, which has no steps; any other fails."""
    return () if path == "$" else fail(Failure.BAD_PATTERN, f"{path!r} is no path")


def _compact(data: Any) -> str:
    match data:
        case None:
            return "null"
        case bool():
            return "true" if data else "false"
        case _Number():
            return str(data)
        case str():
            return json.dumps(data, ensure_ascii=False)
        case list():
            return f"[{','.join(map(_compact, _parts(cast('object', data))))}]"
        case _:
            return "{" + ",".join(f"{_compact(name)}:{_compact(value)}" for name, value in data.items()) + "}"


def _shown(data: Any) -> str:
    return _compact(data).encode("utf-8", "backslashreplace").decode()


def _text(data: Any) -> str | None:
    if data is None:
        return None
    text = str(data) if isinstance(data, str) else _compact(data)
    try:
        text.encode()
    except UnicodeEncodeError:
        fail(Failure.BAD_CAST, "half a surrogate pair is no text")
    return text


def _whole(data: Any) -> int:
    if not isinstance(data, _Number) or not data.lstrip("-").isdecimal():
        fail(Failure.BAD_CAST, f"{_shown(data)} is no whole number")
    return checked(int(data)) if len(data) <= 20 else fail(Failure.OVERFLOW, "the number has more than 64 bits")


def _real(data: Any) -> float:
    if not isinstance(data, _Number):
        fail(Failure.BAD_CAST, f"{_shown(data)} is no number")
    number = float(data)
    return number if abs(number) != float("inf") else fail(Failure.OVERFLOW, f"{data} is too large for a float")


def _of(kind: Callable[[Any], bool], give: Callable[[Any], Any], word: str) -> Meaning:
    def meaning(_: Types, text: str, path: str) -> Any:
        found = _at(text, path)
        if found is None:
            return None
        return give(found) if kind(found) else fail(Failure.BAD_CAST, f"{_shown(found)} is no {word}")

    return meaning


def _json_to(types: Types, text: str, _: object, spelt: str) -> Any:
    _text([_parsed(text)])
    try:
        return value_in(text, parse_type(spelt))
    except ValueError as error:
        fail(Failure.BAD_CAST, str(error).encode("utf-8", "backslashreplace").decode())


def _to_json(types: Types, value: Any) -> str:
    return _written(value, types.arguments[0])


def _written(value: Any, type_: Type) -> str:
    plain = strip(type_)
    match plain:
        case _ if value is None:
            return "null"
        case List(item=item):
            return f"[{','.join(_written(each, item) for each in value)}]"
        case Struct(fields=fields):
            parts = zip(value, fields, strict=True)
            return "{" + ",".join(f"{_quoted(part.name)}:{_written(each, part.type)}" for each, part in parts) + "}"
        case Map(key=String(), value=held):
            return "{" + ",".join(f"{_quoted(key)}:{_written(value[key], held)}" for key in sorted(value)) + "}"
        case Map(key=key, value=held):
            pairs = (f"[{_written(each, key)},{_written(value[each], held)}]" for each in sorted(value))
            return f"[{','.join(pairs)}]"
        case Float() if math.isfinite(value):
            return repr(value)
        case Bool() | Int() | Int32():
            return str(value).lower()
        case _:  # scalars as sinks write them
            return encode(value, plain)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


MEANINGS: dict[str, Meaning] = {
    "to_json": _to_json,
    "json_to": _json_to,
    "json_get": _of(lambda _: True, _text, "value"),
    "json_string": _of(lambda data: isinstance(data, str) and not isinstance(data, _Number), _text, "string"),
    "json_int": _of(lambda _: True, _whole, "number"),
    "json_float": _of(lambda _: True, _real, "number"),
    "json_bool": _of(lambda data: isinstance(data, bool), bool, "bool"),
    "json_list": _of(lambda data: isinstance(data, list), lambda data: [_text(each) for each in data], "array"),
}
