"""The models of units' parameters: what they take, what they give back, what they say of the rest."""

from typing import Any

import pytest
from pydantic import ValidationError

from ghcm.source import Origin
from ghcm.spg.graph import Parameter, Unit
from ghcm.supervisor.models import canonical, json_schema, parameters_model
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Null,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
)
from ghcm.values import WrittenFloat

EACH: list[tuple[Type, object]] = [
    (Bool(), True),
    (Int(), -5),
    (Int32(), 7),
    (Float(), 1.5),
    (Float(), "NaN"),
    (Decimal(10, 2), "12.34"),
    (String(), "ß"),
    (Enumeration(("tcp", "n/a")), "n/a"),
    (Map(Enumeration(("a", "b")), Int()), {"a": 1}),
    (Bytes(), "AAE="),
    (Timestamp(), "2026-01-02T03:04:05.000006Z"),
    (Date(), "2026-01-02"),
    (Duration(), 90),
    (Null(), None),
    (List(Int()), [1, 2]),
    (Map(String(), Int()), {"a": 1}),
    (Map(Int(), String()), [[1, "a"]]),
    (Struct((Field("a", Int()), Field("b", Nullable(String())))), {"a": 1, "b": None}),
    (Nullable(Int()), None),
]


def unit(*parameters: Parameter) -> Unit:
    return Unit("rebuild_all", "batch", True, parameters, None, (), Origin("p", 1, 1))


@pytest.mark.parametrize(("type_", "value"), EACH, ids=str)
def test_canonical_json_is_taken_as_it_is(type_: Type, value: object) -> None:
    assert canonical(value, type_) == value


def test_a_decimal_is_taken_of_a_number_as_it_is_written() -> None:
    assert canonical(WrittenFloat("12.340"), Decimal(10, 3)) == "12.340"
    assert canonical(12, Decimal(10, 2)) == "12.00"
    for wrong in (WrittenFloat("0.1234"), WrittenFloat("1e2"), 0.5):
        with pytest.raises(ValueError, match="decimal"):
            canonical(wrong, Decimal(10, 2))


def test_a_parameter_of_an_enum_lists_its_values_and_takes_no_others() -> None:
    model = parameters_model(unit(Parameter("p", Enumeration(("tcp", "n/a"), "Proto"), required=True)))
    assert model.model_json_schema()["properties"]["p"]["enum"] == ["tcp", "n/a"]
    with pytest.raises(ValidationError, match='expected one of tcp, "n/a", found "icmp"'):
        model(p="icmp")


@pytest.mark.parametrize(("type_", "value"), EACH, ids=str)
def test_every_type_has_a_schema(type_: Type, value: object) -> None:
    model = parameters_model(unit(Parameter("p", type_, required=True)))
    assert model(p=value).model_dump(by_alias=True) == {"p": value}
    schema: Any = model.model_json_schema()["properties"]["p"]
    assert schema == {**json_schema(type_), "description": str(type_), "title": "p"}


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05.000006",
        "2026-01-02T05:04:05.000006+02:00",
        "2026-01-02 03:04:05.000006Z",
        "20260102T030405.000006Z",
    ],
)
def test_moments_are_taken_in_any_iso_form(text: str) -> None:
    assert canonical(text, Timestamp()) == "2026-01-02T03:04:05.000006Z"


def test_defaults_are_filled_in_as_json() -> None:
    model = parameters_model(unit(Parameter("at", Timestamp(), False, 1), Parameter("n", Int(), False, 3)))
    assert model().model_dump(by_alias=True) == {"at": "1970-01-01T00:00:00.000001Z", "n": 3}


@pytest.mark.parametrize("name", ["model_dump", "schema", "json", "copy", "class_", "model_config"])
def test_parameters_may_have_the_names_that_pydantic_uses(name: str) -> None:
    model = parameters_model(unit(Parameter(name, Int(), required=True)))
    assert model.model_validate({name: 1}).model_dump(by_alias=True) == {name: 1}


@pytest.mark.parametrize(
    ("type_", "value", "says"),
    [
        (Int(), "5", 'expected int, found "5"'),
        (Int(), 2**63, "9223372036854775808 does not fit into int"),
        (Int(), True, "expected int, found true"),
        (Timestamp(), "soon", 'expected timestamp such as 2026-01-02T03:04:05.000006Z, found "soon"'),
        (List(Int()), [1, "x"], '[1]: expected int, found "x"'),
    ],
)
def test_what_does_not_fit_is_told(type_: Type, value: object, says: str) -> None:
    model = parameters_model(unit(Parameter("p", type_, required=True)))
    with pytest.raises(ValidationError) as raised:
        model(p=value)
    [error] = raised.value.errors()
    assert error["loc"] == ("p",)
    assert says in error["msg"]


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(ValidationError) as raised:
        parameters_model(unit())(p=1)
    assert raised.value.errors()[0]["type"] == "extra_forbidden"
