"""The SPG as JSON, for bundles and for tools: everything that the graph holds, positions in the source included.

An object per class; `"is"` names the class where several may stand. Fields that hold their default are left out. Types
are text as in `ghcm.spg.notation`. Loading checks the form only; `ghcm.spg.verify` says whether the graph makes sense.
"""

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, assert_never, cast

from ghcm.spg.forms import Anything, Choice, Each, EnumOf, Form, Many, Optional, Plain, TypeOf, parts_of
from ghcm.spg.graph import Program
from ghcm.spg.notation.types import parse_type, print_type

VERSION = 1
"""Raised when an older reader would misread what is written now."""

_ROOT = Choice((Program,))


def to_json(program: Program) -> dict[str, object]:
    """The program as what `json.dumps` takes; equal programs with equal origins give equal JSON."""
    return {"spg": VERSION, **cast("dict[str, object]", _writer(_ROOT)(program))}


def from_json(data: object) -> Program:
    """The inverse of `to_json`; ValueError says what is wrong and where."""
    body = _object(data)
    if (version := body.pop("spg", None)) != VERSION:
        raise ValueError(f"the SPG has version {version}, this GHCM reads version {VERSION}")
    return cast("Program", _reader(_ROOT)(body))


# --- writing ---------------------------------------------------------------------------------------------------------


@cache
def _writer(form: Form) -> Callable[[Any], object]:
    match form:
        case Plain():
            return lambda value: value
        case EnumOf():
            return lambda value: value.value
        case TypeOf():
            return print_type
        case Anything():
            return _write_value
        case Optional(of=of):
            return lambda value: None if value is None else _writer(of)(value)
        case Many(of=of):
            return lambda value: [_writer(of)(each) for each in value]
        case Each(of=several):
            return lambda value: [_writer(of)(each) for of, each in zip(several, value, strict=True)]
        case Choice(classes=classes):
            return _write_tagged if len(classes) > 1 else _write_fields
        case _:
            assert_never(form)


def _write_tagged(value: object) -> object:
    return {"is": type(value).__name__, **_write_fields(value)}


def _write_fields(value: object) -> dict[str, object]:
    result: dict[str, object] = {}
    for part in parts_of(cast("Any", type(value))):
        held = getattr(value, part.name)
        if not part.is_default(held):
            result[part.name] = _writer(part.form)(held)
    return result


def _write_value(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return {"bytes": base64.b64encode(value).decode("ascii")}
        case Decimal():
            return {"decimal": str(value)}
        case tuple():
            return {"struct": [_write_value(each) for each in cast("tuple[object, ...]", value)]}
        case list():
            return [_write_value(each) for each in cast("list[object]", value)]
        case dict():
            pairs = cast("dict[object, object]", value).items()
            return {"map": [[_write_value(key), _write_value(held)] for key, held in pairs]}
        case _:  # no other Python value is canonical
            raise TypeError(f"{type(value).__name__} is no canonical value")


# --- reading ---------------------------------------------------------------------------------------------------------


@cache
def _reader(form: Form) -> Callable[[Any], object]:
    match form:
        case Plain(type=type_):
            kinds = (int, float) if type_ is float else (type_,)
            return lambda data: data if type(data) in kinds else _refuse(type_.__name__, data)
        case EnumOf(type=enum):
            return enum
        case TypeOf():
            return lambda data: parse_type(data) if isinstance(data, str) else _refuse("a type", data)
        case Anything():
            return _read_value
        case Optional(of=of):
            return lambda data: None if data is None else _reader(of)(data)
        case Many(of=of):
            return lambda data: tuple([_at(index, of, each) for index, each in enumerate(_array(data))])
        case Each(of=several):
            return lambda data: tuple(
                [_at(index, of, each) for index, (of, each) in enumerate(zip(several, _array(data), strict=True))]
            )
        case Choice():
            return lambda data: _read_object(form, data)
        case _:
            assert_never(form)


def _refuse(expected: str, data: object) -> object:
    raise ValueError(f"expected {expected}, found {str(data)[:40]!r}")


def _array(data: object) -> list[object]:
    return cast("list[object]", data if isinstance(data, list) else _refuse("an array", data))


def _object(data: object) -> dict[str, object]:
    """A copy of it."""
    return dict(cast("dict[str, object]", data if isinstance(data, dict) else _refuse("an object", data)))


def _at(path: object, form: Form, data: object) -> object:
    try:
        return _reader(form)(data)
    except ValueError as error:
        text = str(error)
        raise ValueError(f"{path}{'.' if text[:1].isalnum() and ': ' in text else ': '}{text}") from None


def _read_object(form: Choice, data: object) -> object:
    given = _object(data)
    class_ = form.named(str(given.pop("is", ""))) if len(form.classes) > 1 else next(iter(form.classes))
    values: dict[str, object] = {}
    for part in parts_of(class_):
        if part.name in given:
            values[part.name] = _at(part.name, part.form, given.pop(part.name))
        elif part.required:
            raise ValueError(f'a {class_.__name__} needs "{part.name}"')
    if given:
        raise ValueError(f'a {class_.__name__} has no "{next(iter(given))}"')
    try:
        return class_(**values)
    except (TypeError, LookupError, AttributeError, ArithmeticError) as error:  # its parts do not go together
        raise ValueError(f"no {class_.__name__} can be made of this: {error}") from None


def _read_value(data: object) -> object:
    match data:
        case None | bool() | int() | float() | str():
            return data
        case list():
            return [_read_value(each) for each in cast("list[object]", data)]
        case {"float": str(text)}:
            return math.nan if text == "nan" else float(text)
        case {"bytes": str(text)}:
            return base64.b64decode(text, validate=True)
        case {"decimal": str(text)}:
            return _decimal(text)
        case dict():
            return _read_nested(cast("dict[str, object]", data))
        case _:
            return _refuse("a value", data)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text[:40]!r} is no decimal") from None


def _read_nested(data: dict[str, object]) -> object:
    if "struct" in data:
        return tuple([_read_value(each) for each in _array(data["struct"])])
    pairs = [_array(pair) for pair in _array(data.get("map"))]
    try:
        return {_read_value(key): _read_value(held) for key, held in pairs}
    except TypeError:
        raise ValueError(f"expected keys of a map, found {str(data)[:40]!r}") from None
