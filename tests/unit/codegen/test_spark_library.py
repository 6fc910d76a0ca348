"""The library of Spark jobs in Python: values as JSON says them, types as jobs write them, SQL as text."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.job import refusal
from ghcm.codegen.spark.library.python_sql import clocks_at, json_at, moment_of_clocks
from ghcm.codegen.spark.library.sql import bare, named, part, quoted, text, when
from ghcm.codegen.spark.library.types import (
    DATE,
    DURATION,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    EnumType,
    ddl,
    decimal,
    field_of,
    list_of,
    map_of,
    maybe,
    record,
    type_of,
)
from ghcm.errors import GhcmError
from ghcm.formats.records import column_indices
from ghcm.types import Field, String, Struct
from ghcm.values import Json, from_json, to_json


def test_a_record_is_what_spark_takes_for_one() -> None:
    made = record(id=INT, names=list_of(maybe(STRING)), at=field_of(maybe(TIMESTAMP), path="when"))
    assert made.fields[:2] == [
        StructField("id", LongType(), False),
        StructField("names", ArrayType(StringType(), True), False),
    ]
    assert (made.fields[2].nullable, made.fields[2].metadata) == (True, {"path": "when"})
    assert record({"class": INT}) == StructType([StructField("class", LongType(), False)])
    assert ddl(record(a=DURATION, b=map_of(STRING, decimal(5, 2)))) == "struct<a: bigint, b: map<string, decimal(5,2)>>"


@pytest.mark.parametrize(
    ("type_", "plain", "data"),
    [
        (FLOAT, math.inf, "Infinity"),
        (decimal(5, 2), Decimal("1.5"), "1.50"),
        (TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z"),
        (DATE, -719_162, "0001-01-01"),
        (DURATION, 1_500_000, 1.5),
        (list_of(INT), [1, 2], [1, 2]),
        (map_of(INT, STRING), {1: "a"}, [[1, "a"]]),
        (EnumType(["up", "down"]), "up", "up"),
    ],
    ids=str,
)
def test_plain_values_and_json_say_the_same(type_: DataType, plain: object, data: Json) -> None:
    assert to_json(plain, type_of(type_)) == data
    assert from_json(data, type_of(type_)) == plain


@pytest.mark.parametrize(
    ("type_", "data"), [(INT, 1.5), (STRING, 1), (TIMESTAMP, "today"), (EnumType(["up"]), "down"), (INT, None)]
)
def test_what_does_not_fit_is_refused(type_: DataType, data: Json) -> None:
    with pytest.raises(ValueError, match="expected"):
        from_json(data, type_of(type_))


def test_types_are_those_of_the_program() -> None:
    found = [
        str(type_of(each)) for each in (INT, DURATION, list_of(maybe(INT)), record(a=INT), EnumType(["up", "a b"]))
    ]
    assert found == ["int", "duration", "list<int?>", "{a: int}", 'enum {up, "a b"}']
    union = record(kind=STRING, a=field_of(maybe(INT), path="x.a", of=["p"], needs={"p": "P"}))
    made = type_of(union)
    assert isinstance(made, Struct)
    assert (made.fields[1].path, made.cases, made.needs) == ("x.a", (("a", ("p",)),), (("p", "a", "P"),))


def test_json_is_read_as_strictly_as_the_reference_does() -> None:
    assert json_at('{"a": [1, "x"]}', '["a", 1]', "string") == [None, "x"]
    assert json_at('{"a": null}', '["a"]', "string") == [None]
    assert json_at('{"a": NaN}', '["a"]', "number") == ["bad_cast: this is no JSON: there is no NaN"]
    assert json_at('{"a": 99999999999999999999}', '["a"]', "whole number") == [
        "overflow: 99999999999999999999 does not fit 64 bits"
    ]


def test_clocks_of_a_zone_go_there_and_back() -> None:
    shown = clocks_at(0, "Europe/Berlin")
    assert shown == 3_600_000_000
    assert moment_of_clocks(shown, "Europe/Berlin") == 0
    assert clocks_at(253_402_300_799_999_999, "Asia/Tokyo") is None


def test_names_and_texts_are_written_as_sql_reads_them() -> None:
    assert [quoted(each) for each in ("id", "order", "a b", "@time")] == ["id", "`order`", "`a b`", "`@time`"]
    assert text("it's ${x}\n") == r"'it\'s \u0024{x}\u000a'"
    assert (part("a.b", "end"), part("f(a)", "c")) == ("a.b.`end`", "(f(a)).c")
    assert (named("a", "a"), named("(a + b)", "c")) == ("a", "a + b AS c")
    assert when("(a)", "1L", when("b", "2L", "3L")) == "CASE WHEN a THEN 1L WHEN b THEN 2L ELSE 3L END"
    assert bare("(a) OR (b)") == "(a) OR (b)"


def test_a_missing_column_is_named_with_the_one_that_is_meant() -> None:
    wanted = Struct((Field("word", String()),))
    with pytest.raises(GhcmError) as raised:
        column_indices("in.csv", ["wrod", "count"], wanted)
    assert refusal(raised.value, file="in.csv").parts["hint"] == 'did you mean "wrod"?'
