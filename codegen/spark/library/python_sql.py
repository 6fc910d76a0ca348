"""What SQL of jobs calls in Python: Java does it otherwise, or takes malformed JSON for missing."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, cast
from zoneinfo import ZoneInfo

from pyspark.sql import functions as F
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
    StructField,
    StructType,
    TimestampType,
)

from ghcm.codegen.spark.library.job import Job
from ghcm.codegen.spark.library.json_files import MOMENT_FORM
from ghcm.codegen.spark.library.types import EnumType, plain_type
from ghcm.codegen.spark.library.values import Json, day_number, encode, is_number, is_whole, values_of, words


def know_float_repr(job: Job) -> None:
    """Have Spark know `float_repr`."""
    job.spark.udf.register("float_repr", F.udf(float_repr, "string", useArrow=True))


def float_repr(value: float | None) -> str | None:
    """The shortest text that reads back as the same float, which Java has only from version 19 on."""
    return None if value is None else repr(float(value))


FIRST_MICROS = -62135596800000000


LAST_MICROS = 253402300799999999


def know_zones(job: Job) -> None:
    """Have Spark know the functions that time zones call: Java knows other offsets than Python for times long past."""
    job.spark.udf.register("clocks_at", F.udf(clocks_at, "bigint", useArrow=True))
    job.spark.udf.register("moment_of_clocks", F.udf(moment_of_clocks, "bigint", useArrow=True))


def clocks_at(value: int | None, zone: str) -> int | None:
    """What the clocks of a zone show at a moment; None outside of the years 1 to 9999."""
    if value is None:
        return None
    rules = ZoneInfo(zone)
    try:
        there = rules.fromutc((datetime(1970, 1, 1) + timedelta(microseconds=int(value))).replace(tzinfo=rules))
    except OverflowError:
        return None
    return (there.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def moment_of_clocks(value: int | None, zone: str) -> int | None:
    """The moment at which the clocks of a zone show it first; None outside of the years 1 to 9999."""
    if value is None:
        return None
    there = (datetime(1970, 1, 1) + timedelta(microseconds=int(value))).replace(tzinfo=ZoneInfo(zone))
    found = int(value) - cast("timedelta", there.utcoffset()) // timedelta(microseconds=1)
    return found if FIRST_MICROS <= found <= LAST_MICROS else None


def know_json_written(job: Job, name: str, type_: DataType) -> None:
    """Have Spark know the function of that name that gives plain values of a type as compact JSON text."""

    def written(value: Any) -> str | None:
        return None if value is None else encode(in_json_order(value, type_), type_)

    job.spark.udf.register(name, F.udf(written, "string", useArrow=False))


def in_json_order(value: Any, type_: DataType) -> Any:
    """A plain value whose maps are in the order of their keys."""
    if value is None:
        return None
    match type_:
        case ArrayType():
            return [in_json_order(each, type_.elementType) for each in value]
        case MapType():
            return {key: in_json_order(value[key], type_.valueType) for key in sorted(value)}
        case StructType():
            parts = zip(type_.fields, values_of(value), strict=True)
            return [in_json_order(each, part.dataType) for part, each in parts]
        case _:
            return value


def know_json_at(job: Job) -> None:
    """Have Spark know `json_at`."""
    job.spark.udf.register("json_at", F.udf(json_at, "array<string>", useArrow=True))


def json_at(given: str | None, path: str, kind: str) -> list[str | None] | None:
    """Why it fails, what stands there (nothing where that is missing or null), and its items."""
    if given is None:
        return None
    try:
        found: Json = json_data(given)
        for step in json.loads(path):
            if isinstance(step, str):
                found = found.get(step) if isinstance(found, dict) else None
            else:
                found = found[step] if isinstance(found, list) and step < len(found) else None
        return [None] if found is None else [None, *json_parts(found, kind)]
    except OverflowError as error:
        return [f"overflow: {error}"]
    except ValueError as error:
        return [f"bad_cast: {error}"]


class Number(str):
    """A number as it is written."""


def json_data(given: str) -> Any:
    """The data of a JSON text; ValueError where it is malformed or nested more than 200 deep."""
    depth = 0
    if given.count("[") + given.count("{") > 200:
        for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', given, re.DOTALL):
            depth += (token[0] in "[{") - (token[0] in "]}")
            if depth > 200:
                raise ValueError("the JSON is nested too deeply")
    return json.loads(given, parse_int=Number, parse_float=Number, parse_constant=no_constant)


def no_constant(name: str) -> NoReturn:
    """What Python takes for a number and JSON does not."""
    raise ValueError(f"there is no {name}")


def json_parts(found: Any, kind: str) -> list[str | None]:
    """A value as texts; of an array its items behind a mark."""
    number = isinstance(found, Number)
    fits = {
        "value": True,
        "string": isinstance(found, str) and not number,
        "whole number": number and re.fullmatch("-?[0-9]+", found) is not None,
        "number": number,
        "bool": isinstance(found, bool),
        "array": isinstance(found, list),
    }
    if not fits[kind]:
        shown = compact_json(found)[:60].encode("utf-8", "backslashreplace").decode()
        raise ValueError(f"{shown} is no {kind}")
    match kind:
        case "whole number" if len(found) > 20 or not -(2**63) <= int(found) < 2**63:
            raise OverflowError("the number does not fit into 64 bits")
        case "number":
            if math.isinf(float(found)):
                raise OverflowError("the number is too large for a float")
            return [repr(float(found))]
        case "array":
            return ["", *(json_text(each) for each in found)]
        case _:
            return [json_text(found)]


def json_text(data: Any) -> str | None:
    """The text of a value; ValueError for half a surrogate pair."""
    if data is None:
        return None
    given = str(data) if isinstance(data, str) else compact_json(data)
    given.encode()
    return given


def compact_json(data: Json) -> str:
    """A value as compact JSON, numbers as they were written."""
    match data:
        case Number():
            return str(data)
        case list():
            return f"[{','.join(map(compact_json, data))}]"
        case dict():
            return "{" + ",".join(f"{compact_json(name)}:{compact_json(each)}" for name, each in data.items()) + "}"
        case _:
            return json.dumps(data, ensure_ascii=False)


def know_json_read(job: Job, name: str, type_: DataType) -> None:
    """Have Spark know the function of that name that reads JSON texts of a type."""
    given = StructType([StructField("error", StringType()), StructField("value", plain_type(type_))])
    job.spark.udf.register(name, F.udf(json_reader(type_), given, useArrow=False))


def json_reader(type_: DataType) -> Callable[[str | None], tuple[str | None, Any]]:
    """The function that gives why a text does not hold the type, or else its value in the form that `plain` gives."""

    def read(given: str | None) -> tuple[str | None, Any]:
        if given is None:
            return None, None
        try:
            json_text([json_data(given)])
            return None, from_json(
                json.loads(given, parse_float=WrittenFloat, parse_constant=no_constant), type_, False
            )
        except (ValueError, OverflowError) as error:
            return f"bad_cast: {error}".encode("utf-8", "backslashreplace").decode(), None

    return read


def from_json(data: Json, type_: DataType, nullable: bool) -> Any:
    """A value in the form that `plain` gives; ValueError where the data does not fit the type."""
    if data is None and nullable:
        return None
    match type_:
        case BooleanType() if isinstance(data, bool):
            return data
        case LongType() if is_whole(data) and -(2**63) <= data < 2**63:
            return data
        case IntegerType() if is_whole(data) and -(2**31) <= data < 2**31:
            return data
        case DoubleType() if is_number(data):
            return float(data)
        case EnumType(values=values) if data in values:
            return data
        case StringType() if isinstance(data, str) and not isinstance(type_, EnumType):
            return data
        case TimestampType() if is_number(data):
            return json_micros(data)
        case TimestampType() if isinstance(data, str):
            return json_moment(data)
        case DateType() if isinstance(data, str):
            return day_number(data)
        case DayTimeIntervalType() if is_number(data):
            return json_micros(data)
        case DecimalType() if is_whole(data) or isinstance(data, str | WrittenFloat):
            return json_decimal(data, type_)
        case BinaryType() if isinstance(data, str):
            return base64.b64decode(data, validate=True)
        case ArrayType() if isinstance(data, list):
            return [from_json(each, type_.elementType, type_.containsNull) for each in data]
        case MapType() if isinstance(data, dict | list):
            return from_json_map(data, type_)
        case StructType() if isinstance(data, dict):
            return tuple(from_json(json_field(data, part), part.dataType, part.nullable) for part in type_.fields)
        case _:
            raise ValueError(f"expected {words(type_)}, found {'nothing' if data is None else compact_json(data)[:60]}")


def json_field(data: dict[str, Any], part: StructField) -> Any:
    """What stands where a field is read from: under its whole path as a name, else step by step."""
    path = part.metadata.get("path", part.name)
    if path in data:
        return data[path]
    found: Json = data
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def from_json_map(data: dict[str, Any] | list[Any], type_: MapType) -> dict[Any, Any]:
    """A map from an object, or from an array of [key, value]."""
    if isinstance(data, dict) and not isinstance(type_.keyType, StringType):
        raise ValueError("expected [key, value], found an object")
    pairs = data.items() if isinstance(data, dict) else data
    if not all(map(is_pair, pairs)):
        raise ValueError("expected [key, value]")
    key, value = type_.keyType, type_.valueType
    return {from_json(k, key, False): from_json(v, value, type_.valueContainsNull) for k, v in pairs}


def is_pair(data: Json | tuple[str, Any]) -> bool:
    """Whether data may be the key and the value of a map."""
    return isinstance(data, list | tuple) and len(data) == 2


def json_micros(seconds: int | float) -> int:
    """Microseconds, rounded half to even from the exact number of seconds."""
    micros = round(Fraction(seconds) * 1_000_000)
    if not -(2**63) <= micros < 2**63:
        raise ValueError("the number of seconds is too large")
    return micros


def json_moment(given: str) -> int:
    """A moment in ISO 8601; without an offset it is UTC."""
    found = re.fullmatch(MOMENT_FORM.removeprefix(r"\A").removesuffix(r"\z"), given, re.ASCII)
    if found is None or found[1] < "0001":
        raise ValueError("expected timestamp")
    hours, minutes, seconds = (int(part or 0) for part in found.group(2, 3, 4))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("expected timestamp")
    total = ((day_number(found[1]) * 24 + hours) * 60 + minutes) * 60 + seconds
    shift = (int(found[7] or 0) * 60 + int(found[8] or 0)) * (-60 if found[6] == "-" else 60)
    return (total - shift) * 1_000_000 + int((found[5] or "")[:6].ljust(6, "0"))


class WrittenFloat(float):
    """A JSON number with a point or an exponent, and its text."""

    given: str

    def __new__(cls, given: str) -> WrittenFloat:
        """The number in a text."""
        made = super().__new__(cls, given)
        made.given = given
        return made


def written_digits(number: WrittenFloat) -> str:
    """A number as it is written, nothing where it has an exponent or more digits than Spark's decimals; zero is "0"."""
    whole, _, behind = number.given.lstrip("-").partition(".")
    fits = (whole + behind).isdigit() and len(behind) <= 38 and len((whole + behind).lstrip("0")) <= 38
    return "0" if not number else number.given if fits else ""


def json_decimal(data: str | int | WrittenFloat, type_: DecimalType) -> Decimal:
    """A decimal number all of whose digits the type holds."""
    given = written_digits(data) if isinstance(data, WrittenFloat) else f"{data}"
    if re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", given, re.ASCII) is None:
        raise ValueError("expected decimal")
    sign, (whole, _, behind) = given[:1] == "-", given.lstrip("+-").partition(".")
    digits, kept = whole.lstrip("0"), behind.rstrip("0")
    if len(kept) > type_.scale or len(digits) > type_.precision - type_.scale:
        raise ValueError("the decimal has more digits")
    units = int(digits + kept.ljust(type_.scale, "0") or 0)
    return Decimal((int(sign and units > 0), tuple(map(int, str(units))), -type_.scale))
