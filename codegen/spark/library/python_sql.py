"""What SQL of jobs calls in Python: Java does it otherwise, or takes malformed JSON for missing."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from ghcm.codegen.spark.library.job import Job
from ghcm.codegen.spark.library.types import plain_type, type_of
from ghcm.formats.json_text import READERS, parsed, read_at, reader_of
from ghcm.values import compact
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
    """Why it fails, what stands there (nothing where that is missing or null); an array by its items behind a mark."""
    if given is None:
        return None
    try:
        found = read_at(parsed(given), json.loads(path), READERS[kind])
    except OverflowError as error:
        return [f"overflow: {error}"]
    except ValueError as error:
        return [f"bad_cast: {error}"]
    if isinstance(found, list):
        return [None, "", *found]
    return [None] if found is None else [None, found if isinstance(found, str) else compact(found)]


def know_json_read(job: Job, name: str, type_: DataType) -> None:
    """Have Spark know the function of that name that reads JSON texts of a type."""
    given = StructType([StructField("error", StringType()), StructField("value", plain_type(type_))])
    job.spark.udf.register(name, F.udf(json_reader(type_), given, useArrow=False))


def json_reader(type_: DataType) -> Callable[[str | None], tuple[str | None, Any]]:
    """The function that gives why a text does not hold the type, or else its value in the form that `plain` gives."""
    value_of = reader_of(type_of(type_))

    def read(given: str | None) -> tuple[str | None, Any]:
        if given is None:
            return None, None
        try:
            return None, value_of(given)
        except (ValueError, OverflowError) as error:
            return f"bad_cast: {error}", None

    return read
