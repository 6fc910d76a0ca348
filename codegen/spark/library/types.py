"""Types of records as a job writes them, and the forms of their values in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ghcm import types
from ghcm.codegen.spark.library.sql import part, quoted, text, variable, when
from ghcm.types import Struct, Type, as_nullable

BOOL, INT, INT32, FLOAT = BooleanType(), LongType(), IntegerType(), DoubleType()
STRING, BYTES, NULL = StringType(), BinaryType(), NullType()
TIMESTAMP, DATE, DURATION = TimestampType(), DateType(), DayTimeIntervalType()


class EnumType(StringType):
    """One of a few texts, which Spark holds as strings."""

    def __init__(self, values: Sequence[str]) -> None:
        super().__init__()
        self.values = tuple(values)


@dataclass(frozen=True)
class Part:
    """A part of a record or list: its type, whether it may be null, and what else a field says of itself: its `path` in
    the source, its `default`, the tags `of` the records of a union that have it, and the tags that need it.
    """

    type: DataType
    nullable: bool = False
    said: Mapping[str, Any] = field(default_factory=dict[str, Any])


def maybe(type_: DataType) -> Part:
    """What may be null."""
    return Part(type_, nullable=True)


def field_of(type_: DataType | Part, **said: Any) -> Part:
    """A field that says more of itself."""
    part = as_part(type_)
    return Part(part.type, part.nullable, said)


def as_part(type_: DataType | Part) -> Part:
    """A type as a part that is never null."""
    return type_ if isinstance(type_, Part) else Part(type_)


def decimal(precision: int, scale: int) -> DecimalType:
    """A decimal number."""
    return DecimalType(precision, scale)


def list_of(item: DataType | Part) -> ArrayType:
    """A list."""
    part = as_part(item)
    return ArrayType(part.type, part.nullable)


def map_of(key: DataType, value: DataType | Part) -> MapType:
    """A map."""
    part = as_part(value)
    return MapType(key, part.type, part.nullable)


def record(fields: Mapping[str, DataType | Part] | None = None, /, **more: DataType | Part) -> StructType:
    """A record; fields that Python takes for no names stand in a mapping."""
    parts = {name: as_part(type_) for name, type_ in {**(fields or {}), **more}.items()}
    return StructType([StructField(name, each.type, each.nullable, dict(each.said)) for name, each in parts.items()])


def maybe_record(type_: StructType) -> MaybeRecord:
    """Records that may be null."""
    return MaybeRecord(type_.fields)


def stored(type_: DataType) -> DataType:
    """The type in which Spark holds values of a type."""
    match type_:
        case EnumType():
            return StringType()
        case DayTimeIntervalType():
            return LongType()
        case ArrayType():
            return ArrayType(stored(type_.elementType))
        case MapType():
            return MapType(stored(type_.keyType), stored(type_.valueType))
        case StructType():
            return stored_record(type_)
        case _:
            return type_


def stored_record(type_: StructType) -> StructType:
    """A record with the types in which Spark holds its fields."""
    return StructType([StructField(part.name, stored(part.dataType)) for part in type_.fields])


class MaybeRecord(StructType):
    """The type of records that may be null: they stand in one column `value`, not in one for each field."""


def has_columns(element: DataType) -> TypeGuard[StructType]:
    """Whether records of a type stand in a column for each field."""
    return isinstance(element, StructType) and not isinstance(element, MaybeRecord)


def columns_of(element: DataType) -> StructType:
    """The columns of records of a type: its fields, or one column `value`."""
    return element if has_columns(element) else StructType([StructField("value", element)])


def type_of(type_: DataType, *, nullable: bool = False) -> Type:
    """The type as the program has it, by which Python reads and writes values."""
    if nullable:
        return as_nullable(type_of(type_))
    match type_:
        case EnumType(values=values):
            return types.Enumeration(values)
        case DecimalType():
            return types.Decimal(type_.precision, type_.scale)
        case ArrayType():
            return types.List(type_of(type_.elementType, nullable=type_.containsNull))
        case MapType():
            return types.Map(type_of(type_.keyType), type_of(type_.valueType, nullable=type_.valueContainsNull))
        case StructType():
            return struct_type(type_)
        case _:
            return SCALARS[type(type_)]


SCALARS: dict[type[DataType], Type] = {
    BooleanType: types.Bool(),
    LongType: types.Int(),
    IntegerType: types.Int32(),
    DoubleType: types.Float(),
    StringType: types.String(),
    BinaryType: types.Bytes(),
    NullType: types.Null(),
    TimestampType: types.Timestamp(),
    DateType: types.Date(),
    DayTimeIntervalType: types.Duration(),
}


def record_type(element: DataType) -> Struct:
    """The columns of records of a type as the program has them."""
    return struct_type(columns_of(element))


def struct_type(type_: StructType) -> Struct:
    """A struct as the program has it."""
    parts = type_.fields
    fields = (types.Field(p.name, type_of(p.dataType, nullable=p.nullable), p.metadata.get("path")) for p in parts)
    cases = ((p.name, tuple(p.metadata["of"])) for p in parts if "of" in p.metadata)
    needs = ((tag, p.name, name) for p in parts for tag, name in p.metadata.get("needs", {}).items())
    return Struct(tuple(fields), cases=tuple(cases), needs=tuple(needs))


def ddl(type_: DataType) -> str:
    """A type as SQL writes it."""
    match type_:
        case DayTimeIntervalType():
            return "bigint"
        case ArrayType():
            return f"array<{ddl(type_.elementType)}>"
        case MapType():
            return f"map<{ddl(type_.keyType)}, {ddl(type_.valueType)}>"
        case StructType():
            return f"struct<{', '.join(f'{quoted(part.name)}: {ddl(part.dataType)}' for part in type_.fields)}>"
        case _:
            return type_.simpleString()


def has_moments(type_: DataType) -> bool:
    """Whether moments or days are in values of a type, so that Python would not read them exactly."""
    match type_:
        case TimestampType() | DateType():
            return True
        case ArrayType():
            return has_moments(type_.elementType)
        case MapType():
            return has_moments(type_.keyType) or has_moments(type_.valueType)
        case StructType():
            return any(has_moments(part.dataType) for part in type_.fields)
        case _:
            return False


def plain(value: str, type_: DataType) -> str:
    """The value in a form that Python reads exactly: moments as microseconds, days as a number."""
    if not has_moments(type_):
        return value
    match type_:
        case TimestampType():
            return f"unix_micros({value})"
        case DateType():
            return f"unix_date({value})"
        case _:
            return inside(value, type_, plain)


def unplain(value: str, type_: DataType) -> str:
    """The inverse of `plain`."""
    if not has_moments(type_):
        return value
    match type_:
        case TimestampType():
            return f"timestamp_micros({value})"
        case DateType():
            return f"date_from_unix_date({value})"
        case _:
            return inside(value, type_, unplain)


def inside(value: str, type_: DataType, change: Callable[[str, DataType], str]) -> str:
    """A list, map or struct whose parts are changed."""
    each = variable()
    match type_:
        case ArrayType():
            return f"transform({value}, {each} -> {change(each, type_.elementType)})"
        case MapType():
            key, held = change(part(each, "key"), type_.keyType), change(part(each, "value"), type_.valueType)
            entries = f"transform(map_entries({value}), {each} -> named_struct('key', {key}, 'value', {held}))"
            return f"map_from_entries({entries})"
        case StructType():
            parts = ", ".join(f"{text(p.name)}, {change(part(value, p.name), p.dataType)}" for p in type_.fields)
            return when(f"{value} IS NOT NULL", f"named_struct({parts})")
        case _:
            return value


def plain_type(type_: DataType) -> DataType:
    """The type of what `plain` gives."""
    match type_:
        case EnumType():
            return StringType()
        case TimestampType() | DayTimeIntervalType():
            return LongType()
        case DateType():
            return IntegerType()
        case ArrayType():
            return ArrayType(plain_type(type_.elementType))
        case MapType():
            return MapType(plain_type(type_.keyType), plain_type(type_.valueType))
        case StructType():
            return StructType([StructField(part.name, plain_type(part.dataType)) for part in type_.fields])
        case _:
            return type_


def whole_record(element: DataType) -> str:
    """The whole record as one value."""
    if not has_columns(element):
        return "`value`"
    return f"named_struct({', '.join(f'{text(name)}, {quoted(name)}' for name in element.fieldNames())})"


def plain_columns(element: DataType) -> str:
    """All columns in a form that Python reads exactly."""
    parts = columns_of(element).fields
    return f"named_struct({', '.join(f'{text(p.name)}, {plain(quoted(p.name), p.dataType)}' for p in parts)})"


def from_arrow(type_: Type) -> Callable[[Any], Any]:
    """From what Arrow gives to values as the program has them: structs are tuples."""
    match type_:
        case types.Nullable(of=of):
            inner = from_arrow(of)
            return lambda value: None if value is None else inner(value)
        case types.List(item=item):
            each = from_arrow(item)
            return lambda value: [each(part) for part in value]
        case types.Map(key=key, value=held):
            name, of_value = from_arrow(key), from_arrow(held)
            return lambda value: {name(key): of_value(part) for key, part in value.items()}
        case types.Struct(fields=fields):
            parts = [(part.name, from_arrow(part.type)) for part in fields]
            return lambda value: tuple(read(value[name]) for name, read in parts)
        case _:  # a type that holds no others
            return lambda value: value


def plain_record(element: DataType) -> str:
    """The record in a form that Python reads exactly."""
    return plain_columns(element) if has_columns(element) else plain("`value`", element)
