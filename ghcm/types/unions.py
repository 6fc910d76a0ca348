"""Unions of records as types: one struct of the tag and of the fields of all records, and what a narrower one holds.

A field that every record has is as null as it is there; any other is null where the union is another record.
"""

from __future__ import annotations

from dataclasses import replace

from ghcm.types import Enumeration, Field, Struct, Type, Variant, as_nullable, is_nullable, parts, strip


def union_type(name: str, tag: str, variants: tuple[Variant, ...]) -> Struct | tuple[str, Variant, Variant]:
    """The union of records, or a field that two of them have with different types or paths, and the two."""
    fields: dict[str, tuple[Field, Variant]] = {}
    for variant in variants:
        for field in variant.record.fields:
            mine, owner = fields.setdefault(field.name, (field, variant))
            if strip(mine.type) != strip(field.type) or mine.path != field.path:
                return field.name, owner, variant
    first = Field(tag, Enumeration(tuple(each.text for each in variants)))
    owners = ((each, tuple(owner.text for owner in variants if owner.record.get(each))) for each in fields)
    cases = tuple((each, texts) for each, texts in owners if len(texts) < len(variants))
    rest = (replace(each, type=as_nullable(each.type)) for each, _ in fields.values())
    whole = Struct((first, *rest), name, variants, cases)
    union = narrowed_union(whole, variants)
    nullable = {each.name for each in union.fields if is_nullable(each.type)}
    owned = ((each, field) for each in variants for field in each.record.fields if field.name in nullable)
    needs = tuple((each.text, field.name, each.name) for each, field in owned if not is_nullable(field.type))
    return replace(union, needs=needs)


def narrowed_union(union: Struct, left: tuple[Variant, ...]) -> Struct:
    """The union where it can only be some of its records, with all its fields; unchanged where nothing is left."""
    if not left:
        return union
    rest = (replace(each, type=_type_of(each, left)) for each in union.fields[1:])
    return replace(union, fields=(union.fields[0], *rest), variants=left)


def field_in(name: str, variants: tuple[Variant, ...]) -> Type | None:
    """The type of a field that all these records have; None where one has it not."""
    found = [field.type for each in variants if (field := each.record.get(name)) is not None]
    if not found or len(found) < len(variants):
        return None
    return next((each for each in found if is_nullable(each)), found[0])


def _type_of(field: Field, variants: tuple[Variant, ...]) -> Type:
    """What the column of a field holds where the union is one of these records."""
    found = field_in(field.name, variants)
    if found is None:
        return as_nullable(field.type)
    return found if is_nullable(field.type) else strip(found)  # what is known not to be null stays so


def has_union(type_: Type) -> bool:
    """Whether a part of the type is a union."""
    return any(isinstance(part, Struct) and part.variants for part in parts(type_))
