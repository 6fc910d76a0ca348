"""Records that may be null, joined by their fields, and given to and by users' functions, on every engine."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of


def test_the_native_forms_take_nulls() -> None:
    expected = agrees_natively(program_of("null_results"))
    assert None in expected.sinks["as_json"] and None in expected.sinks["by_row"]
    found = Counter(letter.reason.value for letter in expected.dead)
    assert found["python"] == 2 and found["wrong_result"] == 2 and found["zero_divisor"] == 6


@pytest.mark.slow
def test_spark_takes_nulls(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("null_results")) == []


GUARDED = """program guarded
record R {{ k: string?, n: int }}
sink out = files("out", mode = append)
stream u {{
  rows = memory([{{ k: null, n: 1 }}, {{ k: "b", n: 2 }}, {{ k: "a", n: 0 }}]).as(R)
  rows.{}.to(out)
}}
"""


@pytest.mark.parametrize(
    "call",
    [
        'filter(r => if r.k is null then false else r.k > "a" or (r.k > "a" and r.n > 1))',
        'filter(r => (r.k is not null and r.k > "a") or (r.k is not null and r.k > "a" and r.n > 1))',
        'map(r => { a: if r.k is null then false else r.k > "a", b: if r.k is null then true else r.k > "a" })',
    ],
)
def test_what_stands_twice_behind_a_test_for_null_stays_behind_it(call: str) -> None:
    assert agrees_natively(lower(parse(Source("guarded.istream", GUARDED.format(call))))).sinks["out"]
