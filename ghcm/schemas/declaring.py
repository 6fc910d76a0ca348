"""A record and those in it as declarations: every struct has a name of its own, the inner ones come first."""

from __future__ import annotations

from dataclasses import replace

from ghcm.schemas.naming import record_name
from ghcm.schemas.unions import union_of_records
from ghcm.types import Field, List, Map, Nullable, Struct, Type


def named(struct: Struct, name: str) -> Struct:
    """The struct as a record of that name; structs in it that have no name are named after the fields that hold them.
    Tuples stay what they are.

    Those that are alike in fields and place share a name; others of one name have the outer name before theirs.
    """
    return _Names({}).struct(struct, name)


def records_in(record: Struct) -> list[Struct]:
    """The records (and unions) that a named struct is made of, each once, before those that use it; itself last."""
    found: dict[str, Struct] = {}
    for each in _parts(record):
        found |= {inner.name or "": inner for inner in records_in(each)}
    return [*found.values(), record]


def _parts(record: Struct) -> list[Struct]:
    """The records of a union, and what else is in a record."""
    if record.variants:
        return [variant.record for variant in record.variants]
    return [each for field in record.fields for each in _structs(field.type)]


def _structs(type_: Type) -> list[Struct]:
    match type_:
        case Nullable(of=inner) | List(item=inner):
            return _structs(inner)
        case Map(key=key, value=value):
            return [*_structs(key), *_structs(value)]
        case Struct() if is_tuple(type_):
            return [each for field in type_.fields for each in _structs(field.type)]
        case Struct():
            return [type_]
        case _:
            return []


def is_tuple(struct: Struct) -> bool:
    """Whether it stands for a tuple."""
    return is_tuple_of(list(struct.names))


def is_tuple_of(names: list[str]) -> bool:
    """Whether these are the names of the parts of a tuple."""
    return len(names) > 1 and names == [f"_{number}" for number in range(1, len(names) + 1)]


def identity(struct: Struct) -> tuple[object, ...]:
    """What tells structs apart that are equal: where their fields stand too."""
    texts = tuple(variant.text for variant in struct.variants)
    return (struct, tuple(field.path for field in struct.fields), texts, tuple(map(identity, _parts(struct))))


class _Names:
    def __init__(self, given: dict[str, tuple[object, ...]]) -> None:
        self._given = given

    def struct(self, struct: Struct, name: str, outer: str = "") -> Struct:
        mine = identity(struct)
        choices = [name, f"{outer}{name}", *(f"{outer}{name}{number}" for number in range(2, len(self._given) + 3))]
        chosen = next(each for each in choices if self._given.setdefault(each, mine) == mine)
        if struct.variants:
            variants = [replace(each, record=self.struct(each.record, each.name, chosen)) for each in struct.variants]
            return union_of_records(chosen, struct.fields[0].name, tuple(variants))
        fields = tuple(
            Field(field.name, self.type(field.type, record_name(field.name), chosen), field.path)
            for field in struct.fields
        )
        return Struct(fields, chosen)

    def type(self, type_: Type, name: str, outer: str) -> Type:
        match type_:
            case Nullable(of=inner):
                return Nullable(self.type(inner, name, outer))
            case List(item=inner):
                return List(self.type(inner, name, outer))
            case Map(value=inner):
                return replace(type_, value=self.type(inner, name, outer))
            case Struct(fields=fields) if is_tuple(type_):
                return Struct(tuple(replace(each, type=self.type(each.type, name, outer)) for each in fields))
            case Struct():
                return self.struct(type_, type_.name or name, outer)
            case _:
                return type_
