"""Records from dataclasses, pydantic models, JSON Schema and Arrow schemas, and back: nothing is lost on the way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal as Exact
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic import Field as Said

from ghcm import Digits, ProgramError, Record, arrow_schema_of, at, dataclass_of, json_schema_of, pydantic_of, record_of
from ghcm.driver import check
from ghcm.language.fluent.interchange import struct_of_class
from ghcm.schemas.json_schema import schema_of
from ghcm.schemas.records import identity, named
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
    tuple_of,
)


@dataclass
class Address:
    city: str
    code: int | None = None


@dataclass
class Person:
    name: str
    born: datetime
    homes: list[Address]
    owed: Annotated[Exact, Digits(10, 2)]
    by: dict[str, float]
    id: str = field(default="", metadata={"from": "id.orig_h"})


class Login(BaseModel):
    user: str
    owed: Exact = Said(max_digits=10, decimal_places=2)
    at: datetime | None = None
    host: str = Said(alias="id.host")


class Flow(Record):
    ts: datetime
    src: str = at("id.orig_h")
    label: str | None


def fields(record: type[Record]) -> list[str]:
    return [f"{each}" + (f" from {each.path}" if each.path else "") for each in struct_of_class(record).fields]


def test_a_dataclass() -> None:
    assert fields(record_of(Person)) == [
        "name: string",
        "born: timestamp",
        "homes: list<Address>",
        "owed: decimal(10, 2)",
        "by: map<string, float>",
        "id: string from id.orig_h",
    ]


def test_a_pydantic_model() -> None:
    wanted = ["user: string", "owed: decimal(10, 2)", "at: timestamp?", "host: string from id.host"]
    assert fields(record_of(Login)) == wanted
    model = pydantic_of(record_of(Login))
    assert model(user="a", owed="1.50", **{"id.host": "h"}).model_dump() == {
        "user": "a",
        "owed": Exact("1.50"),
        "at": None,
        "host": "h",
    }


def test_a_json_schema() -> None:
    schema = Login.model_json_schema()
    schema["properties"]["owed"] = {"type": "string", "format": "decimal", "precision": 10, "scale": 2}
    assert fields(record_of(schema)) == [
        "user: string",
        "owed: decimal(10, 2)",
        "at: timestamp?",
        "id_host: string from id.host",
    ]
    assert json_schema_of(Flow) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Flow",
        "type": "object",
        "properties": {
            "ts": {"type": "string", "format": "date-time"},
            "id.orig_h": {"type": "string"},
            "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["ts", "id.orig_h"],
    }


def test_an_arrow_schema() -> None:
    schema: Any = arrow_schema_of(Flow)
    assert schema.names == ["ts", "id.orig_h", "label"]
    assert [column.nullable for column in schema] == [False, False, True]
    assert fields(record_of(schema, "Flow2")) == ["ts: timestamp", "id_orig_h: string from id.orig_h", "label: string?"]


def test_a_dataclass_of_a_record_is_used_as_any() -> None:
    made = dataclass_of(Flow)
    assert made(datetime(2026, 1, 2), "a", None) == made(ts=datetime(2026, 1, 2), src="a", label=None)


@dataclass
class Inner:
    value: complex


@dataclass
class Outer:
    inner: list[Inner]


@dataclass
class Loop:
    next: Loop | None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Outer, 'Field "inner.value": "complex" is no type of the language'),
        (Loop, 'Field "next": "Loop" is inside of itself'),
        (int, "It is no dataclass"),
        ({"type": "object", "title": "A", "properties": {"a": {"type": ["string", "integer"]}}}, 'Field "a": a choice'),
        ({"type": "object", "title": "A", "properties": {"a": {"$ref": "#"}}}, 'Field "a"'),
        (pa.schema([("a", pa.month_day_nano_interval())]), 'Field "a": Arrow\'s month_day_nano_interval'),
        (pa.schema([("a", pa.int64())]), "It has no name"),
    ],
)
def test_what_does_not_map_is_refused_with_its_field(source: object, reason: str) -> None:
    with pytest.raises(ProgramError) as refused:
        record_of(source)
    assert reason in str(refused.value)
    assert "test_interchange.py" in str(refused.value)


def test_a_program_uses_them(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "from dataclasses import dataclass\n"
        "from ghcm import Program, files, record_of\n"
        "@dataclass\nclass Geo:\n    x: float\n"
        "@dataclass\nclass Visit:\n    page: str\n    geo: Geo | None\n"
        "V = record_of(Visit)\n"
        'p = Program("p")\n'
        "@p.batch(responsive=True)\n"
        'def u():\n    files("a.jsonl").as_(V).map(lambda v: V(page=v.page, geo=v.geo)).reply()\n'
    )
    schema = check(tmp_path / "p.py").units[0].tasks[0].schema
    geo = Struct((Field("x", Float()),))
    assert schema == Struct((Field("page", String()), Field("geo", Nullable(geo))))


def test_the_front_end_loads_neither_pydantic_nor_arrow() -> None:
    code = "import sys; from ghcm import Program, record_of; print({'pydantic', 'pyarrow'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


LEAVES: st.SearchStrategy[Type] = st.sampled_from(
    [
        Bool(),
        Int(),
        Int32(),
        Float(),
        String(),
        Bytes(),
        Timestamp(),
        Date(),
        Duration(),
        Decimal(10, 2),
        Decimal(38, 0),
    ]
)
NAMES = st.sampled_from(["a", "b", "c_d", "Name", "key", "src"])


def structs(types: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    paths = st.none() | st.sampled_from(["id.orig_h", "1", "x y", "ü"])
    each = st.lists(st.tuples(NAMES, types, paths), min_size=1, max_size=3, unique_by=(lambda part: part[0]))
    return each.filter(lambda parts: len({path or name for name, _, path in parts}) == len(parts)).map(
        lambda parts: Struct(tuple(Field(*part) for part in parts))
    )


def nested(types: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    values = types | types.map(lambda type_: type_ if isinstance(type_, Nullable) else Nullable(type_))
    return (
        values.map(List)
        | st.builds(Map, st.sampled_from([String(), Int()]), values)
        | structs(values)
        | st.builds(tuple_of, values, values)
    )


RECORDS = structs(st.recursive(LEAVES | LEAVES.map(Nullable), nested, max_leaves=5))
FORMS: dict[str, Callable[[type[Record]], object]] = {
    "dataclass": dataclass_of,
    "pydantic": pydantic_of,
    "json schema": json_schema_of,
    "arrow": arrow_schema_of,
}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RECORDS, st.sampled_from(list(FORMS)))
def test_round_trips(struct: Struct, form: str) -> None:
    wanted = named(struct, "Root")
    record = record_of(schema_of(wanted))
    there = identity(struct_of_class(record))
    back = identity(struct_of_class(record_of(FORMS[form](record), "Root")))
    assert back == there
    assert json_schema_of(record)["properties"] == schema_of(wanted)["properties"]
