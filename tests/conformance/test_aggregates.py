"""Every aggregate of every type on every engine, and what the table says of them."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from ghcm.aggregates import AGGREGATES
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.reducers import AggregateFunction
from ghcm.runtime.contract import Form
from ghcm.runtime.native.hyperloglog import Approximate
from ghcm.runtime.native.order import plain
from ghcm.runtime.native.summaries import Collected, Different
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.reference.aggregates import estimate
from ghcm.spg.text import parse_program, print_program
from ghcm.spg.verify import verify
from ghcm.types import String, Type
from ghcm.verification.compare import differences, letters
from tests.conformance.aggregate_cases import TYPES, every_aggregate
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import agrees_natively, program_of
from tests.unit.runtime.operators.harness import run_unit

FORMS: tuple[Form, ...] = ("rows", "columns")


def test_the_table_is_total() -> None:
    assert set(AGGREGATES) == set(AggregateFunction)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("nullable", [True, False], ids=["nullable", "sure"])
@pytest.mark.parametrize("scalar", [True, False], ids=["scalar", "record"])
@pytest.mark.parametrize("form", ["rows", "columns"])
def test_native(type_: Type, form: Form, scalar: bool, nullable: bool) -> None:
    program = every_aggregate(type_, scalar=scalar, nullable=nullable)
    assert list(verify(program)) == []
    text = print_program(program)
    assert print_program(parse_program(text)) == text
    expected = run(program, "u")
    found = run_unit(program, program.unit("u"), form, size=5)
    assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters)) == []


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.usefixtures("operators_apart")
def test_spark(type_: Type, spark: SparkSession) -> None:
    for scalar, nullable in ((True, True), (False, False)):
        program = every_aggregate(type_, scalar=scalar, nullable=nullable)
        assert differences_on_spark(spark, program) == []


def test_distinct_values_are_estimated_within_their_error() -> None:
    for count in (1, 100, 3_000, 30_000):
        values: list[object] = [f"value {number}" for number in range(count)]
        found = estimate(values, String())
        assert abs(found - count) <= 0.05 * count
        summary = Approximate(str)
        assert summary.result(summary.merge(summary.of(values[::2]), summary.of(values[1::2]))) == found


def test_states_merge_into_several_others() -> None:
    collected, different = Collected(plain), Different(plain)
    one, two = collected.of([3, 1]), different.of([3, 1])
    for _ in range(2):
        assert collected.result(collected.merge(collected.merge(None, one), [2])) == [1, 2, 3]
        assert different.result(different.merge(different.merge(None, two), {2})) == 3
    assert (one, two) == ([3, 1], {1, 3})


def test_aggregates_of_ones_own_agree_natively() -> None:
    expected = agrees_natively(program_of("own_aggregates"))
    assert [letter.input for letter in expected.dead] == ['{"key":"c"}']  # its product fits no 64 bits
    assert agrees_natively(program_of("own_aggregates", streaming=True)).sinks == expected.sinks


@pytest.mark.slow
def test_aggregates_of_ones_own_agree_on_spark(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("own_aggregates")) == []


def test_records_of_one_value_that_fail_are_dead_as_they_are() -> None:
    given = "memory([2, 0, 5]).aggregate(n = sum(10 // value))"
    text = f"program p\n\nresponsive batch u {{\n  {given}.reply()\n}}\n"
    program = lower(parse(Source("p.istream", text)))
    for form in FORMS:
        found = run_unit(program, program.unit("u"), form)
        assert found.reply == [(7,)] and [letter.input for letter in found.letters] == ["0"]


PUBLISHED = """program p
sink out: R{{at: timestamp, n: int}} = parquet("out") append
stream u
  a = source(memory([(5, 1), (3, 2), (9, 3), (9, 4)])) : stream<R{{at: timestamp, n: int}}> bounded
  t = event_time((r: R{{at: timestamp, n: int}}) => r.at, none) <- a : stream<R{{at: timestamp, n: int}}> bounded timed
  o = to("out") <- t : stream<R{{at: timestamp, n: int}}> bounded timed
  p = publish(call_template("c", [{arguments}]), policy(on = "completion"), "o") <- t : stream<R{{at: timestamp, n: int}}> bounded timed
responsive stream c(x: int, y: int?)
"""  # noqa: E501
_OF = "(r: R{at: timestamp, n: int}) => "


def published() -> Program:
    first = f'("x", aggregate("x", first, {_OF}r.n, int))'
    last = f'("y", aggregate("y", last, {_OF}r.n, int, order = {_OF}r.at))'
    return parse_program(PUBLISHED.format(arguments=f"{first}, {last}"))


def test_published_calls_take_the_first_and_the_last() -> None:
    program = published()
    (sent,) = run(program, "u").instructions
    assert sent.arguments == {"x": 2, "y": 4}
    for form in FORMS:
        ((_, publication),) = run_unit(program, program.unit("u"), form, size=2).publications
        assert publication.arguments == sent.arguments


@pytest.mark.slow
def test_published_calls_on_spark(spark: SparkSession) -> None:
    program = published()
    batch = replace(program.unit("u"), kind="batch")
    assert differences_on_spark(spark, replace(program, units=(batch, program.unit("c")))) == []
