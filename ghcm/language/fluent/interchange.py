"""Records from what a program has already, and back: dataclasses, pydantic models, JSON Schema, Arrow schemas.

Only types and names go over. Defaults, bounds and validators have no counterpart in a record and are left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal as Exact
from types import new_class
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast

from ghcm.language.fluent.class_types import annotation_of, is_dataclass, is_model, struct_of_class, union_of_models
from ghcm.language.fluent.positions import caller, here, mistake
from ghcm.language.fluent.records import Digits, OneOf, Record, at, made_in
from ghcm.schemas import records
from ghcm.schemas.json_schema import Schema, record_of_schema, schema_of
from ghcm.schemas.records import Unmapped, record_name, records_in, within
from ghcm.types import Decimal, Field, Int32, Nullable, Struct, Type

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

    def said(type_: Type) -> object | None:
        """How pydantic says what bounds tell apart."""
        match type_:
            case Int32():
                return Annotated[int, Said(ge=-(2**31), le=2**31 - 1)]
            case Decimal(precision=precision, scale=scale):
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
            default = None if isinstance(part.type, Nullable) else ...
            fields[part.name] = (annotation_of(part.type, made, said), Said(default, alias=part.path))
        made[each.name or ""] = create(each.name or "", __config__=ConfigDict(populate_by_name=True), **fields)
    found = made[record.__name__]
    if not hasattr(record, "__ghcm_tag__"):
        return found
    root: Any = RootModel
    return cast("type[BaseModel]", create(record.__name__, __base__=root[found]))


def _discriminated(union: Struct, made: Mapping[str, type[Any]]) -> Any:
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


def _struct(source: object) -> Struct:
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
        return _renamed(Struct(tuple(map(field_of, columns))))
    raise Unmapped("it is no dataclass, pydantic model, JSON Schema or Arrow schema")


def _renamed(struct: Struct) -> Struct:
    """The struct with names of the language; a field that has another name stands where it stood."""
    if struct.variants:
        variants = [replace(each, record=_renamed(each.record)) for each in struct.variants]
        return records.union_of_records(
            struct.name and record_name(struct.name), struct.fields[0].name, tuple(variants)
        )
    names = records.distinct(records.field_name(field.name) for field in struct.fields)
    fields = (
        Field(name, within(field.type, _renamed), field.path or (None if name == field.name else field.name))
        for name, field in zip(names, struct.fields, strict=True)
    )
    return Struct(tuple(fields), struct.name and record_name(struct.name))


def _classes(record: Struct) -> type[Record] | type[OneOf]:
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


def _one_of(union: Struct, made: Mapping[str, type[Any]]) -> type[OneOf]:
    """The class of a union."""
    body: dict[str, Any] = {each.name: at(each.text) for each in union.variants if each.text != each.name}
    body["__annotations__"] = {each.name: made[each.name] for each in union.variants}
    return new_class(union.name or "", (OneOf,), {"by": union.fields[0].name}, lambda space: space.update(body))


def _refused(source: object, error: Unmapped) -> Exception:
    said = f'"{source.__name__}"' if isinstance(source, type) else "this"
    detail = f"{str(error)[:1].upper()}{str(error)[1:]}."
    return mistake("GHCM-132", f"no record can be made of {said}", here(), detail=detail)
