"""The SPG as JSON: it comes back whole, and a damaged file is refused with the place of the damage."""

import json
from pathlib import Path

import pytest

from ghcm.expr import Call, Get, Lambda, Literal, Var
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Memory, Mode, Parquet
from ghcm.spg.graph import Forward, Input, Program, Sink, Task, Unit
from ghcm.spg.json import from_json, to_json
from ghcm.spg.ops import Filter, Source, To
from ghcm.types import Bool, Collection, Field, Int, Nullable, Shape, String, Struct

FLOW = Struct((Field("bytes", Int(), "n.bytes"), Field("label", Nullable(String()))), "Flow")
BOUNDED = Collection(Shape.STREAM, FLOW, bounded=True)


def _program() -> Program:
    flow = Var("f", FLOW)
    busy = Lambda((flow,), Call("gt", (Get(flow, "bytes", Int()), Literal(0, Int())), Bool()))
    tasks = (
        Task("flows", Source(Files("*.json", Format("json"))), (), BOUNDED, Origin("a.istream", 1, 2)),
        Task("busy", Filter(busy), (Input("flows", Forward()),), BOUNDED, Origin("a.istream", 2, 2), named=True),
        Task("busy.to.lake", To("lake"), (Input("busy", Forward()),), BOUNDED, Origin("a.istream", 3, 2)),
        Task("written", Source(Memory(((1, "é"), (2, None)))), (), BOUNDED, Origin("a.istream", 4, 2)),
    )
    unit = Unit("live", "stream", False, (), None, tasks, Origin("a.istream", 1, 1))
    sink = Sink("lake", Parquet("lake/x"), Mode.APPEND, None, FLOW, Origin("a.istream", 9, 1))
    return Program("p", (), (sink,), (unit,))


def test_it_comes_back_with_places_and_names() -> None:
    program = _program()
    data = json.loads(json.dumps(to_json(program)))
    back = from_json(data)
    assert back == program
    assert to_json(back) == data
    assert back.units[0].tasks[1].origin == Origin("a.istream", 2, 2)
    element = back.units[0].tasks[0].collection.element
    assert isinstance(element, Struct) and element.name == "Flow" and element.fields[0].path == "n.bytes"


def test_damage_is_told_with_its_place() -> None:
    data = json.loads(json.dumps(to_json(_program())))
    data["units"][0]["tasks"][1]["op"]["is"] = "Explode"
    with pytest.raises(ValueError, match=r'units\.0\.tasks\.1\.op: "Explode" is none of Source'):
        from_json(data)
    data = json.loads(json.dumps(to_json(_program())))
    del data["sinks"][0]["element"]
    with pytest.raises(ValueError, match='a Sink needs "element"'):
        from_json(data)
    with pytest.raises(ValueError, match="version 99"):
        from_json({**data, "spg": 99})


def test_no_other_class_can_be_named(tmp_path: Path) -> None:
    data = json.loads(json.dumps(to_json(_program())))
    data["units"][0]["tasks"][0]["op"] = {"is": "Path", "args": [str(tmp_path)]}
    with pytest.raises(ValueError):
        from_json(data)
