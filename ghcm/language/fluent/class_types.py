"""Classes of Python into records and back: annotations of records, dataclasses and pydantic models as types."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal as Exact
from types import NoneType, UnionType
from typing import Any, cast

from ghcm import types
from ghcm.language.fluent import records
from ghcm.language.fluent.records import PLAIN, Digits, enum_type, is_enum, is_literal
from ghcm.schemas.records import Unmapped, inside, tagged, union_of_records

_Part = tuple[str, object, str | None]
"""A field of a class: its name, annotation and path in the source."""


def is_model(found: object) -> bool:
    """Whether it is a class of a pydantic model; pydantic is not loaded to tell."""
    return isinstance(found, type) and hasattr(found, "__pydantic_fields__")


def is_dataclass(found: object) -> bool:
    """Whether it is the class of a dataclass."""
    return isinstance(found, type) and dataclasses.is_dataclass(found)


def struct_of_class(found: type, open_: tuple[type, ...] = ()) -> types.Struct:
    """The record that a dataclass, a pydantic model or a `Record` says, or the union of a `OneOf`. Raises
    `Unmapped`."""
    if found in open_:
        raise Unmapped(f'"{found.__name__}" is inside of itself, and records are not')
    if records.is_union(found):
        inner = (*open_, found)
        variants = [types.Variant(text, struct_of_class(each, inner)) for text, each, _ in records.variants_of(found)]
        return union_of_records(found.__name__, found.__ghcm_tag__, tuple(variants))
    fields: list[types.Field] = []
    for name, annotation, path in _parts(found):
        with inside(name):
            fields.append(types.Field(name, _type(annotation, (*open_, found)), path))
    return types.Struct(tuple(fields), found.__name__)


def union_of_models(source: object) -> types.Struct | None:
    """The union that an annotation with a discriminator says, or a `RootModel` of one; None where it is another thing.
    Raises `Unmapped`."""
    name: str | None = None
    if is_model(source):
        said = cast("dict[str, Any]", getattr(source, "__pydantic_fields__")).get("root")  # noqa: B009
        if said is None:
            return None
        name, source = cast("type", source).__name__, _with_metadata(said.annotation, [*said.metadata, said])
    elif typing.get_origin(source) is not typing.Annotated:
        return None
    found = _type(source, ())
    return replace(found, name=name) if isinstance(found, types.Struct) and found.variants else None


def _union(annotation: object, tag: str, open_: tuple[type, ...]) -> types.Type:
    """What pydantic calls a discriminated union."""
    choices = [each for each in typing.get_args(annotation) if each is not NoneType]
    if not choices or not all(is_model(each) or is_dataclass(each) for each in choices):
        raise Unmapped("a choice of anything but records is no type of the language")
    variants = tuple(tagged(struct_of_class(each, open_), tag) for each in choices)
    made = union_of_records(None, tag, variants)
    return made if len(choices) == len(typing.get_args(annotation)) else types.Nullable(made)


def _parts(found: type) -> Iterator[_Part]:
    if is_model(found):
        for name, said in cast("dict[str, Any]", getattr(found, "__pydantic_fields__")).items():  # noqa: B009
            alias = said.validation_alias
            if alias is not None and not isinstance(alias, str):
                raise Unmapped("a choice of aliases has no counterpart", (name,))
            beside = [said] if isinstance(said.discriminator, str) else []
            yield name, _with_metadata(said.annotation, [*said.metadata, *beside]), alias
        return
    if not is_dataclass(found):
        yield from records.parts_of(found)
        return
    hints = typing.get_type_hints(found, include_extras=True)
    known: Any = found
    for part in dataclasses.fields(known):
        path: object = part.metadata.get("from")
        yield part.name, hints[part.name], path if isinstance(path, str) else None


def _with_metadata(annotation: object, metadata: list[object]) -> object:
    """An annotation with what pydantic keeps beside it."""
    whole: Any = typing.Annotated
    return whole[(annotation, *metadata)] if metadata else annotation


_INSTEAD = {
    "Decimal": ": write Annotated[Decimal, Digits(10, 2)], or in pydantic Field(max_digits=10, decimal_places=2)",
    "list": ": write list[T]", "dict": ": write dict[K, V]", "set": ": write list[T]", "HttpUrl": ": write str",
    "UUID": ": write str",
}  # fmt: skip
"""Behind the name of a type that Python's programs have: what to write instead."""


def _type(annotation: object, open_: tuple[type, ...], metadata: tuple[object, ...] = ()) -> types.Type:
    """The type that an annotation says together with the metadata beside it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(arguments[0], open_, (*arguments[1:], *metadata))
    tag = _found(metadata, "discriminator")
    if isinstance(tag, str):
        return _union(annotation, tag, open_)
    if origin in (typing.Union, UnionType):
        given = [each for each in arguments if each is not NoneType]
        if len(given) != 1:
            raise Unmapped("a union of types is no type of the language")
        return types.as_nullable(_type(given[0], open_, metadata))
    if metadata and (sized := _sized(annotation, metadata)) is not None:
        return sized
    if isinstance(annotation, type) and annotation in PLAIN:
        return PLAIN[annotation]
    if is_enum(annotation) or is_literal(annotation):
        enum = enum_type(annotation)
        if enum is None:
            raise Unmapped("an enum of anything but strings is no type of the language")
        return enum
    if isinstance(annotation, type) and origin is None and _has_fields(annotation):
        return struct_of_class(annotation, open_)
    match origin, arguments:
        case type(), (item,) if origin is list:
            return types.List(_type(item, open_))
        case type(), (key, value) if origin is dict:
            return types.Map(_type(key, open_), _type(value, open_))
        case type(), (_, _, *_) if origin is tuple and Ellipsis not in arguments:
            return types.tuple_of(*(_type(each, open_) for each in arguments))
        case _:
            said = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
            raise Unmapped(f'"{said}" is no type of the language{_INSTEAD.get(said, "")}')


def _has_fields(found: type) -> bool:
    return is_model(found) or is_dataclass(found) or hasattr(found, "__ghcm_made__")


def _sized(annotation: object, metadata: tuple[object, ...]) -> types.Type | None:
    """A decimal, or a whole number of 32 bits, by the bounds that are said beside it."""
    beside = [part for each in metadata for part in (each, *getattr(each, "metadata", ()))]
    if annotation is int and (_found(beside, "ge"), _found(beside, "le")) == (-(2**31), 2**31 - 1):
        return types.Int32()
    if annotation is not Exact:
        return None
    digits = next((each for each in beside if isinstance(each, Digits)), None)
    precision = digits.precision if digits else _found(beside, "max_digits")
    scale = digits.scale if digits else _found(beside, "decimal_places")
    if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= 38:
        return types.Decimal(precision, scale)
    raise Unmapped("a decimal says how many digits it has: Annotated[Decimal, Digits(10, 2)]")


def _found(beside: Sequence[object], name: str) -> object:
    return next((value for each in beside if (value := getattr(each, name, None)) is not None), None)


Classes = Mapping[str, type]
"""The classes of records by name."""


def annotation_of(
    type_: types.Type, classes: Classes, otherwise: Callable[[types.Type], object | None] = lambda _: None
) -> Any:
    """The annotation that says a type. `otherwise`: how some are said that are not said as in a record."""
    if (said := otherwise(type_)) is not None:
        return said
    match type_:
        case types.Nullable(of=of):
            return annotation_of(of, classes, otherwise) | None
        case types.List(item=item):
            return list[annotation_of(item, classes, otherwise)]  # type: ignore[misc]
        case types.Map(key=key, value=value):
            return dict[annotation_of(key, classes, otherwise), annotation_of(value, classes, otherwise)]  # type: ignore[misc]
        case types.Decimal(precision=precision, scale=scale):
            return typing.Annotated[Exact, Digits(precision, scale)]
        case types.Struct(name=None, fields=fields):
            items = tuple(annotation_of(field.type, classes, otherwise) for field in fields)
            return tuple[items]  # type: ignore[valid-type]
        case types.Struct():
            return classes[type_.name or ""]
        case types.Enumeration(values=values):
            return typing.Literal[values]
        case types.Null():
            raise Unmapped("null alone is no type of the language")
        case _:  # a row of the table says it
            return next(known for known, found in PLAIN.items() if found == type_)
