"""Records from what a program has already, and back: dataclasses, pydantic models, JSON Schema, Arrow schemas.

Only types and names go over, by way of the language's types. Defaults, bounds and validators have no counterpart in a
record and are left.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal as Exact
from types import NoneType, UnionType, new_class
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, assert_never, cast

from ghcm import types
from ghcm.language.fluent import records as declared
from ghcm.language.fluent.positions import caller, here, mistake
from ghcm.language.fluent.records import PLAIN, Digits, OneOf, Record, at, enum_type, is_enum, is_literal, made_in
from ghcm.schemas import records
from ghcm.schemas.json_schema import Schema, record_of_schema, schema_of
from ghcm.schemas.records import Unmapped, inside, record_name, records_in, tagged, union_of_records, within

if TYPE_CHECKING:
    import pyarrow as pa
    from pydantic import BaseModel


def record_of(source: object, name: str | None = None) -> type[Record]:
    """The record that a dataclass, a pydantic model, a JSON Schema (a dict) or an Arrow schema says.

    `name` is by default its own; an Arrow schema has none. Classes in it become records of their own. A field whose
    name is none of the language gets one and is read from where it stood. Defaults are left out: a field with one has
    to be there, unless its type allows null. ProgramError where a type does not map.
    """
    made: Any = _declared(source, name, is_union=False)
    return cast("type[Record]", made)


def union_of(source: object, name: str | None = None) -> type[OneOf]:
    """The union that a JSON Schema (`oneOf` objects that a property tells apart) or a discriminated union of pydantic
    models says: `Annotated[Login | Logout, Field(discriminator="kind")]`, or a `RootModel` of one.

    `name` is by default its own. ProgramError where it does not map.
    """
    made: Any = _declared(source, name, is_union=True)
    return cast("type[OneOf]", made)


def _declared(source: object, name: str | None, *, is_union: bool) -> type[Record] | type[OneOf]:
    try:
        found = _struct(source)
        given = name or found.name
        if given is None:
            example = "union_of(source, name=...)" if is_union else "record_of(schema, name=...)"
            raise Unmapped(f"it has no name: {example}")
        if found.variants and not is_union:
            raise Unmapped("it is one of several records: union_of makes a union of it")
        if is_union and not found.variants:
            raise Unmapped("it is one record: record_of makes a record of it")
        return _classes(records.named(found, record_name(given)))
    except Unmapped as error:
        raise _refused(source, error) from None


def dataclass_of(record: type[Record]) -> type[Any]:
    """A frozen dataclass with the fields of a record; where one stands in the source is in its metadata, as "from"."""
    made: dict[str, type[Any]] = {}
    for each in records_in(struct_of_class(record)):
        if each.variants:
            detail = f'"{each.name}" is a union, and a choice of dataclasses has no tag.'
            raise mistake("GHCM-132", f'no dataclass can be made of "{record.__name__}"', here(), detail=detail)
        source = {part.name: {"from": part.path} if part.path else {} for part in each.fields}
        fields = [
            (part.name, annotation_of(part.type, made), dataclasses.field(metadata=source[part.name]))
            for part in each.fields
        ]
        made[each.name or ""] = dataclasses.make_dataclass(each.name or "", fields, frozen=True)
    return made[record.__name__]


def pydantic_of(record: type[Record] | type[OneOf]) -> type[BaseModel]:
    """A pydantic model with the fields of a record; a field that may be null is null where it is missing, and one that
    stands elsewhere in the source has that as its alias. Of a union a `RootModel` that is one of the models of its
    records, with the tag in each."""
    from pydantic import ConfigDict, RootModel, create_model
    from pydantic import Field as Said

    def said(type_: types.Type) -> object | None:
        """How pydantic says what bounds tell apart."""
        match type_:
            case types.Int32():
                return Annotated[int, Said(ge=-(2**31), le=2**31 - 1)]
            case types.Decimal(precision=precision, scale=scale):
                bounds = Said(max_digits=precision, decimal_places=scale)
                return Annotated[Exact, bounds, Digits(precision, scale)]
            case _:  # every other type is said as in a record
                return None

    create: Any = create_model
    made: dict[str, type[Any]] = {}
    for each in records_in(struct_of_class(record)):
        if each.variants:
            made[each.name or ""] = _discriminated(each, made)
            continue
        fields: dict[str, Any] = {}
        for part in each.fields:
            default = None if isinstance(part.type, types.Nullable) else ...
            fields[part.name] = (annotation_of(part.type, made, said), Said(default, alias=part.path))
        made[each.name or ""] = create(each.name or "", __config__=ConfigDict(populate_by_name=True), **fields)
    found = made[record.__name__]
    if not hasattr(record, "__ghcm_tag__"):
        return found
    root: Any = RootModel
    return cast("type[BaseModel]", create(record.__name__, __base__=root[found]))


def _discriminated(union: types.Struct, made: Mapping[str, type[Any]]) -> Any:
    """What pydantic calls a discriminated union: models of the records with the tag."""
    from pydantic import Field as Said
    from pydantic import create_model

    create: Any = create_model
    one_of: Any = Union
    tag = union.fields[0].name
    models = [
        create(each.name, __base__=made[each.name], **{tag: (Literal[each.text], each.text)}) for each in union.variants
    ]
    return Annotated[one_of[tuple(models)], Said(discriminator=tag)]


def json_schema_of(record: type[Record] | type[OneOf]) -> Schema:
    """The JSON Schema of the objects that are read as a record or as one of a union."""
    return schema_of(struct_of_class(record))


def arrow_schema_of(record: type[Record]) -> pa.Schema:
    """The Arrow schema of the tables that are read as a record: its columns are named as in the source."""
    import pyarrow as pa

    from ghcm.schemas.arrow import arrow_field

    return pa.schema([arrow_field(part.path or part.name, part.type) for part in struct_of_class(record).fields])


def _struct(source: object) -> types.Struct:
    if isinstance(source, Mapping):
        return record_of_schema(dict(cast("Mapping[str, object]", source)))
    union = union_of_models(source)
    if union is not None:
        return _renamed(union)
    if isinstance(source, type) and (is_dataclass(source) or is_model(source)):
        return _renamed(struct_of_class(source))
    import pyarrow as pa

    if isinstance(source, pa.Schema):
        from ghcm.schemas.arrow import field_of

        columns: list[Any] = list(source)
        return _renamed(types.Struct(tuple(map(field_of, columns))))
    raise Unmapped("it is no dataclass, pydantic model, JSON Schema or Arrow schema")


def _renamed(struct: types.Struct) -> types.Struct:
    """The struct with names of the language; a field that has another name stands where it stood."""
    if struct.variants:
        variants = [replace(each, record=_renamed(each.record)) for each in struct.variants]
        return union_of_records(struct.name and record_name(struct.name), struct.fields[0].name, tuple(variants))
    names = records.distinct(records.field_name(field.name) for field in struct.fields)
    fields = (
        types.Field(name, within(field.type, _renamed), field.path or (None if name == field.name else field.name))
        for name, field in zip(names, struct.fields, strict=True)
    )
    return types.Struct(tuple(fields), struct.name and record_name(struct.name))


def _classes(record: types.Struct) -> type[Record] | type[OneOf]:
    """The class of a record or union, and those of the records in it; what the module has already is taken."""
    module = caller().f_globals
    classes: list[type[Any]] = [*made_in(module, Record), *made_in(module, OneOf)]
    known = {each.__name__: each for each in classes}
    made: dict[str, type[Any]] = {}
    for each in records_in(record):
        name = each.name or ""
        there = known.get(name)
        if there is not None and records.identity(struct_of_class(there)) == records.identity(each):
            made[name] = there
            continue
        if each.variants:
            made[name] = _one_of(each, made)
            continue
        body: dict[str, Any] = {part.name: at(part.path) for part in each.fields if part.path is not None}
        body["__annotations__"] = {part.name: annotation_of(part.type, made) for part in each.fields}
        made[name] = type(name, (Record,), body)
    return made[record.name or ""]


def _one_of(union: types.Struct, made: Mapping[str, type[Any]]) -> type[OneOf]:
    """The class of a union."""
    body: dict[str, Any] = {each.name: at(each.text) for each in union.variants if each.text != each.name}
    body["__annotations__"] = {each.name: made[each.name] for each in union.variants}
    return new_class(union.name or "", (OneOf,), {"by": union.fields[0].name}, lambda space: space.update(body))


def _refused(source: object, error: Unmapped) -> Exception:
    said = f'"{source.__name__}"' if isinstance(source, type) else "this"
    detail = f"{str(error)[:1].upper()}{str(error)[1:]}."
    return mistake("GHCM-132", f"no record can be made of {said}", here(), detail=detail)


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
    if declared.is_union(found):
        inner = (*open_, found)
        variants = [types.Variant(text, struct_of_class(each, inner)) for text, each, _ in declared.variants_of(found)]
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
        yield from declared.parts_of(found)
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
        case types.Scalar():  # a row of the table says it
            return next(known for known, found in PLAIN.items() if found == type_)
        case _:
            assert_never(type_)
