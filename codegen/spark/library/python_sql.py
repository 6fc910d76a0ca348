"""What SQL of jobs calls in Python: Java does it otherwise, or takes malformed JSON for missing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NoReturn, cast
from zoneinfo import ZoneInfo

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from ghcm.codegen.spark.library.job import Job
from ghcm.codegen.spark.library.types import plain_type, type_of
from ghcm.formats.fields import from_json_field
from ghcm.values import WrittenFloat, compact, has_decimal
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS
from ghcm.values.writing import make_writer


def know_float_repr(job: Job) -> None:
    """Have Spark know `float_repr`."""
    job.spark.udf.register("float_repr", F.udf(float_repr, "string", useArrow=True))


def float_repr(value: float | None) -> str | None:
    """The shortest text that reads back as the same float, which Java has only from version 19 on."""
    return None if value is None else repr(float(value))


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

    to_json = make_writer(type_of(type_), in_order=True)

    def written(value: Any) -> str | None:
        return None if value is None else compact(to_json(value))

    job.spark.udf.register(name, F.udf(written, "string", useArrow=False))


def know_json_at(job: Job) -> None:
    """Have Spark know `json_at`."""
    job.spark.udf.register("json_at", F.udf(json_at, "array<string>", useArrow=True))


def json_at(given: str | None, path: str, kind: str) -> list[str | None] | None:
    """Why it fails, what stands there (nothing where that is missing or null), and its items."""
    if given is None:
        return None
    try:
        found: object = json_data(given)
        for step in json.loads(path):
            if isinstance(step, str):
                found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
            else:
                items = cast("list[object]", found) if isinstance(found, list) else []
                found = items[step] if step < len(items) else None
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


def compact_json(data: object) -> str:
    """A value as compact JSON, numbers as they were written."""
    match data:
        case Number():
            return str(data)
        case list():
            return f"[{','.join(map(compact_json, cast('list[object]', data)))}]"
        case dict():
            members = cast("dict[str, Any]", data).items()
            return "{" + ",".join(f"{compact_json(name)}:{compact_json(each)}" for name, each in members) + "}"
        case _:
            return json.dumps(data, ensure_ascii=False)


def know_json_read(job: Job, name: str, type_: DataType) -> None:
    """Have Spark know the function of that name that reads JSON texts of a type."""
    given = StructType([StructField("error", StringType()), StructField("value", plain_type(type_))])
    job.spark.udf.register(name, F.udf(json_reader(type_), given, useArrow=False))


def json_reader(type_: DataType) -> Callable[[str | None], tuple[str | None, Any]]:
    """The function that gives why a text does not hold the type, or else its value in the form that `plain` gives."""
    wanted = type_of(type_)
    value_of, parse_float = from_json_field(wanted), WrittenFloat if has_decimal(wanted) else None

    def read(given: str | None) -> tuple[str | None, Any]:
        if given is None:
            return None, None
        try:
            json_text([json_data(given)])
            return None, value_of(json.loads(given, parse_float=parse_float, parse_constant=no_constant))
        except (ValueError, OverflowError) as error:
            return f"bad_cast: {error}".encode("utf-8", "backslashreplace").decode(), None

    return read
