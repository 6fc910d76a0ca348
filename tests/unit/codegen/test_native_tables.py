"""The emitters are total over the tables of functions and operators; what has no columnar form says why."""

from __future__ import annotations

import pytest

from ghcm.codegen.native.column_expressions import ColumnScope
from ghcm.codegen.native.column_functions import COLUMN_FUNCTIONS
from ghcm.codegen.native.column_support import CONDITIONS, UNSUPPORTED, refusal
from ghcm.codegen.native.row_functions import HANDLED, ROW_FUNCTIONS
from ghcm.expr import Call, Expr, Get, Literal, Var
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.types import String, Type, tuple_of
from tests.laws.spg_expressions import SIGNATURES


def test_the_row_form_has_every_function() -> None:
    assert ROW_FUNCTIONS.keys() | HANDLED.keys() == FUNCTIONS.keys()
    assert HANDLED.keys() == {name for name, function in FUNCTIONS.items() if function.nulls is Nulls.HANDLED}


def test_the_columnar_form_has_every_function() -> None:
    assert COLUMN_FUNCTIONS.keys() == FUNCTIONS.keys()


def test_what_is_unsupported_says_why() -> None:
    assert {name for name, _ in UNSUPPORTED} | CONDITIONS.keys() <= FUNCTIONS.keys()
    assert all(len(reason) > 20 for reason in [*UNSUPPORTED.values(), *CONDITIONS.values()])


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: f"{each[0]} {', '.join(map(str, each[2]))}")
def test_only_the_table_refuses(signature: tuple[str, Type, tuple[Type, ...]]) -> None:
    name, result, parameters = signature
    record = Var("r", tuple_of(*parameters))
    arguments: list[Expr] = [Get(record, f"_{index}", type_) for index, type_ in enumerate(parameters, 1)]
    if name in ("matches", "extract_all"):
        arguments[1] = Literal("a+", String())
    call = Call(name, tuple(arguments), result)
    scope = ColumnScope()
    scope.bind(record)
    if refusal(call) is None:
        assert 'pl.col("_1")' in scope.value(call).text
