"""Topics as sinks of Spark jobs: the messages of the native engine, and none where a call cannot be done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.fence import Fence, Lease, awake, note_lease
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.conformance.spark_runs import run_on_spark
from tests.kafka_server import brokers, kafka, messages, new_topic
from tests.redis_server import connected

pytestmark = [pytest.mark.slow, pytest.mark.system]

TEXT = """program sent

enum Side { left, right }
record Pair { a: string?, n: int }
record One { x: int }
record Two { n: int, t: string? }
union Part by kind { One, Two }
record Tag { name: string, value: bytes? }
record R {
  s: string?, t: string, n: int, small: int32?, x: float?, ok: bool, at: timestamp?, day: date, took: duration
  exact: decimal(12, 3)?, raw: bytes, side: Side, tags: list<string?>, by: map<string, int>, pair: Pair?
  said: map<string, string>, all: list<Tag>?
}

sink whole  = kafka("WHOLE", key = r => r.s, delivery = at_least_once)
sink floats = kafka("FLOATS", key = r => (r.s, r.x, r.at), delivery = at_least_once)
sink cells  = kafka("CELLS", format = csv, key = r => (r.t, r.day, r.exact, r.side), delivery = at_least_once)
sink single = kafka("SINGLE", format = csv, key = r => r.s, delivery = at_least_once)
sink slow   = kafka("SLOW", format = csv, key = r => r.took, delivery = at_least_once)
sink lines  = kafka("LINES", format = text, delivery = at_least_once)
sink lists  = kafka("LISTS", key = r => r.pair, delivery = at_least_once)
sink parts  = kafka("PARTS", key = p => p.kind, delivery = at_least_once)
sink mapped = kafka("MAPPED", key = r => r.n, headers = r => r.said, delivery = at_least_once)
sink named  = kafka("NAMED", format = csv, headers = r => r.all, delivery = at_least_once)

KIND u {
  rows = files("in.jsonl").as(R)
  rows.map(r => { s: r.s, t: r.t, n: r.n, small: r.small, ok: r.ok, at: r.at, day: r.day, exact: r.exact, raw: r.raw,
                  side: r.side, tags: r.tags, by: r.by, pair: r.pair }).to(whole)
  rows.map(r => { s: r.s, x: r.x, took: r.took, at: r.at, by: r.by }).to(floats)
  rows.map(r => { t: r.t, s: r.s, n: r.n, ok: r.ok, at: r.at, day: r.day, exact: r.exact, raw: r.raw, side: r.side,
                  tags: r.tags, pair: r.pair }).to(cells)
  rows.map(r => { s: r.s }).to(single)
  rows.map(r => { took: r.took, x: r.x, t: r.t }).to(slow)
  rows.map(r => r.t).to(lines)
  rows.map(r => { pair: r.pair, tags: r.tags }).to(lists)
  files("parts.jsonl").as(Part).to(parts)
  rows.map(r => { n: r.n, said: r.said }).to(mapped)
  rows.map(r => { x: r.x, all: r.all }).to(named)
}
"""
TOPICS = ("WHOLE", "FLOATS", "CELLS", "SINGLE", "SLOW", "LINES", "LISTS", "PARTS", "MAPPED", "NAMED")
TEXTS = [
    "",
    "a",
    " b ",
    "ü😀",
    'q"t',
    "a,b",
    "a\rb",
    "two\nlines",
    "\x00\x01\x1f\x0b\x7f",
    "\\u001F",
    "\\\x1f\x1e\\",
    "\u2028",
]


def given(folder: Path) -> Path:
    """A folder with what the program reads."""
    folder.mkdir()
    rows = [
        {
            **{"s": text if number % 4 else None, "t": text, "n": number % 5, "small": number if number % 3 else None},
            **{"x": [1e16, -0.0, None, 0.1][number % 4], "ok": number % 2 == 0, "took": number / 8},
            **{"at": f"2026-01-02T03:04:{number:02}.5Z" if number % 3 else None, "day": "2026-02-03"},
            **{"exact": f"{number}.5" if number % 3 else None, "raw": "AAEC", "side": ["left", "right"][number % 2]},
            **{"tags": [text, None], "by": {text: number}, "pair": {"a": text, "n": number} if number % 2 else None},
            **{"said": {"a": text}, "all": [{"name": "a", "value": "AAEC"}, {"name": "a"}] if number % 2 else None},
        }
        for number, text in enumerate(TEXTS)
    ]
    parts = [{"kind": "One", "x": 1}, {"kind": "Two", "n": 2}, {"kind": "Two", "n": 3, "t": "\x1f"}]
    for name, each in (("in", rows), ("parts", parts)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in each))
    return folder


def program(kind: str) -> tuple[str, dict[str, str]]:
    """The text of the program as that kind of unit, and its topics by their sinks."""
    topics = {name: new_topic([], [], []) for name in TOPICS}
    text = TEXT.replace("KIND", kind)
    for name, topic in topics.items():
        text = text.replace(f'"{name}"', f'"{topic}"')
    return text, topics


def test_messages_are_those_of_the_native_engine(spark: SparkSession, tmp_path: Path) -> None:
    (text, native), (other, on_spark) = program("stream"), program("batch")
    folder = given(tmp_path / "native")
    connections = replace(connected(folder), kafka=kafka())
    Engine(Compiled(checked(text)), connections=connections, state=folder / "state").run()
    done = run_on_spark(spark, checked(other), "u", given(tmp_path / "spark"), kafka=kafka().said())
    here, there = (dict(zip(TOPICS, messages(*topics.values()), strict=True)) for topics in (native, on_spark))
    for name in TOPICS:
        assert there[name] == here[name]
        assert done.result["sinks"][name.lower()]["rows"] == len(here[name])
    assert len(here["WHOLE"]) == len(TEXTS)
    assert here["LINES"] == sorted(((None, None, each.encode(), None) for each in TEXTS), key=repr)
    assert [each[3] for each in here["NAMED"]].count([("a", b"\0\1\2"), ("a", None)]) == len(TEXTS) // 2


SIMPLE = """program simple

record R { n: int, t: string }

sink out  = kafka("TOPIC", delivery = at_least_once)
sink kept = parquet("kept")

batch u {
  rows = files("in.jsonl").as(R)
  rows.to(out)
  rows.filter(r => r.n > 1).named("more").to(out)
  rows.to(kept)
}
"""


LONG = Random(1).randbytes(20_000).hex()


def run(spark: SparkSession, folder: Path, topic: str, **more: Any) -> Mapping[str, Any]:
    """What comes of two records of which the second is long, and sent twice."""
    (folder / "in.jsonl").write_text(f'{{"n": 1, "t": ""}}\n{{"n": 2, "t": "{LONG}"}}\n')
    given = {"kafka": kafka().said(), "patience": 3.0, **more}
    return run_on_spark(spark, checked(SIMPLE.replace("TOPIC", topic)), "u", folder, **given).result


def refusal(spark: SparkSession, folder: Path, topic: str, **more: Any) -> Mapping[str, str]:
    """What a job refuses."""
    with pytest.raises(ValueError, match="GHCM-") as caught:
        run(spark, folder, topic, **more)
    found: Any = caught.value
    return dict(found.parts)


def test_nothing_is_sent_before_the_rest_is_done(spark: SparkSession, tmp_path: Path) -> None:
    topic = new_topic([])
    (tmp_path / "kept").write_text("a file")
    assert refusal(spark, tmp_path, topic, call="c1")["sink"] == "kept"
    assert messages(topic) == [[]]
    (tmp_path / "kept").unlink()
    for attempt in (1, 2):  # once more, as after a crash behind the sending
        assert run(spark, tmp_path, topic, call="c1")["sinks"]["out"] == {"version": "c1", "rows": 3}
        assert len(messages(topic)[0]) == 3 * attempt


def test_a_topic_that_brokers_make_is_made(spark: SparkSession, tmp_path: Path) -> None:
    topic = f"made-{tmp_path.name}-{new_topic([])}"
    run(spark, tmp_path, topic)
    assert [json.loads(value or b"")["n"] for _, _, value, _ in messages(topic)[0]] == [1, 2, 2]


def test_a_message_that_is_too_large_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    topic = f"small-{new_topic([])}"
    with brokers().admin() as admin:
        admin.create_topics({topic: {"num_partitions": 1, "configs": {"max.message.bytes": "20000"}}})
    found = refusal(spark, tmp_path, topic)
    assert found["message"] == f'Kafka at {kafka().bootstrap} takes no message as large as one for "{topic}"'
    assert (found["code"], found["sink"]) == ("GHCM-739", "out")
    assert found["detail"] == "It takes 20,000 bytes, and one has 40,014."
    assert found["hint"] == "raise max.message.bytes of the topic, or write smaller records."


@pytest.mark.parametrize(
    ("bootstrap", "said"), [("", "there is no Kafka"), ("127.0.0.1:1", "Kafka at 127.0.0.1:1 cannot be reached")]
)
def test_brokers_that_are_away_are_named(bootstrap: str, said: str, spark: SparkSession, tmp_path: Path) -> None:
    found = refusal(spark, tmp_path, "any", kafka={"bootstrap": bootstrap}, patience=1.0)
    assert (found["message"], found["sink"]) == (said, "out")
    assert not (tmp_path / "kept").exists()


def test_nothing_is_sent_for_a_program_that_another_daemon_has_taken_over(spark: SparkSession, tmp_path: Path) -> None:
    topic, fence = new_topic([]), Fence("simple", tmp_path)
    (tmp_path / "in.jsonl").write_text('{"n": 1, "t": ""}\n')
    program = checked(SIMPLE.replace("TOPIC", topic).replace("  rows.to(kept)\n", ""))
    note_lease(fence.file, Lease("the first", 1, awake() + 600))
    told: dict[str, Any] = {"kafka": kafka().said(), "patience": 3.0, "fence": fence}
    with pytest.raises(GhcmError, match="without its lease") as refused:
        run_on_spark(spark, program, "u", tmp_path, **told, progress=lambda *_: fence.file.unlink(missing_ok=True))
    assert refused.value.code == "GHCM-729"
    assert messages(topic) == [[]]
