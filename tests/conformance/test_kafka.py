"""Programs over topics: what comes from Kafka, message by message, is what comes from the same lines of files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.formats.messages import Message
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.files import FilesSource
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.runtime.sources.source import Source as Reading
from ghcm.spg.connectors import Files, Format, Kafka, Memory
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source
from ghcm.spg.reference import run
from ghcm.types import Struct
from ghcm.values import encode
from ghcm.verification.compare import differences, letters
from tests.conformance.text_programs import FORMS, program_of
from tests.kafka_server import kafka, new_topic
from tests.unit.runtime.formats.decoding import drain_batches
from tests.unit.runtime.operators.harness import run_unit

pytestmark = pytest.mark.system
JSON = Format("json")


def outside(program: Program) -> dict[str, tuple[Struct, tuple[Row, ...]]]:
    """The rows that stand in the program, by the source that has them."""
    return {
        task.id: (task.schema, task.op.connector.rows)
        for task in program.unit("u").tasks
        if isinstance(task.op, Source) and isinstance(task.op.connector, Memory)
    }


@pytest.mark.parametrize(
    "name", ["changes", "completion", "intervals", "joins", "shared_windows", "sliding", "window_top"]
)
def test_programs_give_the_same_from_topics_and_from_files(name: str, tmp_path: Path) -> None:
    program = program_of(name)
    unit = program.unit("u")
    ways: dict[str, dict[str, list[Batch]]] = {"files": {}, "kafka": {}}
    for number, (id, (schema, rows)) in enumerate(outside(program).items()):
        lines = [encode(row, schema).encode() for row in rows]
        (tmp_path / f"{number}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        topic = Kafka(new_topic(lines), JSON, ends=True)
        sources: dict[str, Reading] = {
            "files": FilesSource(Files(f"{number}.jsonl", JSON), schema, id, tmp_path),
            "kafka": KafkaSource(topic, schema, id, kafka(), 30.0),
        }
        for way, source in sources.items():
            batches, dead = drain_batches(source)
            assert dead == []
            assert [row for batch in batches for row in batch.rows()] == list(rows)
            ways[way][id] = [batch for batch in batches if len(batch)]
    expected = run(program, "u")
    for inputs in ways.values():
        for form in FORMS:
            found = run_unit(program, unit, form, inputs=inputs)
            assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters)) == []
    assert expected.sinks or expected.instructions


@pytest.mark.parametrize("format_", [JSON, Format("csv", ";"), Format("text")], ids=lambda each: each.name)
def test_the_reference_reads_messages_as_the_engine_does(format_: Format) -> None:
    program = program_of("topics")
    tasks = program.unit("u").tasks
    (task,) = [each for each in tasks if isinstance(each.op, Source) and each.id.startswith(format_.name)]
    assert isinstance(task.op, Source)
    assert isinstance(task.op.connector, Kafka)
    lines = {
        "json": [b'{"n": 1, "the text": "a"}', b'{"n": 2}', b"junk", b'{"n": "x"}', b'{"the text": null, "n": 3}'],
        "csv": [b"1;a", b'2;"b;c"', b"x;a", b"3;", b"4"],
        "text": [b"a", b"\xff", b" b ", "ü".encode()],
    }[format_.name]
    topic = new_topic(lines)
    connector = replace(task.op.connector, topic=topic, start="earliest", ends=True)
    batches, dead = drain_batches(KafkaSource(connector, task.schema, task.id, kafka(), 30.0))
    given = {each.id: {"": b""} for each in tasks if isinstance(each.op, Source)}
    expected = run(program, "u", inputs={**given, task.id: {f"{topic}/0": b"".join(line + b"\n" for line in lines)}})
    assert [row for batch in batches for row in batch.rows()] == expected.sinks[f"{format_.name}_out"]
    assert sorted(text for _, text in dead) == sorted(each.input for each in expected.dead)


SENT = {
    "by_key": [
        Message(b'{"page": "/"}', b"ann", 1_700_000_000_000, (("lang", b"de"), ("lang", b"en"))),
        Message(b'{"page": "/", "seconds": 3}', "\u00fc".encode(), 1_700_000_009_999),
        Message(b'{"page": "/"}', None, 1_700_000_010_000),
        Message(b'{"page": "/docs"}', b"\xff", 1_700_000_010_000),
        Message(b'{"page": "/docs"}', b"bob", 1_700_000_020_000, (("lang", b"\xff"),)),
        Message(b'{"page": "/docs"}', b"bob", 1_700_000_020_000, (("lang", b"de"),)),
        Message(b'{"page": "/late"}', b"bob", 1_700_000_000_000),
        Message(b"junk", b"bob", 1_700_000_020_000),
        Message(None, b"bob", 1_700_000_020_000),
    ],
    "newest/kafka": [
        Message(b'{"name": "ann"}', b"a"),
        Message(b'{"name": "bob"}', b"b"),
        Message(None, b"b"),
        Message(b"junk", b"a"),
        Message(b"{}", b"c"),
        Message(None),
    ],
    "changed/kafka": [
        Message(b'{"payload": {"op": "c", "before": null, "after": {"id": 1, "name": "ann"}}}'),
        Message(b'{"payload": {"op": "u", "after": {"id": 1, "name": "eve"}, "source": {"table": "t"}}}'),
        Message(b'{"payload": {"op": "d", "before": {"id": 1, "name": "eve"}, "after": null}}', b"1"),
        Message(None, b"1"),
        Message(b'{"payload": {"op": "t"}}'),
        Message(b'{"payload": {"op": "d"}}'),
        Message(b'{"op": "c", "after": {"id": 1, "name": "not there"}}'),
        Message(b'{"payload": {"op": "c", "after": {"id": 1}}}'),
    ],
    "whole": [Message(b"/", b"\xff", -1, (("a", None), ("a", b"\xff"))), Message(b"/", None), Message(b"/,/")],
}
"""Messages by the beginning of the names of the tasks that read them."""


def test_fields_of_messages_are_those_of_the_reference() -> None:
    program = program_of("message_fields")
    unit = program.unit("u")
    given: dict[str, dict[str, list[Message]]] = {}
    inputs: dict[str, list[Batch]] = {}
    unread: list[tuple[str, str, str]] = []
    for task in unit.tasks:
        if isinstance(task.op, Source):
            assert isinstance(task.op.connector, Kafka)
            messages = SENT[task.id]
            topic = new_topic([], messages)
            source = KafkaSource(
                replace(task.op.connector, topic=topic, ends=True), task.schema, task.id, kafka(), 30.0
            )
            batches, dead = drain_batches(source)
            inputs[task.id] = [batch for batch in batches if len(batch)]
            unread += [(task.id, "bad_record", text) for _, text in dead]
            given[task.id] = {f"{topic}/1": messages}
    expected = run(program, "u", inputs=given)
    for form in FORMS:
        found = run_unit(program, unit, form, inputs=inputs)
        assert differences(program, expected, sinks=found.sinks, dead=[*letters(found.letters), *unread]) == []
    assert len(expected.sinks["visits"]) == 4
    assert expected.sinks["named"] == [("a", ("a", "ann", False)), ("c", ("c", None, False))]
    assert expected.sinks["rows"] == [(1, "ann", "c", None), (1, "eve", "u", "t"), (1, "eve", "d", None)]
    assert sorted(letter.reason.value for letter in expected.dead if letter.task.startswith("changed")) == [
        "bad_cast",
        "bad_record",
        "bad_record",
    ]
