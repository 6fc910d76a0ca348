"""Topics of a real Kafka as sources: where reading begins and goes on, partitions that come, messages and brokers that
go, and processes that are killed.
"""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.cimpl import NewPartitions

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub import services
from ghcm.runtime.pubsub.kafka_connection import Kafka as Settings
from ghcm.runtime.sources.kafka import reading
from ghcm.runtime.sources.kafka.source import KafkaSource
from ghcm.spg.connectors import Format, Kafka
from ghcm.types import Field, Int, Struct
from tests.campaigns import times
from tests.conftest import Golden
from tests.kafka_server import as_user, client, kafka, new_topic, quiet, send
from tests.system.kafka_runs import KafkaRun, admin
from tests.system.killed import killed
from tests.system.mistakes import GOLDEN, Try
from tests.system.running import clean_environment
from tests.system.test_kafka_cache import USERS, broker
from tests.unit.runtime.formats.decoding import drain_batches
from tests.unit.runtime.small_operators import dead_letters

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]
ROW = Struct((Field("n", Int()),))
JSON = Format("json")


def lines(*numbers: int) -> list[bytes]:
    return [b'{"n": %d}' % number for number in numbers]


def drained(topic: str, position: object = None, **options: Any) -> list[int]:
    """What a source reads up to the end of the topic."""
    connector = Kafka(topic, JSON, ends=True, **options)
    batches, dead = drain_batches(KafkaSource(connector, ROW, "p", kafka(), 30.0), position)
    assert dead == []
    return sorted(cast("int", n) for batch in batches for (n,) in batch.rows())


def program(topic: str, options: str = "", more: str = "") -> str:
    return f"""program kafka
record R {{ n: int }}
sink out = files("out", mode = append)
stream u {{
  r = kafka("{topic}", format = json{options}).as(R)
  r.to(out)
{more}}}
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LOOK_S", 0.1)


# --- where reading begins and goes on --------------------------------------------------------------------------------


def test_reading_begins_at_the_beginning_or_at_a_time() -> None:
    topic = new_topic([], [])
    producer = Producer(client(enable_idempotence=True))
    for number, ms in enumerate([1000, 2000, 2000, 3000, 1500]):
        producer.produce(topic, lines(number)[0], partition=number % 2, timestamp=1_700_000_000_000 + ms)
    assert producer.flush(30) == 0
    assert drained(topic) == [0, 1, 2, 3, 4]
    since = 1_700_000_000_000_000
    assert drained(topic, start_us=since + 2_000_000) == [1, 2, 3, 4]  # 4 lies behind 2 in its partition
    assert drained(topic, start_us=since + 2_500_000) == [3]
    assert drained(topic, start_us=since + 3_500_000) == []


def test_a_topic_without_messages_ends_at_once() -> None:
    assert drained(new_topic([], [], [])) == []


def test_marks_of_transactions_are_no_messages_and_what_is_aborted_never_comes() -> None:
    topic = new_topic([])
    producer = Producer(client(transactional_id=uuid.uuid4().hex))
    producer.init_transactions(30)
    for number, committed in enumerate([True, False, True, False]):
        producer.begin_transaction()
        for each in lines(2 * number, 2 * number + 1):
            producer.produce(topic, each)
        producer.commit_transaction(30) if committed else producer.abort_transaction(30)
    assert drained(topic) == [0, 1, 4, 5]


def test_a_source_goes_on_behind_a_position() -> None:
    topic = new_topic(lines(*range(100)), lines(*range(100, 200)))
    assert drained(topic, [[topic, 0, 98, 100], [topic, 1, 100, 100]]) == [98, 99]
    assert drained(topic, [[topic, 0, 100, 100], [topic, 1, 100, 100]]) == []


def test_reading_begins_at_offsets() -> None:
    topic = new_topic(lines(0, 1, 2), lines(3, 4), lines(5))
    assert drained(topic, offsets=((0, 2), (1, 2))) == [2, 5]
    for offsets, said in [
        (((0, 4),), f'topic "{topic}", partition 0, has not come to offset 4, where reading is to begin'),
        (((3, 0),), f'topic "{topic}" has no partition 3, where reading is to begin'),
    ]:
        with pytest.raises(GhcmError) as told:
            drained(topic, offsets=offsets)
        assert said in str(told.value)
        assert drained(topic, offsets=offsets, lost="earliest") == [0, 1, 2, 3, 4, 5]


def test_what_comes_while_nobody_reads_is_read_later(tmp_path: Path) -> None:
    topic = new_topic(lines(1, 2))
    text = program(topic, ", start = latest")
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.until(lambda: run.engine.commits > 0)  # where it begins is in a snapshot, though nothing has come
    send(topic, lines(3))
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.until(lambda: run.rows("out") == [(3,)])
        send(topic, lines(4))
        run.until(lambda: run.rows("out") == [(3,), (4,)])


def test_poisoned_messages_are_dead_letters_with_their_offset(tmp_path: Path) -> None:
    topic = new_topic([*lines(1), b"junk\n", None, *lines(2)], [b"{}", *lines(3)])
    with KafkaRun(tmp_path, program(topic, ", until = latest"), kafka()) as run:
        run.engine.wait()
        run.engine.check()
        assert run.rows("out") == [(1,), (2,), (3,)]
        dead = dead_letters(tmp_path, run.program, "u")
        letters = sorted((each.detail.split(": ")[0], each.input) for each in dead)
    assert letters == [(f"{topic}/0:1", "junk\n"), (f"{topic}/0:2", ""), (f"{topic}/1:0", "{}")]


# --- partitions ------------------------------------------------------------------------------------------------------

WINDOWS = """program windows
record R { n: int, at: int }
sink out = files("out", mode = append)
sink seen = files("seen", mode = append)
stream u {
  r = kafka("TOPIC").as(R)
  r.to(seen)
  r.event_time(r => from_micros(r.at * 1000000), disorder = 0s IDLE)
    .map_to_pair(r => (0, r.n)).window(tumbling(10s)).reduce_by_key((a, b) => a + b).map(p => p.value).to(out)
}
"""


def timed(*records: tuple[int, int]) -> list[bytes]:
    return [json.dumps({"n": n, "at": at}).encode() for n, at in records]


def test_each_partition_has_its_own_event_time(tmp_path: Path) -> None:
    topic = new_topic(timed((1, 5), (2, 25)), timed((4, 95)))
    with KafkaRun(tmp_path, WINDOWS.replace("TOPIC", topic).replace("IDLE", ""), kafka()) as run:
        run.until(lambda: len(run.rows("seen")) == 3)
        send(topic, timed((8, 26)))  # nothing is late because the other partition is ahead
        run.until(lambda: run.rows("out") == [(1,)])
        send(topic, timed((16, 31)))
        run.until(lambda: run.rows("out") == [(1,), (10,)])


def test_a_partition_of_which_nothing_comes_is_not_waited_for(tmp_path: Path) -> None:
    topic = new_topic(timed((1, 5), (2, 25)), [])
    with KafkaRun(tmp_path, WINDOWS.replace("TOPIC", topic).replace("IDLE", ", idle = 200ms"), kafka()) as run:
        # While all are silent nobody goes on, so that one has to speak.
        while run.rows("out") != [(1,)]:
            run.engine.check()
            send(topic, timed((0, 26)))


def test_partitions_that_come_later_are_read_from_their_beginning(tmp_path: Path) -> None:
    topic = new_topic(timed((1, 5), (2, 25)))
    text = WINDOWS.replace("TOPIC", topic).replace("IDLE", "").replace(f'"{topic}"', f'"{topic}", start = earliest')
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.until(lambda: run.rows("out") == [(1,)])
        admin().create_partitions([NewPartitions(topic, 2)])[topic].result(30)
        run.until(lambda: _sent(topic, [], timed((4, 7), (8, 27))))
        run.until(lambda: len(run.rows("seen")) == 4)
    with KafkaRun(tmp_path, text, kafka()) as run:
        send(topic, timed((16, 35)), timed((32, 36)))
        # The window of 4 had closed, so that it is late, and the windows that are open wait for both partitions.
        run.until(lambda: run.rows("out") == [(1,), (10,)])
        late = [each.input for each in dead_letters(tmp_path, run.program, "u")]
    assert len(late) == 1
    assert "4" in late[0]


def test_topics_that_match_a_pattern_are_read_whenever_they_come(tmp_path: Path) -> None:
    name = uuid.uuid4().hex
    new_topic(lines(1), lines(2), name=f"{name}.a")
    new_topic(lines(100), name=f"x{name}.a")
    new_topic(lines(101), name=f"{name}.A")
    text = program("").replace('kafka(""', f'kafka(pattern = "{name}[.][a-z]+"')
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.until(lambda: run.rows("out") == [(1,), (2,)])
        new_topic(lines(3), name=f"{name}.b")
        run.until(lambda: run.rows("out") == [(1,), (2,), (3,)])
    send(f"{name}.a", lines(4))
    new_topic(lines(5), name=f"{name}.c")
    with KafkaRun(tmp_path, text, kafka()) as run:
        run.until(lambda: run.rows("out") == [(1,), (2,), (3,), (4,), (5,)])
        send(f"{name}.b", lines(6))
        run.until(lambda: len(run.rows("out")) == 6)
    admin().delete_topics([f"{name}.b"])[f"{name}.b"].result(30)
    assert f'topic "{name}.b" no longer has partitions 0' in str(fails(KafkaRun(tmp_path, text, kafka())))
    forgiving = text.replace(", format", ", lost = earliest, format")
    with KafkaRun(tmp_path, forgiving, kafka()) as run:
        run.until(lambda: run.engine.commits > 0)
        new_topic(lines(7), name=f"{name}.b")  # it is new, wherever the one before had been read to
        run.until(lambda: len(run.rows("out")) == 7)


def test_a_pattern_that_matches_nothing_is_told() -> None:
    source = KafkaSource(Kafka("", JSON, pattern="nobody-[a-z]+", ends=True), ROW, "p", kafka(), 30.0)
    with pytest.raises(GhcmError, match=r'no topic in Kafka at .* matches "nobody-\[a-z\]\+"'):
        drain_batches(source)


def _sent(topic: str, *partitions: list[bytes]) -> bool:
    send(topic, *partitions)
    return True


# --- what is gone, or refused ----------------------------------------------------------------------------------------


def fails(run: KafkaRun) -> GhcmError:
    """Why the unit fails."""
    with run, pytest.raises(GhcmError) as told:
        run.engine.wait(60)
        run.engine.check()
    return told.value


def test_messages_that_are_gone_are_never_passed_over_in_silence(tmp_path: Path) -> None:
    topic = new_topic(lines(1, 2, 3))
    with KafkaRun(tmp_path, program(topic), kafka()) as run:
        run.until(lambda: len(run.rows("out")) == 3)
    send(topic, lines(4, 5, 6))
    admin().delete_records([TopicPartition(topic, 0, 5)])[TopicPartition(topic, 0)].result(30)
    error = fails(KafkaRun(tmp_path, program(topic), kafka()))
    assert error.code == "GHCM-742"
    assert f'the messages of topic "{topic}", partition 0, from offset 3 on are gone' in str(error)
    assert "It holds offsets 5 to 6. They were older than the topic keeps them." in str(error)
    with KafkaRun(tmp_path, program(topic, ", lost = earliest"), kafka()) as run:
        run.until(lambda: run.rows("out") == [(1,), (2,), (3,), (6,)])


def test_a_topic_that_was_made_anew_is_noticed(tmp_path: Path) -> None:
    topic = new_topic(lines(1, 2, 3), lines(4))
    with KafkaRun(tmp_path, program(topic), kafka()) as run:
        run.until(lambda: len(run.rows("out")) == 4)
    admin().delete_topics([topic])[topic].result(30)
    assert "there is no topic" in str(fails(KafkaRun(tmp_path, program(topic), kafka())))
    new_topic(lines(7), name=topic)
    error = fails(KafkaRun(tmp_path, program(topic), kafka()))
    assert f'topic "{topic}" no longer has partitions 1' in str(error)
    with KafkaRun(tmp_path, program(topic, ", lost = earliest"), kafka()) as run:
        run.until(lambda: run.rows("out") == [(1,), (2,), (3,), (4,), (7,)])


@pytest.mark.parametrize(
    ("settings", "said", "hint"),
    [
        (kafka, 'there is no topic "nobody-made-it"', "kafka-topics.sh --create --topic nobody-made-it"),
        (Settings, "there is no Kafka", "ghcm services up"),
        (lambda: Settings(bootstrap="127.0.0.1:1"), "Kafka at 127.0.0.1:1 cannot be reached", "ghcm services up"),
        (lambda: Settings(bootstrap="nobody.invalid:1"), "Kafka at nobody.invalid:1 cannot be reached", "GHCM_KAFKA"),
        (lambda: Settings(bootstrap=kafka().bootstrap, security_protocol="SSL"), "by TLS", "security_protocol"),
    ],
    ids=["topic", "none", "away", "name", "tls"],
)
def test_what_cannot_be_reached_is_said(settings: Callable[[], Settings], said: str, hint: str, tmp_path: Path) -> None:
    error = fails(KafkaRun(tmp_path, program("nobody-made-it"), settings(), patience=3.0))
    assert said in str(error)
    assert hint in str(error)


def test_a_user_who_is_refused_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden, request: pytest.FixtureRequest
) -> None:
    with broker(tmp_path / "s", monkeypatch, USERS) as operator:
        send("k", lines(1), settings=operator)
        wrong, me = (as_user(operator, "me", password) for password in ("bad-one", "my-secret"))
        for name, settings in (("kafka_wrong_password", wrong), ("kafka_no_rights", me)):
            attempt = Try(tmp_path / name, request.getfixturevalue, {operator.bootstrap: "127.0.0.1:9092"})
            said = attempt.read('kafka("k")', kafka=settings)
            assert "bad-one" not in said and "my-secret" not in said
            golden(GOLDEN / f"{name}.txt", f"{said}\n")
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "in").write_text('{"n": 1}\n')
        writing = (
            program("k")
            .replace("kafka(", "files(")
            .replace('"k"', '"in"')
            .replace('files("out", mode = append)', 'kafka("k")')
        )
        assert 'does not allow the use of "k"' in str(fails(KafkaRun(tmp_path / "c", writing, me)))


# --- brokers and processes that die ----------------------------------------------------------------------------------


def test_a_broker_that_dies_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, total = tmp_path / "s", times(3)
    with broker(folder, monkeypatch) as settings:
        send("k", lines(0), settings=settings)
        with KafkaRun(tmp_path, program("k"), settings, patience=2.0) as run:
            for number in range(1, total):
                run.until(lambda: len(run.rows("out")) == number)  # noqa: B023    called at once
                process = psutil.Process(services.services(folder)[0]["pid"])
                process.kill()
                process.wait()
                services.start_services(folder, quiet)
                send("k", lines(number), settings=settings)
            run.until(lambda: len(run.rows("out")) == total)
            assert run.rows("out") == [(number,) for number in range(total)]


def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance, numbers = random.Random(3), range(120_000)
    topic = new_topic(*(lines(*numbers[start::3]) for start in range(3)))
    written = tmp_path / "p.istream"
    written.write_text(program(topic, ", until = latest"))
    environment = clean_environment(**kafka().variables())
    kills = 0
    for after_s in (*(chance.uniform(0.01, 0.1) for _ in range(6)), 0):
        if not killed("tests.system.kafka_runs", tmp_path, written, after_s=after_s, environment=environment):
            break
        kills += 1
    assert kills > 0
    assert Counter(n for (n,) in KafkaRun(tmp_path, program(topic), kafka()).rows("out")) == Counter(numbers)
