"""Messages on Spark, in each format and with what they have besides their values: the records and dead letters of the
native engine, word by word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from fastavro import parse_schema, schemaless_writer
from pyspark.sql import SparkSession

from ghcm import driver as compiler
from ghcm.formats.messages import Message
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.spg.connectors import Connector, Kafka
from ghcm.spg.ops import Source
from tests.conformance.spark_runs import run_on_spark
from tests.conformance.spark_sinks import read_sink
from tests.conformance.test_spark_topics import reading
from tests.conformance.text_programs import PROGRAMS
from tests.kafka_server import kafka, new_topic
from tests.unit.runtime.formats.decoding import drain

pytestmark = [pytest.mark.slow, pytest.mark.system]

SCHEMA = parse_schema(json.loads((PROGRAMS / "visit.avsc").read_text().replace('"logicalType"', '"was"')))


def visit(at: int, price: bytes | None, tags: dict[str, int], *peers: tuple[str | None, int], id: int = 7) -> bytes:
    """A value in Avro behind the header of a registry."""
    stream = BytesIO(bytes([0, 0, 0, 0, id]))
    stream.seek(5)
    listed = [{"host": host, "port": port} for host, port in peers]
    schemaless_writer(stream, SCHEMA, {"at": at, "page": "/ü", "price": price, "tags": tags, "peers": listed})
    return stream.getvalue()


NO_VALUE: tuple[str, bytes | None] = ("b", None)
SENT: Mapping[str, tuple[Sequence[Message | bytes | None], Sequence[Message | bytes | None]]] = {
    "json": (
        [b'{"n": 1, "the text": "a"}', b'{"n": 2}', b"junk", b'{"n": "x"}', None, b'{"the text":\n null,\n "n": 3}\n'],
        [b"", b" \n", b'{"n": 4} {"n": 5}', b'{"n": 6}\n{"n": 7}', b'{"n": 8, "the text": "\xff"}', b'\t{"n": 9}\r\n'],
    ),
    "csv": (
        [b"1;a", b'2;"b;c"', b"x;a", b"3;", b"4", None, b"5;e\n", b'6;"f\ng"'],
        [b"", b"\n", b"7;g\n8;h", b"9;\xff", b'10;"open', b" ", b"11;k\n\n", "12;ü".encode()],
    ),
    "text": ([b"a", b"\xff", b" b ", None, b"", b"two\nlines\n"], ["ü".encode(), b"x\x00y"]),
    "carts": (
        [
            Message(b'{"n": 1}', b"ann", 1_700_000_000_001, (("a", b"1"), ("b", "ü".encode()), ("a", b""))),
            Message(b'{"n": 2, "user": "not she"}', "ü".encode(), 0),
            Message(b'{"n": 3}', b""),
            Message(b'{"n": 4}'),
            Message(b"junk"),
        ],
        [
            Message(b'{"n": 5}', b"\xff", headers=(NO_VALUE,)),
            Message(b"junk", b"k", headers=(("a", b"\xff"), NO_VALUE)),
            Message(None, b"k", headers=(NO_VALUE, ("a", b"\xff"))),
            Message(None, b"k"),
            Message(b"junk", b"k"),
            Message(b"\xff", b"k"),
        ],
    ),
    "cells": (
        [
            Message(b"1,a", b"\xff", headers=(("a", b"\xff"), NO_VALUE, ("a", b""))),
            Message(b"2,", None),
            Message(b"a,3", b"k"),
        ],
        [b'4,"b\nc"', b"5,b\n6,c", Message(None, b"k"), b""],
    ),
    "bodies": (
        [Message(b"a", b"k", 1, (NO_VALUE, ("a", b"1"))), b"", None, b"\xff"],
        [Message("ü\n".encode(), headers=(("a", b"\xff"),)), Message(b"b", headers=(("b", b"1"), NO_VALUE))],
    ),
    "visits": (
        [
            Message(visit(-1, None, {}), b"\xff"),
            visit(2**50, b"\xff\x85", {"a": 1, "b": -(2**62)}, ("h", 2**31 - 1), (None, -1)),
            visit(2**62, None, {}),
            visit(0, b"\x7f\xff\xff\xff", {}),
        ],
        [visit(0, None, {}) + b"\0", visit(1, b"", {})[:-1], visit(1, b"", {}, id=8), b"{}", b"", None],
    ),
    "bytes": ([b"\xff\x00", None, b""], []),
    "named": (
        [Message(b'{"name": "ann"}', b"a"), Message(None, b"a"), Message(b"{}", b"c"), Message(b"", b"d")],
        [Message(None), Message(b'{"name": 1}', b"e")],
    ),
}
"""What is sent to the topic of each source, by partition."""


def test_messages_are_read_as_the_native_engine_does(spark: SparkSession, tmp_path: Path) -> None:
    program = compiler.check(PROGRAMS / "topics_bounded.istream")
    topics, native = dict[str, Connector](), dict[str, list[Row]]()
    letters: list[tuple[str, str, str]] = []
    for task in program.unit("u").tasks:
        if isinstance(task.op, Source) and isinstance(task.op.connector, Kafka):
            topic = new_topic(*SENT[task.id])
            at = {"pattern": topic[:-1] + "."} if task.op.connector.pattern else {"topic": topic}
            connector = topics[task.id] = replace(task.op.connector, **at)  # type: ignore[arg-type]
            native[f"{task.id}_out"], dead = drain(KafkaSource(connector, task.schema, task.id, kafka(), 30.0))
            letters += [(task.id, detail, text) for detail, text in dead]
    assert topics.keys() == SENT.keys()
    run_on_spark(spark, reading(program, topics), "u", tmp_path, kafka=kafka().said())
    for name, rows in native.items():
        assert sorted(map(repr, read_sink(tmp_path, program.sink(name)))) == sorted(map(repr, rows))
    assert read_sink(tmp_path, program.sink("counts")) == [len(native["json_out"])]
    written = [json.loads(line) for path in tmp_path.glob("dead-*/part-*") for line in path.read_text().splitlines()]
    found = [(each["task"], each["detail"], each["input"]) for each in written]
    assert sorted(map(without_library, found)) == sorted(map(without_library, letters))
    assert Counter(task for task, _, _ in letters) == {
        "json": 8,
        "csv": 9,
        "text": 2,
        "carts": 8,
        "cells": 4,
        "bodies": 3,
        "visits": 8,
        "named": 3,
    }


def without_library(letter: tuple[str, str, str]) -> tuple[str, str, str]:
    """The letter without what a library of Avro has to say."""
    task, detail, text = letter
    return task, re.sub("(no Avro of the schema).*", r"\1", detail), text
