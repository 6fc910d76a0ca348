"""What decimals become in expressions: the digits of results, constants beside them, and casts that are inserted."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ghcm.expr import Call, Literal, MakeStruct
from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.ops import Map
from ghcm.spg.reference import run
from ghcm.spg.text import parse_program, print_program
from ghcm.spg.verify import verify

_HEAD = """program tested

record Row { cost: decimal(10, 2), rate: decimal(6, 4)?, wide: decimal(38, 10), n: int, small: int32, text: string }

"""


def program(body: str) -> Program:
    """A unit that replies with the expression for each row."""
    row = '{ cost: 12.3, rate: null, wide: 0.5, n: 7, small: 2, text: "1.250" }'
    unit = f"responsive batch b {{\n  memory([{row}]).as(Row).map(r => {{ x: {body} }}).reply()\n}}\n"
    lowered = lower(parse(Source("tested.istream", _HEAD + unit)))
    assert verify(lowered) == []
    text = print_program(lowered)
    assert print_program(parse_program(text)) == text
    return lowered


@pytest.mark.parametrize(
    ("body", "type_", "value"),
    [
        ("r.cost + r.cost", "decimal(11, 2)", "24.60"),
        ("r.cost - r.rate", "decimal(13, 4)?", None),
        ("r.cost * (r.rate ?? 0.25)", "decimal(16, 6)", "3.075000"),
        ("r.cost + 1", "decimal(11, 2)", "13.30"),
        ("r.cost * 1.19", "decimal(13, 4)", "14.6370"),
        ("r.cost * r.n", "decimal(29, 2)", "86.10"),
        ("r.cost * r.small", "decimal(20, 2)", "24.60"),
        ("-r.cost", "decimal(10, 2)", "-12.30"),
        ("abs(r.cost - 100)", "decimal(11, 2)", "87.70"),
        ("round_half_up(r.cost * 1.05, 1)", "decimal(11, 1)", "12.9"),
        ("r.cost.round_half_up(2)", "decimal(10, 2)", "12.30"),
        ("div(r.cost, 7, scale = 4)", "decimal(13, 4)", "1.7571"),
        ("r.small.div(r.n, 2)", "decimal(22, 2)", "0.29"),
        ("div(r.rate, r.cost, scale = 1)", "decimal(6, 1)?", None),
        ("r.cost * (1 + 0.19)", "decimal(13, 4)", "14.6370"),
        ("r.cost + -(2 - 0.5)", "decimal(11, 2)", "10.80"),
        ("r.rate ?? 0", "decimal(6, 4)", "0.0000"),
        ("if r.n > 3 then r.cost else 0.125", "decimal(11, 3)", "12.300"),
        ("min(r.cost, r.n)", "decimal(21, 2)", "7.00"),
        ("r.text.to_decimal(5, 2)", "decimal(5, 2)", "1.25"),
        ('to_decimal("-0012.3", 4, 2)', "decimal(4, 2)", "-12.30"),
        ("to_decimal(r.small, 3, 1)", "decimal(3, 1)", "2.0"),
        ("[r.cost, 1].sum()", "decimal(20, 2)?", "13.30"),
        ("r.cost.to_string()", "string", "12.30"),
        ("r.cost.to_int()", "int", 12),
        ("r.cost.to_float()", "float", 12.3),
        ("r.wide < 1 and r.cost == 12.3 and r.cost > r.n and r.cost in [1, 12.30]", "bool", True),
        ('match r.cost { 12.3 => "a", _ => "b" }', "string", "a"),
    ],
)  # fmt: skip
def test_the_digits_of_results(body: str, type_: str, value: object) -> None:
    lowered = program(body)
    element = lowered.unit("b").tasks[-1].schema
    assert str(element.fields[0].type) == type_
    expected = Decimal(value) if isinstance(value, str) and "decimal" in type_ else value
    outcome = run(lowered, "b")
    assert (outcome.reply, outcome.dead) == ([(expected,)], [])


def test_sums_of_decimals_have_more_digits_than_they() -> None:
    reducer = "(a, b) => { sum: a.sum + b.sum, least: min(a.least, b.least) }"
    body = f"map_to_pair(r => (r.n, {{ sum: r.cost, least: r.small }})).reduce_by_key({reducer}).reply()"
    row = '{ cost: 99999999.99, rate: null, wide: 0.5, n: 7, small: 2, text: "" }'
    unit = f"responsive batch b {{\n  memory([{row}, {row}]).as(Row).{body}\n}}\n"
    lowered = lower(parse(Source("tested.istream", _HEAD + unit)))
    assert verify(lowered) == []
    assert str(lowered.unit("b").tasks[-1].schema) == "{key: int, value: {sum: decimal(20, 2), least: int32}}"
    assert run(lowered, "b").reply == [(7, (Decimal("199999999.98"), 2))]


def test_constants_are_made_when_a_program_is_checked() -> None:
    op = program('to_decimal("12.3", 4, 2)').unit("b").tasks[1].op
    assert isinstance(op, Map) and isinstance(op.function.body, MakeStruct)
    assert isinstance(op.function.body.values[0], Literal)


def test_nothing_is_cast_that_need_not_be() -> None:
    op = program("r.cost > 10").unit("b").tasks[1].op
    assert isinstance(op, Map) and isinstance(op.function.body, MakeStruct)
    comparison = op.function.body.values[0]
    assert isinstance(comparison, Call) and not any(isinstance(each, Call) for each in comparison.arguments)
