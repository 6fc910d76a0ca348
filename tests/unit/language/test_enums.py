"""Enums in both front ends, and what is made of Python's."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ghcm import ProgramError, Record, arrow_schema_of, dataclass_of, json_schema_of, pydantic_of, record_of
from ghcm.language import load, parse, print_program
from ghcm.language.fluent.interchange import struct_of_class
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.types import Enumeration, Nullable

TEXT = """program flows

enum Proto { tcp, udp, "n/a" }

record Flow { proto: Proto, side: enum {client, server}?, text: string }

sink out = parquet("out", mode = replace)

responsive batch of_proto(proto: Proto = "udp") {
  files("a.json", format = json)
    .as(Flow)
    .filter(f => f.proto == proto and f.side == "client" and f.proto != "tcp")
    .map(f => {
      number: match f.proto { "tcp" => 6, "udp" => 17, "n/a" => 0 },
      read: to_enum(f.text, Proto),
      shown: "is " + to_string(f.proto)
    })
    .to(out)
}
"""
PYTHON = """from enum import Enum
from typing import Literal
from ghcm import Program, Record, files, fn, match_, parquet

class Proto(Enum):
    TCP = "tcp"
    UDP = "udp"
    NONE = "n/a"

class Flow(Record):
    proto: Proto
    side: Literal["client", "server"] | None
    text: str

program = Program("flows")
out = program.sink(parquet("out", mode="replace"))

@program.batch(responsive=True)
def of_proto(proto: Proto = Proto.UDP):
    flows = files("a.json", format="json").as_(Flow)
    flows.filter(lambda f: (f.proto == proto) & (f.side == "client") & (f.proto != Proto.TCP)).map(lambda f: {
        "number": match_(f.proto, {Proto.TCP: 6, Proto.UDP: 17, "n/a": 0}),
        "read": fn.to_enum(f.text, Proto),
        "shown": f"is {f.proto}",
    }).to(out)
"""


class Proto(Enum):
    TCP = "tcp"
    UDP = "udp"


class Color(StrEnum):
    RED = "red"


class Flow(Record):
    proto: Proto
    side: Literal["client", "server"] | None
    by: dict[Color, int]


class Model(BaseModel):
    proto: Proto
    side: Literal["client", "server"] | None = None


def test_both_front_ends_give_the_same_program(tmp_path: Path) -> None:
    path = tmp_path / "flows.py"
    path.write_text(PYTHON, encoding="utf-8")
    text = print_program(load(path))
    assert 'enum Proto { tcp, udp, "n/a" }' in text
    assert lower(load(path)).units[0].parameters == lower(parse(Source("flows.istream", TEXT))).units[0].parameters
    assert lower(parse(Source("printed.istream", text))).sinks == lower(parse(Source("flows.istream", TEXT))).sinks


def test_canonical_text_keeps_what_is_no_name_in_quotes() -> None:
    text = print_program(parse(Source("a.istream", "program a\nenum E {\n  a\n  'if', \"b c\"\n}\n")))
    assert text == 'program a\n\nenum E { a, "if", "b c" }\n'
    assert print_program(parse(Source("b.istream", text))) == text


def test_a_record_and_back() -> None:
    struct = struct_of_class(Flow)
    side = Nullable(Enumeration(("client", "server")))
    assert [field.type for field in struct.fields[:2]] == [Enumeration(("tcp", "udp")), side]
    for other in (json_schema_of(Flow), dataclass_of(Flow), pydantic_of(Flow), pydantic_of(Flow).model_json_schema()):
        assert struct_of_class(record_of(other)) == struct
    schema: Any = arrow_schema_of(Flow)
    assert [str(each.type) for each in schema][:2] == ["string", "string"]
    assert struct_of_class(record_of(Model)).fields[0].type == Enumeration(("tcp", "udp"))


def test_an_enum_of_numbers_is_refused() -> None:
    class Number(IntEnum):
        ONE = 1

    class Counted(BaseModel):
        number: Number

    with pytest.raises(ProgramError, match="no record can be made"):
        record_of(Counted)
