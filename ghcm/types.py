"""The types of values and of collections: Arrow's, nullable only where marked.

This module says what a value may be. How an engine holds one is the engine's matter, but for the *canonical value*,
the form in which values cross module borders (rows of the native engine's row form, of the reference, of sinks and of
tests):

    bool -> bool            int, int32 -> int          float -> float         decimal -> decimal.Decimal
    string -> str           bytes -> bytes             null -> None                enum -> str
    timestamp -> int (microseconds since 1970 UTC)     date -> int (days since 1970)     duration -> int (microseconds)
    list -> list            map -> dict                struct -> tuple of its fields' values, in order

A union of records is one struct of the tag and of the fields of all records. A field that every record has is as null
as it is there; any other is null where the union is another record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias, assert_never

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parts, which is written as its name in lower case."""

    def __str__(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class Bool(Scalar):
    """True or false."""


@dataclass(frozen=True, slots=True)
class Int(Scalar):
    """A whole number of 64 bits; overflow fails the record."""


@dataclass(frozen=True, slots=True)
class Int32(Scalar):
    """A whole number of 32 bits, for storage; any arithmetic on it gives `int`."""


@dataclass(frozen=True, slots=True)
class Float(Scalar):
    """An IEEE 754 double; NaN equals itself and is greatest."""


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact decimal number of `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class String(Scalar):
    """Text, ordered by code point."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One of a few texts, which are ordered as strings are. `name` is the declaration's, for messages; enums are equal
    by their values."""

    values: tuple[str, ...]
    name: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name or f"enum {{{', '.join(map(member_text, self.values))}}}"


def member_text(value: str) -> str:
    """A value of an enum as a program writes it: bare where it is a name.

    >>> member_text("tcp"), member_text("n/a")
    ('tcp', '"n/a"')
    """
    return value if re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Bytes(Scalar):
    """Raw bytes."""


@dataclass(frozen=True, slots=True)
class Timestamp(Scalar):
    """A point of time in UTC, to the microsecond."""


@dataclass(frozen=True, slots=True)
class Date(Scalar):
    """A calendar day."""


@dataclass(frozen=True, slots=True)
class Duration(Scalar):
    """A length of time, to the microsecond."""


@dataclass(frozen=True, slots=True)
class Null(Scalar):
    """The type of a bare `null`; it unifies with any type into the nullable of that type."""


@dataclass(frozen=True, slots=True)
class List:
    """Values of one type, in order."""

    item: Type

    def __str__(self) -> str:
        return f"list<{self.item}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Values by key; neither a key itself nor comparable."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a struct. `path` is where it stands in the source's format (`id.orig_h`); it is no part of the
    type."""

    name: str
    type: Type
    path: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in order. `name` is the record's, for messages; structs are equal by their fields.

    A union is a struct, too: its first field is the tag, then come the fields of all its records, null where the tag
    says another one. Only the checks of programs know its `variants`; `cases` says by which tags a field is there at
    all, for those that not every record has; `needs` which fields that may be null may not be with a tag: the tag, the
    field and the name of the record that has it.
    """

    fields: tuple[Field, ...]
    name: str | None = field(default=None, compare=False)
    variants: tuple[Variant, ...] = field(default=(), compare=False)
    cases: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), compare=False)
    needs: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        if self.name:
            return self.name
        if self.fields and all(part.name == f"_{index}" for index, part in enumerate(self.fields, 1)):
            return f"({', '.join(str(part.type) for part in self.fields)})"
        return "{" + ", ".join(map(str, self.fields)) + "}"

    def get(self, name: str) -> Field | None:
        """The field of that name, or None."""
        return next((part for part in self.fields if part.name == name), None)

    def field_of(self, name: str) -> Field:
        """The field of that name; ValueError if it has none."""
        return self.fields[self.index(name)]

    def index(self, name: str) -> int:
        """The position of the field of that name; ValueError if it has none."""
        return [part.name for part in self.fields].index(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(part.name for part in self.fields)


@dataclass(frozen=True, slots=True)
class Variant:
    """A record that a union may be, and the text of the tag that says so."""

    text: str
    record: Struct

    @property
    def name(self) -> str:
        """The record's name."""
        return self.record.name or self.text


@dataclass(frozen=True, slots=True)
class Nullable:
    """A value of type `of`, or null. It never nests and never wraps `Null`."""

    of: Type

    def __str__(self) -> str:
        return f"{self.of}?"


Type: TypeAlias = (
    Bool | Int | Int32 | Float | Decimal | String | Enumeration | Bytes | Timestamp | Date | Duration | Null
    | List | Map | Struct | Nullable
)  # fmt: skip

WINDOW = Struct((Field("start", Timestamp()), Field("end", Timestamp())), name="Window")


def is_nullable(type_: Type) -> bool:
    """Whether a value of this type may be null."""
    return isinstance(type_, Nullable | Null)


def strip(type_: Type) -> Type:
    """The type without its `?`."""
    return type_.of if isinstance(type_, Nullable) else type_


def as_nullable(type_: Type) -> Type:
    """The type with a `?`."""
    return type_ if is_nullable(type_) else Nullable(type_)


def nullable_like(type_: Type, other: Type) -> Type:
    """The type, with a `?` where the other has one."""
    return as_nullable(type_) if is_nullable(other) else type_


def parts(type_: Type) -> Iterator[Type]:
    """The type and all types inside of it, wholes first."""
    yield type_
    match type_:
        case Nullable(of=of) | List(item=of):
            yield from parts(of)
        case Map(key=key, value=value):
            yield from parts(key)
            yield from parts(value)
        case Struct(fields=fields):
            for each in fields:
                yield from parts(each.type)
        case Scalar() | Decimal() | Enumeration():
            pass
        case _:
            assert_never(type_)


def tuple_of(*items: Type) -> Struct:
    """The struct that stands for a tuple: fields `_1`, `_2`, ..."""
    return Struct(tuple(Field(f"_{index}", item) for index, item in enumerate(items, 1)))


def pair_of(key: Type, value: Type) -> Struct:
    """The record `{key, value}` of a pair."""
    return Struct((Field("key", key), Field("value", value)))


def beside_others(value: Type) -> Struct:
    """A value and the list of others before it."""
    return Struct((Field("current", value), Field("before", List(value))))


def before_silence(value: Type) -> Struct:
    """The value before a silence, and when it was."""
    return Struct((Field("last", value), Field("since", Timestamp())))


def asked_of_key(key: Type, value: Type, state: Type) -> Struct:
    """What a function that processes a key is called with: without a value at a moment, without state at first."""
    value, state = as_nullable(value), as_nullable(state)
    return Struct((Field("key", key), Field("value", value), Field("time", Timestamp()), Field("state", state)))


def answered_of_key(value: Type, state: Type) -> Struct:
    """What it answers: values to give on, what is kept, and when it is called again."""
    moment = Field("moment", as_nullable(Timestamp()))
    return Struct((Field("rows", List(value)), Field("state", as_nullable(state)), moment))


class Shape(Enum):
    """What a collection is: a stream of records, of pairs, or a table that keeps the latest value per key."""

    STREAM = "stream"
    PAIRS = "pairs"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Collection:
    """The type of what flows out of a task.

    `element` is the type of one record. Its columns are its fields, or one column `value` where it is no struct.
    Pairs and tables have the element `{key, value}`. A windowed collection has the further column `window` (`WINDOW`)
    as the last field of its element: `{key, value, window}` of pairs, `{value, window}` of scalars, a record's fields
    and `window`. `filter`, `map_values`, `union`, `sort`, `top` and aggregations keep it; the other row operators make
    records without it. `timed`: each record carries hidden event time; row operators, `union`, `sort`, `top` and what
    is windowed keep it, unwindowed aggregations and `distinct` drop it. `bounded`: the input ends. `changing`: records
    may be taken back later, those of tables by key: what counts is what is left.
    """

    shape: Shape
    element: Type
    bounded: bool
    timed: bool = False
    windowed: bool = False
    changing: bool = False

    @property
    def columns(self) -> Struct:
        """The columns as a struct."""
        element = self.element
        return element if isinstance(element, Struct) else Struct((Field("value", element),))

    @property
    def pair(self) -> tuple[Type, Type]:
        """The types of key and value, of pairs and tables."""
        assert isinstance(self.element, Struct), "pairs are structs"
        return self.element.fields[0].type, self.element.fields[1].type

    @property
    def aggregated(self) -> Type:
        """The type of what aggregates see: the value of pairs and tables, the record of a stream without its window."""
        if self.shape is not Shape.STREAM:
            return self.pair[1]
        return Struct(self.columns.fields[:-1]) if self.windowed else self.element

    def __str__(self) -> str:
        names = {Shape.STREAM: "Stream", Shape.PAIRS: "Pairs", Shape.TABLE: "Table"}
        element = self.element
        if self.shape is not Shape.STREAM and isinstance(element, Struct):
            inner = ", ".join(str(part.type) for part in element.fields if part.name in ("key", "value"))
        else:
            inner = str(element)
        facts = (("windowed", self.windowed), ("changing", self.changing), ("unbounded", not self.bounded))
        marks = [word for word, holds in facts if holds]
        return f"{' '.join(marks)}{' ' if marks else ''}{names[self.shape]}<{inner}>"


def union_type(name: str, tag: str, variants: tuple[Variant, ...]) -> Struct | tuple[str, Variant, Variant]:
    """The union of records, or a field that two of them have with different types or paths, and the two."""
    fields: dict[str, tuple[Field, Variant]] = {}
    for variant in variants:
        for part in variant.record.fields:
            mine, owner = fields.setdefault(part.name, (part, variant))
            if strip(mine.type) != strip(part.type) or mine.path != part.path:
                return part.name, owner, variant
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
