"""Unions from discriminated unions of pydantic and from JSON Schema, and back: nothing is lost on the way."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, RootModel, ValidationError
from pydantic import Field as Said

from ghcm import OneOf, ProgramError, Record, at, dataclass_of, json_schema_of, pydantic_of, record_of, union_of
from ghcm.language.fluent.interchange import struct_of_class
from ghcm.schemas.records import identity


class Login(Record):
    user: str
    host: str | None


class Logout(Record):
    user: str
    n: int


class Event(OneOf, by="kind"):
    login: Login
    logout: Logout = at("log-out")


class Row(Record):
    event: Event
    many: list[Event | None]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


Pet = Annotated[Cat | Dog, Said(discriminator="kind")]


class Owner(BaseModel):
    pet: Cat | Dog | None = Said(discriminator="kind")
    pets: list[Pet]


def same(found: type, wanted: type) -> bool:
    return identity(struct_of_class(found)) == identity(struct_of_class(wanted))


def test_what_is_given_is_taken_back() -> None:
    assert union_of(json_schema_of(Event)) is Event
    assert union_of(pydantic_of(Event)) is Event
    assert same(union_of(pydantic_of(Event).model_json_schema()), Event)
    assert record_of(json_schema_of(Row)) is Row
    assert record_of(pydantic_of(Row)) is Row
    assert same(record_of(pydantic_of(Row).model_json_schema()), Row)


def test_a_schema_of_a_union_tells_its_records_apart() -> None:
    schema: Any = json_schema_of(Event)
    assert schema["discriminator"] == {"propertyName": "kind"}
    assert [each["properties"]["kind"]["const"] for each in schema["oneOf"]] == ["login", "log-out"]
    assert [each["required"] for each in schema["oneOf"]] == [["kind", "user"], ["kind", "user", "n"]]


def test_a_model_of_a_union_reads_one_of_its_records() -> None:
    model = pydantic_of(Event)
    assert model.model_validate({"kind": "log-out", "user": "a", "n": 1}).model_dump() == {
        "user": "a",
        "n": 1,
        "kind": "log-out",
    }
    with pytest.raises(ValidationError):
        model.model_validate({"kind": "logout", "user": "a", "n": 1})


def test_unions_of_models() -> None:
    pet = struct_of_class(union_of(Pet, name="Pet"))
    assert [(each.text, each.name, each.record.names) for each in pet.variants] == [
        ("cat", "Cat", ("lives",)),
        ("dog", "Dog", ("name",)),
    ]
    assert identity(struct_of_class(union_of(RootModel[Pet], name="Pet"))) == identity(pet)
    assert [str(each) for each in struct_of_class(record_of(Owner)).fields] == ["pet: Pet?", "pets: list<Pets>"]


def test_schemas_without_a_discriminator_have_a_constant_in_common() -> None:
    choices = [
        {"type": "object", "title": "A", "properties": {"of": {"const": "a"}, "n": {"type": "integer"}}},
        {"type": "object", "title": "B", "properties": {"of": {"const": "b"}, "t": {"type": "string"}}},
    ]
    found = struct_of_class(union_of({"title": "Either", "anyOf": choices}))
    assert [(each.text, each.record.names) for each in found.variants] == [("a", ("n",)), ("b", ("t",))]
    assert found.fields[0].name == "of"


def model(**fields: Any) -> Any:
    return {"type": "object", "properties": fields}


WRONG = {
    'The tag of a union cannot have the name "a-b"': [
        model(**{"a-b": {"const": "x"}}),
        model(**{"a-b": {"const": "y"}}),
    ],
    'Two records of a union have the tag "x"': [model(of={"const": "x"}), model(of={"const": "x"})],
    '"n" is one thing in "X" and another in "Y"': [
        model(of={"const": "x"}, n={"type": "string"}),
        model(of={"const": "y"}, n={"type": "integer"}),
    ],
    "A choice of types is no type of the language": [model(of={"const": "x"}), {"type": "string"}],
}


@pytest.mark.parametrize("detail", WRONG)
def test_what_is_no_union_is_said(detail: str) -> None:
    with pytest.raises(ProgramError) as caught:
        union_of({"title": "T", "oneOf": WRONG[detail]})
    assert detail in str(caught.value)


def test_each_has_its_own_function() -> None:
    with pytest.raises(ProgramError, match="union_of makes a union of it"):
        record_of(json_schema_of(Event))
    with pytest.raises(ProgramError, match="record_of makes a record of it"):
        union_of(json_schema_of(Login))
    with pytest.raises(ProgramError, match="a choice of dataclasses has no tag"):
        dataclass_of(Row)
