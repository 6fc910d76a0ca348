"""JSON texts in generated row code. A path is the names and list indices behind the text; a type is spelt as the SPG
spells it, with the indices of its fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isinf
from typing import Any, NoReturn, TypeAlias, cast

from ghcm.formats.fields import from_json_field
from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.numbers import within
from ghcm.runtime.native.rows import RecordFailure, overflow
from ghcm.spg.notation.types import parse_type
from ghcm.values import WrittenFloat, has_decimal, writer

_Data: TypeAlias = object
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_DEEPEST = 200
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_WHOLE = re.compile("-?[0-9]+")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def writer_of(spelt: str) -> Callable[[object], str]:
    """The function that writes values of a type as compact JSON text, maps in the order of their keys."""
    write, text = writer(parse_type(spelt), in_order=True), _COMPACT.encode
    return lambda value: text(write(value))


def reader_of(spelt: str) -> Callable[[str], Any]:
    """The function that reads values of a type from JSON texts, by the rules of JSON sources and by their code.

    >>> reader_of('{host: string from "id.host", n: int?}')('{"id": {"host": "a"}, "further": []}')
    ('a', None)
    """
    type_ = parse_type(spelt)
    read, parse_float = from_json_field(type_), WrittenFloat if has_decimal(type_) else None

    def json_to(text: str) -> Any:
        if "\\u" in text:
            _text([_parsed(text)])
        _check_depth(text)
        try:
            return read(json.loads(text, parse_float=parse_float, parse_constant=_constant))
        except ValueError as error:
            detail = str(error).encode("utf-8", "backslashreplace").decode()
            raise RecordFailure(Failure.BAD_CAST, detail) from None

    return json_to


def json_get(text: str, *path: str | int) -> str | None:
    """The text of what stands there."""
    return _text(_at(text, path))


def json_string(text: str, *path: str | int) -> str | None:
    """The string that stands there."""
    found = _at(text, path)
    if found is not None and (isinstance(found, _Number) or not isinstance(found, str)):
        _wrong(found, "string")
    return _text(found)


def json_int(text: str, *path: str | int) -> int | None:
    """The whole number that stands there."""
    found = _at(text, path)
    if found is None:
        return None
    if not isinstance(found, _Number) or not _WHOLE.fullmatch(found):
        _wrong(found, "whole number")
    return within(int(found), "json_int gives") if len(found) <= 20 else overflow(found[:100])


def json_float(text: str, *path: str | int) -> float | None:
    """The number that stands there."""
    found = _at(text, path)
    if found is None:
        return None
    if not isinstance(found, _Number):
        _wrong(found, "number")
    number = float(found)
    if isinf(number):
        raise RecordFailure(Failure.OVERFLOW, f"{found[:100]} is too large for a float")
    return number


def json_bool(text: str, *path: str | int) -> bool | None:
    """True or false, as it stands there."""
    found = _at(text, path)
    return found if found is None or isinstance(found, bool) else _wrong(found, "bool")


def json_list(text: str, *path: str | int) -> list[str | None] | None:
    """The items of the array that stands there."""
    found = _at(text, path)
    if found is None:
        return None
    return [_text(each) for each in cast("list[_Data]", found)] if isinstance(found, list) else _wrong(found, "array")


# --- parts -----------------------------------------------------------------------------------------------------------


def _wrong(found: _Data, kind: str) -> NoReturn:
    shown = _compact(found)[:100].encode("utf-8", "backslashreplace").decode()
    raise RecordFailure(Failure.BAD_CAST, f"{shown} is no {kind}")


def _at(text: str, path: tuple[str | int, ...]) -> _Data:
    found = _parsed(text)
    for step in path:
        if isinstance(step, str):
            found = cast("Mapping[str, _Data]", found).get(step) if isinstance(found, dict) else None
        elif isinstance(found, list):
            items = cast("Sequence[_Data]", found)
            found = items[step] if step < len(items) else None
        else:
            return None
    return found


@lru_cache(maxsize=4)
def _parsed(text: str) -> _Data:
    """The data of a text; several functions of one record ask for the same one."""
    _check_depth(text)
    try:
        return cast("_Data", json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_constant))
    except ValueError as error:
        raise RecordFailure(Failure.BAD_CAST, f"this is no JSON: {error}") from None


def _constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name}")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return
    depth = 0
    for token in _BRACKETS.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > _DEEPEST:
            raise RecordFailure(Failure.BAD_CAST, f"the JSON is nested more than {_DEEPEST} deep")


def _text(data: _Data) -> str | None:
    if data is None:
        return None
    text = str(data) if isinstance(data, str) else _compact(data)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RecordFailure(Failure.BAD_CAST, "the string holds half a surrogate pair") from None
    return text


def _compact(data: _Data) -> str:
    if data is None or isinstance(data, bool):
        return {None: "null", True: "true", False: "false"}[data]
    if isinstance(data, str):
        return str(data) if isinstance(data, _Number) else json.dumps(data, ensure_ascii=False)
    if isinstance(data, list):
        return f"[{','.join(map(_compact, cast('list[_Data]', data)))}]"
    members = cast("Mapping[str, _Data]", data).items()
    return f"{{{','.join(f'{_compact(name)}:{_compact(value)}' for name, value in members)}}}"
