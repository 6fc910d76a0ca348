"""Values in Python: what is read from JSON and written as JSON, in the form that Spark hands over exactly."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias, TypeGuard

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
    StringType,
    StructType,
    TimestampType,
)

from ghcm.codegen.spark.library.types import EnumType

Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | bool | None
"""What is read from JSON."""


def is_whole(data: Json) -> TypeGuard[int]:
    """Whether data is a whole number."""
    return isinstance(data, int) and not isinstance(data, bool)


def is_number(data: Json) -> TypeGuard[float]:
    """Whether data is a number, whole or not."""
    return isinstance(data, int | float) and not isinstance(data, bool)


def json_value(value: Any, type_: DataType) -> Any:
    """The JSON form of a plain value."""
    if value is None:
        return None
    match type_:
        case DoubleType():
            return (
                value
                if math.isfinite(value)
                else "NaN"
                if math.isnan(value)
                else "Infinity"
                if value > 0
                else "-Infinity"
            )
        case DecimalType():
            return f"{value:.{type_.scale}f}"
        case BinaryType():
            return base64.b64encode(bytes(value)).decode("ascii")
        case TimestampType():
            return moment_text(value)
        case DateType():
            return day_text(value)
        case DayTimeIntervalType():
            return seconds_of(value)
        case ArrayType():
            return [json_value(each, type_.elementType) for each in value]
        case MapType():
            pairs = [(json_value(k, type_.keyType), json_value(v, type_.valueType)) for k, v in value.items()]
            return dict(pairs) if isinstance(type_.keyType, StringType) else [list(pair) for pair in pairs]
        case StructType():
            parts = zip(type_.fields, values_of(value), strict=True)
            return {part.name: json_value(each, part.dataType) for part, each in parts}
        case _:
            return value


def own_value(value: Any, type_: DataType) -> Any:
    """The JSON form of a plain value in which unions have only the fields of the records that they are."""
    if value is None:
        return None
    match type_:
        case ArrayType():
            return [own_value(each, type_.elementType) for each in value]
        case MapType():
            pairs = [(json_value(k, type_.keyType), own_value(v, type_.valueType)) for k, v in value.items()]
            return dict(pairs) if isinstance(type_.keyType, StringType) else [list(pair) for pair in pairs]
        case StructType():
            values = list(values_of(value))
            parts = zip(type_.fields, values, strict=True)
            there = [(part, each) for part, each in parts if values[0] in part.metadata.get("of", (values[0],))]
            return {part.name: own_value(each, part.dataType) for part, each in there}
        case _:
            return json_value(value, type_)


def values_of(struct: dict[str, Any] | tuple[Any, ...]) -> Iterable[Any]:
    """The values of a struct, which Arrow gives as a mapping."""
    return struct.values() if isinstance(struct, dict) else struct


def encode(value: Any, type_: DataType) -> str:
    """A plain value as compact JSON text."""
    return compact(json_value(value, type_))


def compact(data: Any) -> str:
    """JSON data as compact text."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def seconds_of(micros: int) -> int | float | str:
    """A duration as a number of seconds, or as its digits where a double cannot hold them."""
    if micros % 1_000_000 == 0:
        return micros // 1_000_000
    if round(Fraction(micros / 1_000_000) * 1_000_000) == micros:
        return micros / 1_000_000
    return f"{'-' if micros < 0 else ''}{abs(micros) // 1_000_000}.{abs(micros) % 1_000_000:06d}"


def moment_text(micros: int) -> str:
    """A moment as 2026-01-02T03:04:05.000006Z, also outside of the years that Python's datetime has."""
    days, rest = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"
    return f"{day_text(days)}T{clock}Z"


def day_text(days: int) -> str:
    """A day as 2026-01-02; the calendar repeats every 400 years."""
    era, rest = divmod(days + 719_162, 146_097)
    day = date.fromordinal(rest + 1)
    year = day.year + 400 * era
    return f"{year:04d}-{day:%m-%d}" if 0 <= year <= 9999 else f"{year:+05d}-{day:%m-%d}"


def day_number(text: str) -> int:
    """The inverse of `day_text`."""
    found = re.fullmatch(r"([+-]?\d{4,9})-(\d\d)-(\d\d)", text, re.ASCII)
    if found is None:
        raise ValueError(f'expected a date such as 2026-01-02, found "{text}"')
    era, year = divmod(int(found[1]) - 1, 400)
    return date(year + 1, int(found[2]), int(found[3])).toordinal() - 719_163 + 146_097 * era


def moment_micros(text: str) -> int:
    """The inverse of `moment_text`."""
    found = re.fullmatch(r"(.+)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", text, re.ASCII)
    if found is None:
        raise ValueError(f'expected a timestamp such as 2026-01-02T03:04:05.000006Z, found "{text}"')
    seconds = (day_number(found[1]) * 24 + int(found[2])) * 3600 + int(found[3]) * 60 + int(found[4])
    return seconds * 1_000_000 + int((found[5] or "").ljust(6, "0"))


def words(type_: DataType) -> str:
    """The name of a type as the program writes it, or the values of an enum."""
    match type_:
        case EnumType(values=values):
            members = [each if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", each) else compact(each) for each in values[:12]]
            return f"one of {', '.join([*members, *(['...'] if len(values) > 12 else [])])}"
        case DecimalType():
            return f"decimal({type_.precision}, {type_.scale})"
        case _:
            names = {"bigint": "int", "int": "int32", "double": "float", "boolean": "bool", "binary": "bytes"}
            names |= {"array": "list", "struct": "object", "interval": "duration"}
            name = type_.simpleString().split("<")[0].split(" ")[0]
            return names.get(name, name)


def read_value(data: Json, type_: DataType, nullable: bool) -> Any:
    """The plain value behind JSON data; ValueError says what does not fit."""

    def refuse() -> NoReturn:
        raise ValueError(f"expected {words(type_)}, found {compact(data)}")

    if data is None:
        return None if nullable else refuse()
    match type_:
        case BooleanType():
            return data if isinstance(data, bool) else refuse()
        case LongType() | IntegerType():
            bits = 63 if isinstance(type_, LongType) else 31
            return data if is_whole(data) and -(2**bits) <= data < 2**bits else refuse()
        case DoubleType():
            special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
            return float(data) if is_number(data) else special[str(data)] if data in special else refuse()
        case EnumType(values=values):
            return data if data in values else refuse()
        case StringType():
            return data if isinstance(data, str) else refuse()
        case TimestampType():
            return moment_micros(data) if isinstance(data, str) else refuse()
        case DateType():
            return day_number(data) if isinstance(data, str) else refuse()
        case DayTimeIntervalType():
            return round(Decimal(str(data)) * 1_000_000) if is_number(data) or isinstance(data, str) else refuse()
        case DecimalType():
            return Decimal(data) if isinstance(data, str | int) else refuse()
        case BinaryType():
            return base64.b64decode(data, validate=True) if isinstance(data, str) else refuse()
        case ArrayType():
            items = data if isinstance(data, list) else refuse()
            return [read_value(each, type_.elementType, type_.containsNull) for each in items]
        case MapType():
            pairs: Any = data.items() if isinstance(data, dict) else data
            of, empty = type_.valueType, type_.valueContainsNull
            return {read_value(k, type_.keyType, False): read_value(v, of, empty) for k, v in pairs}
        case StructType():
            held = data if isinstance(data, dict) else refuse()
            return tuple(read_value(held.get(part.name), part.dataType, part.nullable) for part in type_.fields)
        case _:
            return data
