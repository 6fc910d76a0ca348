"""Joins of every kind, on every engine, with pairs that fail and keys that are null."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_native_joins_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("joins"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {
        "inner": 1,
        "lefts": 6,
        "rights": 6,
        "fulls": 11,
        "semis": 1,
        "antis": 5,
        "pairs_full": 10,
        "pairs_anti": 2,
        "floats": 6,
        "narrowed": 6,
    }
    assert Counter(letter.reason.value for letter in expected.dead) == {"zero_divisor": 18}


@pytest.mark.slow
def test_spark_joins_agree_with_the_reference(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("joins")) == []


FLOWS = [
    (at * 1_000_000, src, size)
    for at, src, size in [
        (1, "a", 20),
        (2, "b", 4),
        (9, "b", 50),
        (3, "a", 30),
        (10, None, 7),
        (4, "c", 1),
        (11, "a", 5),
        (2, "b", 6),
        (30, "a", 11),
    ]
]


def test_lookups_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("lookups"), sockets={"flows/socket": FLOWS})
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 5, "lefts": 9, "semis": 7, "antis": 4, "priced": 9, "per_owner": 3}
    assert {letter.reason.value for letter in expected.dead} == {"zero_divisor", "late"}


def test_interval_joins_agree_with_the_reference() -> None:
    expected = agrees_natively(program_of("intervals"))
    counts = {name: len(rows) for name, rows in expected.sinks.items()}
    assert counts == {"inner": 3, "fulls": 6, "semis": 3, "windows": 3}
    assert [letter.reason.value for letter in expected.dead] == ["zero_divisor"]


@pytest.mark.slow
def test_spark_interval_joins_agree_with_the_reference(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("intervals")) == []
