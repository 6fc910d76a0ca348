"""Values in Avro: each message is one record or one dead letter, as the reference says, whatever stands beside it."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal as Exact
from io import BytesIO
from typing import Any

import fastavro
import pytest

from ghcm.formats.avro_schema import conversions, read_schema
from ghcm.formats.avro_values import record_reader
from ghcm.formats.messages import Message
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.messages import Block, Messages
from ghcm.spg.connectors import Format, Kafka
from ghcm.spg.reference.decoding import Bad
from ghcm.spg.reference.messages import records_of
from ghcm.types import (
    INT_MAX,
    Bool,
    Bytes,
    Date,
    Decimal,
    Enumeration,
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
)

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Visit",
    "namespace": "shop.web",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "then", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "n", "type": "long"},
        {"name": "small", "type": "int"},
        {"name": "share", "type": "double"},
        {"name": "ok", "type": "boolean"},
        {"name": "left", "type": ["int", "string", "null"]},
        {"name": "raw", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["get", "post"]}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {
            "name": "peers",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Peer",
                    "fields": [{"name": "host", "type": ["string", "null"]}, {"name": "kind", "type": "Kind"}],
                },
            },
        },
        {"name": "page", "type": "string"},
    ],
}
KIND = Enumeration(("get", "post", "put"))
PEER = Struct((Field("host", Nullable(String())), Field("kind", String())))
VISIT = Struct(
    (
        Field("page", String()),
        Field("time", Timestamp(), "at"),
        Field("then", Nullable(Timestamp())),
        Field("day", Nullable(Date())),
        Field("n", Int()),
        Field("small", Int32()),
        Field("share", Float()),
        Field("ok", Bool()),
        Field("raw", Bytes()),
        Field("price", Decimal(12, 2)),
        Field("kind", KIND),
        Field("tags", Map(String(), Nullable(String()))),
        Field("peers", List(PEER)),
        Field("missing", Nullable(Int())),
    )
)
PLAIN = fastavro.parse_schema(json.loads(json.dumps(SCHEMA).replace('"logicalType"', '"was"')))


def some_value(chance: random.Random) -> bytes:
    """A value as another program would write it; of times and numbers some that our types cannot hold."""
    peers = [{"host": chance.choice([None, "a"]), "kind": "get"} for _ in range(chance.randrange(3))]
    data = {
        "at": chance.choice([0, 1_700_000_000_123, 1_700_000_000_123, -5, 2**62 if chance.random() < 0.05 else 7]),
        "then": chance.choice([None, 5]),
        "day": chance.randrange(-1000, 30000),
        "n": chance.choice([2**63 - 1, -(2**63), 0]),
        "small": chance.choice([2**31 - 1, -(2**31), 3]),
        "share": chance.choice([0.1, float("inf"), -0.0]),
        "ok": chance.random() < 0.5,
        "left": chance.choice([1, "x", None]),
        "raw": chance.randbytes(4),
        "price": chance.choice([b"", b"\x00\xff", b"\xff", b"\x7f\xff\xff\xff" if chance.random() < 0.05 else b"\x01"]),
        "kind": chance.choice(["get", "post"]),
        "tags": {str(n): "ü" * n for n in range(chance.randrange(3))},
        "peers": peers,
        "page": "/" * chance.randrange(200),
    }
    stream = BytesIO()
    fastavro.schemaless_writer(stream, PLAIN, data)
    return stream.getvalue()


def spoilt(chance: random.Random, value: bytes) -> bytes | None:
    """A value that was cut, has more behind it, or is something else."""
    at = chance.randrange(len(value))
    return chance.choice(
        [value[:at], value + value, value + b"\0", b"", None, b"{}", b"\xff" * 12, value[:at] + b"\x81"]
    )


@pytest.mark.parametrize("schema_id", [None, 7])
@pytest.mark.parametrize("size", [1, 2, 700])
def test_values_are_those_of_the_reference(size: int, schema_id: int | None) -> None:
    connector = Kafka("t", Format("avro"), schema=json.dumps(SCHEMA), schema_id=schema_id, fields=(("offset", "o"),))
    element = Struct((Field("o", Int()), *VISIT.fields))
    head = b"" if schema_id is None else b"\0\0\0\0\x07"
    decoder, chance = Messages(connector, element), random.Random(size)
    for badness in (0.0, 0.01, 0.5) if size > 2 else (0.5,) * 200:
        values: list[bytes | None] = [head + some_value(chance) for _ in range(size)]
        for index in range(size):
            if chance.random() < badness:
                value = spoilt(chance, values[index] or b"")
                values[index] = chance.choice([value, b"\0\0\0\0\x08" + (value or b"")]) if head else value
        found = list(records_of([Message(value) for value in values], "t/0", connector, element))
        letters: list[tuple[Any, str, str]] = []
        block = Block(values, range(size), "t/0", "p", {"offset": range(size)})
        batch = decoder.decode(block, lambda *letter: letters.append(letter))  # noqa: B023
        assert list(batch.rows()) == [each for each in found if not isinstance(each, Bad)]
        assert Batch.from_frame(element, batch.frame()).rows() == batch.rows()
        assert sorted(text for *_, text in letters) == sorted(each.text for each in found if isinstance(each, Bad))


def test_values_are_read_alike_without_a_library() -> None:
    connector, chance = Kafka("t", Format("avro"), schema=json.dumps(SCHEMA)), random.Random(3)
    read = record_reader(json.dumps(SCHEMA), VISIT)
    failed = 0
    for _ in range(2000):
        value = some_value(chance)
        value = spoilt(chance, value) or b"" if chance.random() < 0.3 else value
        (expected,) = records_of([Message(value)], "t/0", connector, VISIT)
        try:
            assert read(value) == expected
        except ValueError:
            failed += 1
            assert isinstance(expected, Bad)
    assert 300 < failed < 900


def test_a_number_without_end_is_none() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
    read = record_reader(json.dumps(schema), Struct((Field("n", Int()),)))
    assert read(b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") == (INT_MAX // 2 + 1,)
    with pytest.raises(ValueError, match="more than 64 bits"):
        read(b"\x80" * 1_000_000)


def test_a_price_is_exact() -> None:
    connector = Kafka("t", Format("avro"), schema=json.dumps(SCHEMA))
    stream = BytesIO()
    record: dict[str, Any] = {
        "at": 1,
        "then": None,
        "day": 1,
        "n": 1,
        "small": 1,
        "share": 1.0,
        "ok": True,
        "left": None,
    }
    record |= {"raw": b"abcd", "price": b"\xff\x85", "kind": "post", "tags": {}, "peers": [], "page": "/"}
    fastavro.schemaless_writer(stream, PLAIN, record)
    schema = Struct((Field("price", Decimal(9, 2)), Field("kind", KIND), Field("time", Timestamp(), "at")))
    batch = Messages(connector, schema).decode(Block([stream.getvalue()], [0], "t/0", "p"), lambda *_: None)
    assert list(batch.rows()) == [(Exact("-1.23"), "post", 1000)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is no JSON"),
        ('"int"', "it describes int, and messages are records"),
        ('{"type": "record", "name": "A"}', "it is no schema of Avro: KeyError('fields')"),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "B"}]}', 'it has no type "B"'),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["null", "A"]}]}', '"A" contains itself'),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}',
            "take no bytes",
        ),
    ],
)
def test_what_is_no_schema_of_messages_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_schema(text)


@pytest.mark.parametrize(
    ("name", "type_", "said"),
    [
        ("n", String(), 'field "n" is "string", and the schema has long'),
        ("small", Float(), 'field "small" is "float", and the schema has int'),
        ("then", Timestamp(), 'field "then" is "timestamp", and the schema lets it be null'),
        ("at", Int(), 'field "at" is "int", and the schema has long (timestamp-millis)'),
        ("left", Nullable(String()), 'field "left" is "string?", and the schema has a union of int, string, null'),
        ("price", Decimal(8, 2), 'field "price" is "decimal(8, 2)", and the schema has bytes (decimal)'),
        ("price", Decimal(9, 3), 'field "price" is "decimal(9, 3)", and the schema has bytes (decimal)'),
        ("kind", Enumeration(("get",)), 'field "kind" is "enum {get}", and the schema has enum'),
        (
            "peers",
            List(Struct((Field("host", String()),))),
            'is a record whose field "host" is "string", and the schema',
        ),
        ("nobody", Int(), 'field "nobody" is not in the schema, which has "at", "then"'),
    ],
)
def test_fields_that_a_schema_does_not_give_are_told(name: str, type_: Type, said: str) -> None:
    schema = read_schema(json.dumps(SCHEMA))
    (problem,) = conversions(schema, Struct((Field(name, type_),)))
    assert isinstance(problem, str)
    assert said in problem
