"""Where a Spark job looks for records that fail, and where none can."""

from __future__ import annotations

import pytest

from ghcm.codegen.spark.expressions import Emitter, value_binding
from ghcm.codegen.spark.schemas import Schemas
from ghcm.codegen.spark.sql import col
from ghcm.expr import Call, Literal, Var
from ghcm.types import Decimal, Int, List, String, Type


@pytest.mark.parametrize(
    ("given", "made", "fails"),
    [
        (Int(), Decimal(19, 0), False),
        (Int(), Decimal(25, 6), False),
        (Int(), Decimal(20, 2), True),
        (Decimal(5, 2), Decimal(8, 4), False),
        (Decimal(5, 2), Decimal(8, 6), True),
        (Decimal(5, 2), Decimal(8, 1), True),
        (String(), Decimal(38, 0), True),
    ],
    ids=str,
)
def test_what_becomes_a_decimal_with_room_for_it_cannot_fail(given: Type, made: Decimal, fails: bool) -> None:
    call = Call("to_decimal", (Var("x", given), Literal([], List(made))), made)
    emitted = Emitter(Schemas(), {"x": value_binding(col("x"))}).emit(call)
    assert (emitted.error is not None) == fails
