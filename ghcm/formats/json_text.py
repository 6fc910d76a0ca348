"""JSON texts as the functions of the language read them, on every engine: numbers as they are written, no half
surrogate pairs, no more levels than 200. A path is the names and list indices behind the text.

What does not fit raises ValueError, and OverflowError where a number is too large for its type.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isinf
from typing import NoReturn, TypeAlias, TypeVar, cast

from ghcm.formats.fields import from_json_field
from ghcm.types import INT_MAX, INT_MIN, Type
from ghcm.values import WrittenFloat, has_decimal
from ghcm.values.reading import read_string
from ghcm.values.texts import shown

T = TypeVar("T")
Data: TypeAlias = object
"""What is in a JSON text, its numbers as they are written."""

_DEEPEST = 200
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_WHOLE = re.compile("-?[0-9]+")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def parsed(text: str) -> Data:
    """The data of a text."""
    _check_depth(text)
    try:
        return cast("Data", json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_constant))
    except ValueError as error:
        raise ValueError(f"this is no JSON: {error}") from None


def reader_of(type_: Type) -> Callable[[str], object]:
    """The function that reads values of a type from texts, by the rules of JSON sources and by their code."""
    read, parse_float = from_json_field(type_), WrittenFloat if has_decimal(type_) else None

    def read_text(text: str) -> object:
        if "\\u" in text:
            text_of([parsed(text)])
        _check_depth(text)
        return read(json.loads(text, parse_float=parse_float, parse_constant=_constant))

    return read_text


def read_at(data: Data, path: Sequence[str | int], read: Callable[[Data], T]) -> T | None:
    """What a function makes of what stands at a path; None where nothing does, or null."""
    for step in path:
        if isinstance(step, str):
            data = cast("Mapping[str, Data]", data).get(step) if isinstance(data, dict) else None
        else:
            items = cast("Sequence[Data]", data) if isinstance(data, list) else ()
            data = items[step] if step < len(items) else None
    return None if data is None else read(data)


def text_of(data: Data) -> str:
    """The text of any data: a string as itself."""
    return read_string(str(data) if isinstance(data, str) else _compact(data))


def string_of(data: Data) -> str:
    """The string that the data is."""
    return text_of(data) if isinstance(data, str) and not isinstance(data, _Number) else _wrong(data, "string")


def int_of(data: Data) -> int:
    """The whole number that the data is."""
    if not isinstance(data, _Number) or not _WHOLE.fullmatch(data):
        _wrong(data, "whole number")
    if len(data) > 20 or not INT_MIN <= int(data) <= INT_MAX:
        raise OverflowError(f"{shown(data)} does not fit 64 bits")
    return int(data)


def float_of(data: Data) -> float:
    """The number that the data is."""
    if not isinstance(data, _Number):
        _wrong(data, "number")
    number = float(data)
    if isinf(number):
        raise OverflowError(f"{shown(data)} is too large for a float")
    return number


def bool_of(data: Data) -> bool:
    """True or false, as the data is."""
    return data if isinstance(data, bool) else _wrong(data, "bool")


def list_of(data: Data) -> list[str | None]:
    """The texts of the items of the array that the data is."""
    items = cast("list[Data]", data) if isinstance(data, list) else _wrong(data, "array")
    return [None if each is None else text_of(each) for each in items]


READERS: dict[str, Callable[[Data], str | float | list[str | None]]] = {
    "value": text_of,
    "string": string_of,
    "whole number": int_of,
    "number": float_of,
    "bool": bool_of,
    "array": list_of,
}
"""By what messages call it."""


def _wrong(data: Data, kind: str) -> NoReturn:
    raise ValueError(f"{shown(_compact(data))} is no {kind}")


def _constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name}")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    for token in _BRACKETS.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > _DEEPEST:
            raise ValueError(f"the JSON is nested more than {_DEEPEST} deep")


def _compact(data: Data) -> str:
    match data:
        case _Number():
            return str(data)
        case list():
            return f"[{','.join(map(_compact, cast('list[Data]', data)))}]"
        case dict():
            members = cast("Mapping[str, Data]", data).items()
            return f"{{{','.join(f'{_compact(name)}:{_compact(value)}' for name, value in members)}}}"
        case _:  # a string, true, false or null
            return json.dumps(data, ensure_ascii=False)
