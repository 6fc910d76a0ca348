"""Types of records as a job writes them, and the forms of their values in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pyspark.sql import types as T

import ghcm.types as ours
from ghcm.codegen.spark.library.sql import named, part, quoted, text, variable, when
from ghcm.types import Struct, Type, as_nullable

BOOL, INT, INT32, FLOAT = T.BooleanType(), T.LongType(), T.IntegerType(), T.DoubleType()
STRING, BYTES, NULL = T.StringType(), T.BinaryType(), T.NullType()
TIMESTAMP, DATE, DURATION = T.TimestampType(), T.DateType(), T.DayTimeIntervalType()


class EnumType(T.StringType):
    """One of a few texts, which Spark holds as strings."""

    def __init__(self, values: Sequence[str]) -> None:
        super().__init__()
        self.values = tuple(values)


@dataclass(frozen=True)
class Part:
    """A part of a record or list: its type, whether it may be null, and what else a field says of itself: its `path` in
    the source, its `default`, the tags `of` the records of a union that have it, and the tags that need it.
    """

    type: T.DataType
    nullable: bool = False
    said: Mapping[str, Any] = field(default_factory=dict[str, Any])


def maybe(type_: T.DataType) -> Part:
    """What may be null."""
    return Part(type_, nullable=True)


def field_of(type_: T.DataType | Part, **said: Any) -> Part:
    """A field that says more of itself."""
    part = as_part(type_)
    return Part(part.type, part.nullable, said)


def as_part(type_: T.DataType | Part) -> Part:
    """A type as a part that is never null."""
    return type_ if isinstance(type_, Part) else Part(type_)


def decimal(precision: int, scale: int) -> T.DecimalType:
    """A decimal number."""
    return T.DecimalType(precision, scale)


def list_of(item: T.DataType | Part) -> T.ArrayType:
    """A list."""
    part = as_part(item)
    return T.ArrayType(part.type, part.nullable)


def map_of(key: T.DataType, value: T.DataType | Part) -> T.MapType:
    """A map."""
    part = as_part(value)
    return T.MapType(key, part.type, part.nullable)


def record(fields: Mapping[str, T.DataType | Part] | None = None, /, **more: T.DataType | Part) -> T.StructType:
    """A record; fields that Python takes for no names stand in a mapping."""
    parts = {name: as_part(type_) for name, type_ in {**(fields or {}), **more}.items()}
    made = [T.StructField(name, each.type, each.nullable, dict(each.said)) for name, each in parts.items()]
    return T.StructType(made)


def maybe_record(type_: T.StructType) -> MaybeRecord:
    """Records that may be null."""
    return MaybeRecord(type_.fields)


HELD_AS: dict[type[T.DataType], T.DataType] = {EnumType: T.StringType(), T.DayTimeIntervalType: T.LongType()}
PLAIN_AS = HELD_AS | {T.TimestampType: T.LongType(), T.DateType: T.IntegerType()}


def stored(type_: T.DataType, scalars: Mapping[type[T.DataType], T.DataType] = HELD_AS) -> T.DataType:
    """The type in which Spark holds values of a type; `scalars` says it of those that are held as others."""
    match type_:
        case T.ArrayType():
            return T.ArrayType(stored(type_.elementType, scalars))
        case T.MapType():
            return T.MapType(stored(type_.keyType, scalars), stored(type_.valueType, scalars))
        case T.StructType():
            return T.StructType([T.StructField(part.name, stored(part.dataType, scalars)) for part in type_.fields])
        case _:
            return scalars.get(type(type_), type_)


class MaybeRecord(T.StructType):
    """The type of records that may be null: they stand in one column `value`, not in one for each field."""


def has_columns(element: T.DataType) -> TypeGuard[T.StructType]:
    """Whether records of a type stand in a column for each field."""
    return isinstance(element, T.StructType) and not isinstance(element, MaybeRecord)


def columns_of(element: T.DataType) -> T.StructType:
    """The columns of records of a type: its fields, or one column `value`."""
    return element if has_columns(element) else T.StructType([T.StructField("value", element)])


def type_of(type_: T.DataType, *, nullable: bool = False, loose: bool = False) -> Type:
    """The type as the program has it, by which Python reads and writes values. `loose`: any part may be null."""
    if nullable:
        return as_nullable(type_of(type_, loose=loose))
    match type_:
        case EnumType(values=values):
            return ours.Enumeration(values)
        case T.DecimalType():
            return ours.Decimal(type_.precision, type_.scale)
        case T.ArrayType():
            return ours.List(type_of(type_.elementType, nullable=loose or type_.containsNull, loose=loose))
        case T.MapType():
            held = type_of(type_.valueType, nullable=loose or type_.valueContainsNull, loose=loose)
            return ours.Map(type_of(type_.keyType, loose=loose), held)
        case T.StructType():
            return struct_type(type_, loose=loose)
        case _:
            return SCALARS[type(type_)]


SCALARS: dict[type[T.DataType], Type] = {
    T.BooleanType: ours.Bool(),
    T.LongType: ours.Int(),
    T.IntegerType: ours.Int32(),
    T.DoubleType: ours.Float(),
    T.StringType: ours.String(),
    T.BinaryType: ours.Bytes(),
    T.NullType: ours.Null(),
    T.TimestampType: ours.Timestamp(),
    T.DateType: ours.Date(),
    T.DayTimeIntervalType: ours.Duration(),
}


def null_at(
    value: str, type_: T.DataType, *, nullable: bool, wrong: Callable[[str, T.DataType], str] = lambda _value, _type: ""
) -> str:
    """Whether a value, or a part of it, is null that may not be, or is `wrong`, as that says of values that hold no
    others; empty where none can be.
    """
    each, found = variable(), ""
    match type_:
        case T.ArrayType():
            item = null_at(each, type_.elementType, nullable=type_.containsNull, wrong=wrong)
            # A copy, as Spark takes items before it asks whether they are null: of a list that Parquet's reader holds
            # that fails where all items of a column chunk are.
            found = item and f"exists(reverse({value}), {each} -> {item})"
        case T.MapType():
            key = null_at(part(each, "key"), type_.keyType, nullable=True, wrong=wrong)
            held = null_at(part(each, "value"), type_.valueType, nullable=type_.valueContainsNull, wrong=wrong)
            entry = " OR ".join(filter(None, (key, held)))
            found = entry and f"exists(map_entries({value}), {each} -> {entry})"
        case T.StructType():
            parts = (null_at(part(value, p.name), p.dataType, nullable=p.nullable, wrong=wrong) for p in type_.fields)
            found = " OR ".join(filter(None, parts))
        case _:
            found = wrong(value, type_)
    if nullable:
        return found and f"({value} IS NOT NULL AND ({found}))"
    return f"({value} IS NULL OR {found})" if found else f"{value} IS NULL"


def record_type(element: T.DataType) -> Struct:
    """The columns of records of a type as the program has them."""
    return struct_type(columns_of(element))


def struct_type(type_: T.StructType, *, loose: bool = False) -> Struct:
    """A struct as the program has it. `loose` as in `type_of`."""
    parts = type_.fields
    types = (type_of(part.dataType, nullable=loose or part.nullable, loose=loose) for part in parts)
    fields = (ours.Field(p.name, type_, p.metadata.get("path")) for p, type_ in zip(parts, types, strict=True))
    cases = ((p.name, tuple(p.metadata["of"])) for p in parts if "of" in p.metadata)
    needs = ((tag, p.name, name) for p in parts for tag, name in p.metadata.get("needs", {}).items())
    return Struct(tuple(fields), cases=tuple(cases), needs=tuple(needs))


def ddl(type_: T.DataType) -> str:
    """A type as SQL writes it."""
    match type_:
        case T.DayTimeIntervalType():
            return "bigint"
        case T.ArrayType():
            return f"array<{ddl(type_.elementType)}>"
        case T.MapType():
            return f"map<{ddl(type_.keyType)}, {ddl(type_.valueType)}>"
        case T.StructType():
            return f"struct<{', '.join(f'{quoted(part.name)}: {ddl(part.dataType)}' for part in type_.fields)}>"
        case _:
            return type_.simpleString()


def has_moments(type_: T.DataType) -> bool:
    """Whether moments or days are in values of a type, so that Python would not read them exactly."""
    return any(isinstance(part, ours.Timestamp | ours.Date) for part in ours.parts(type_of(type_)))


def plain(value: str, type_: T.DataType) -> str:
    """The value in a form that Python reads exactly: moments as microseconds, days as a number."""
    return with_moments(value, type_, "unix_micros", "unix_date")


def unplain(value: str, type_: T.DataType) -> str:
    """The inverse of `plain`."""
    return with_moments(value, type_, "timestamp_micros", "date_from_unix_date")


def with_moments(value: str, type_: T.DataType, moment: str, day: str) -> str:
    """The value whose moments and days go through these functions."""
    if not has_moments(type_):
        return value
    match type_:
        case T.TimestampType():
            return f"{moment}({value})"
        case T.DateType():
            return f"{day}({value})"
        case _:
            return inside(value, type_, lambda held, of: with_moments(held, of, moment, day))


def inside(value: str, type_: T.DataType, change: Callable[[str, T.DataType], str]) -> str:
    """A list, map or struct whose parts are changed."""
    each = variable()
    match type_:
        case T.ArrayType():
            return f"transform({value}, {each} -> {change(each, type_.elementType)})"
        case T.MapType():
            key, held = change(part(each, "key"), type_.keyType), change(part(each, "value"), type_.valueType)
            entries = f"transform(map_entries({value}), {each} -> named_struct('key', {key}, 'value', {held}))"
            return f"map_from_entries({entries})"
        case T.StructType():
            parts = ", ".join(f"{text(p.name)}, {change(part(value, p.name), p.dataType)}" for p in type_.fields)
            return when(f"{value} IS NOT NULL", f"named_struct({parts})")
        case _:
            return value


def plain_type(type_: T.DataType) -> T.DataType:
    """The type of what `plain` gives."""
    return stored(type_, PLAIN_AS)


def whole_record(element: T.DataType) -> str:
    """The whole record as one value."""
    if not has_columns(element):
        return "`value`"
    return f"named_struct({', '.join(f'{text(name)}, {quoted(name)}' for name in element.fieldNames())})"


def plain_columns(element: T.DataType) -> str:
    """All columns in a form that Python reads exactly."""
    parts = columns_of(element).fields
    return f"named_struct({', '.join(f'{text(p.name)}, {plain(quoted(p.name), p.dataType)}' for p in parts)})"


def from_arrow(type_: Type) -> Callable[[Any], Any]:
    """From what Arrow gives to values as the program has them: structs are tuples."""
    match type_:
        case ours.Nullable(of=of):
            inner = from_arrow(of)
            return lambda value: None if value is None else inner(value)
        case ours.List(item=item):
            each = from_arrow(item)
            return lambda value: [each(part) for part in value]
        case ours.Map(key=key, value=held):
            name, of_value = from_arrow(key), from_arrow(held)
            return lambda value: {name(key): of_value(part) for key, part in value.items()}
        case ours.Struct(fields=fields):
            parts = [(part.name, from_arrow(part.type)) for part in fields]
            return lambda value: tuple(read(value[name]) for name, read in parts)
        case _:  # a type that holds no others
            return lambda value: value


def plain_record(element: T.DataType) -> str:
    """The record in a form that Python reads exactly."""
    return plain_columns(element) if has_columns(element) else plain("`value`", element)


def stored_columns(element: T.DataType, scalars: Mapping[type[T.DataType], T.DataType] = HELD_AS) -> T.StructType:
    """The columns in which Spark holds records of a type; `scalars` as in `stored`."""
    parts = columns_of(element).fields
    return T.StructType([T.StructField(part.name, stored(part.dataType, scalars)) for part in parts])


def plain_fields(element: T.DataType) -> T.StructType:
    """The columns in which records of a type come from Python, all of which may be null."""
    return stored_columns(element, PLAIN_AS)


def record_columns(element: T.DataType) -> list[str]:
    """The columns of records that came from Python as Spark has them."""
    return [named(unplain(quoted(part.name), part.dataType), part.name) for part in columns_of(element).fields]


def record_arrays(rows: Sequence[Sequence[Any] | None], fields: T.StructType) -> list[Any]:
    """Records as Arrow arrays of their columns; nulls where there is none."""
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_schema

    return [
        pyarrow.array([None if row is None else row[index] for row in rows], type_)
        for index, type_ in enumerate(to_arrow_schema(fields).types)
    ]
