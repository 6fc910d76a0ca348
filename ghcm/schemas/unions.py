"""Unions of records that come from elsewhere: records that have a field in common which says which of them it is."""

from __future__ import annotations

from ghcm.schemas.naming import field_name, record_name
from ghcm.schemas.unmapped import Unmapped
from ghcm.types import Enumeration, Struct, Variant, strip
from ghcm.types.unions import union_type


def union_of_records(name: str | None, tag: str, variants: tuple[Variant, ...]) -> Struct:
    """The union of these records. Raises `Unmapped` where they do not go together."""
    texts = [variant.text for variant in variants]
    if field_name(tag) != tag:
        raise Unmapped(f'the tag of a union cannot have the name "{tag}"')
    if len(set(texts)) < len(texts):
        raise Unmapped(f'two records of a union have the tag "{next(each for each in texts if texts.count(each) > 1)}"')
    made = union_type(name or "", tag, variants)
    if isinstance(made, tuple):
        field, one, other = made
        raise Unmapped(f'"{field}" is one thing in "{one.name}" and another in "{other.name}"')
    return Struct(made.fields, name, made.variants, made.cases, made.needs)


def tagged(record: Struct, tag: str, said: str | None = None) -> Variant:
    """A record with a field for the tag as one of a union. `said`: the text of the tag where the field does not say."""
    held = next((field for field in record.fields if (field.path or field.name) == tag), None)
    type_ = None if held is None else strip(held.type)
    texts = type_.values if isinstance(type_, Enumeration) else ()
    text = said if said is not None else texts[0] if len(texts) == 1 else None
    if text is None:
        raise Unmapped(f'"{tag}" of "{record.name or "a record"}" does not say one text, by which it is known')
    rest = tuple(field for field in record.fields if field is not held)
    return Variant(text, Struct(rest, record.name or record_name(text)))
