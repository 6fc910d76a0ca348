"""Msg caches on a real Kafka: what only a log with partitions can lose, doubles, brokers that die or refuse."""

import json
import logging
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from kafka import KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    ResourcePattern,
    ResourceType,
)
from kafka.errors import KafkaTimeoutError

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub import services
from ghcm.runtime.pubsub.cache import Delivery
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, encode
from ghcm.runtime.pubsub.kafka_cache import KafkaCache
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka, topic_name
from tests.campaigns import times
from tests.kafka_server import as_user, brokers, kafka, new_topic, quiet, records
from tests.system.running import clean_environment, until

pytestmark = pytest.mark.system


class Caches:
    """Opens caches at one new topic and closes them."""

    def __init__(self) -> None:
        self.topic = f"calls-{uuid.uuid4().hex}"
        self.stack = ExitStack()

    def open(self, consumer: str = "engine", lease: float = 10.0) -> KafkaCache:
        cache = KafkaCache(brokers(), self.topic, "p", consumer, lease=lease)
        self.stack.callback(cache.close)
        return cache


@pytest.fixture
def caches() -> Iterator[Caches]:
    caches = Caches()
    with caches.stack:
        yield caches


def take(cache: KafkaCache, count: int, seconds: float = 30) -> list[Delivery]:
    found = [delivery for _ in range(count) if (delivery := cache.receive("u", seconds)) is not None]
    assert len(found) == count
    return found


def rest(cache: KafkaCache) -> list[Delivery]:
    """All that comes until nothing does for a second."""
    found: list[Delivery] = []
    while (delivery := cache.receive("u", 3.0 if not found else 1.0)) is not None:
        found.append(delivery)
    return found


def end(delivery: Delivery) -> None:
    delivery.acknowledge(Feedback(delivery.instruction.id, State.DONE))


def test_calls_may_end_in_any_order(caches: Caches) -> None:
    first = caches.open()
    for number in range(60):
        first.send(Instruction(f"c{number}", "p", "u"))
    deliveries = take(first, 60)
    left = deliveries[7]
    for delivery in reversed(deliveries):
        if delivery is not left:
            end(delivery)
    first.close()
    again = rest(caches.open())  # those behind it in its partition too: their answers are in the call store
    assert left.instruction in [delivery.instruction for delivery in again]
    assert len(again) < 30
    second = caches.open()
    for delivery in rest(second):
        end(delivery)
    second.close()
    assert rest(caches.open()) == []


@pytest.mark.parametrize("successor", ["engine", "another"])
def test_what_a_killed_worker_held_is_delivered_again(caches: Caches, successor: str) -> None:
    sender = caches.open("sender")
    sent = {f"c{number}" for number in range(10)}
    for id in sent:
        sender.send(Instruction(id, "p", "u"))
    line = [sys.executable, "-m", "tests.system.kafka_child", caches.topic, "engine", "2"]
    env = clean_environment(**kafka().variables())
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        assert {child.stdout.readline().strip() for _ in sent} == sent
        child.kill()
    cache = caches.open(successor, lease=2.0)
    assert {delivery.instruction.id for delivery in take(cache, 10)} == sent


def test_what_is_no_instruction_is_put_aside_with_the_reason(caches: Caches) -> None:
    cache = caches.open()
    brokers().send(caches.topic, (4, 3600), b"junk", "c1")
    cache.send(Instruction("c1", "p", "u"))
    (delivery,) = take(cache, 1)
    end(delivery)
    (refused,) = records(f"{caches.topic}.refused")
    assert refused.value == b"junk"
    assert "no JSON" in dict(refused.headers)["why"].decode()


def test_topics_have_the_retention_of_what_they_hold(caches: Caches) -> None:
    cache = caches.open()
    cache.send(Instruction("c1", "p", "u"))
    cache.send_feedback(f"to:{caches.topic}", Feedback("c1", State.DONE))
    assert len(records(topic_name(f"to:{caches.topic}"))) == 1
    with brokers().admin() as admin:
        for topic, partitions, hours in ((caches.topic, 4, 20), (topic_name(f"to:{caches.topic}"), 1, 1 / 6)):
            assert len(admin.describe_topics([topic])[0]["partitions"]) == partitions
            told = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])["topic"][topic]
            assert told["retention.ms"]["value"] == str(int(hours * 3_600_000))


def test_what_is_older_than_answers_are_remembered_counts_for_nothing(caches: Caches) -> None:
    new_topic([], [], [], [], name=caches.topic)  # one of ours has the broker say when a record came
    cache = caches.open()
    cache.send(Instruction("first", "p", "u"))
    end(take(cache, 1)[0])
    producer: Any = KafkaProducer(**kafka().options(30.0))
    for hours, id in ((21, "old"), (19, "young")):
        data, moment = encode(Instruction(id, "p", "u")), int((time.time() - hours * 3600) * 1000)
        producer.send(caches.topic, data, timestamp_ms=moment).get(30)
    producer.close()
    assert [delivery.instruction.id for delivery in rest(cache)] == ["young"]


def test_a_sender_is_heard_whose_clock_is_ahead_of_the_broker(caches: Caches) -> None:
    cache = caches.open()
    cache.send(Instruction("first", "p", "u"))
    end(take(cache, 1)[0])
    producer: Any = KafkaProducer(**kafka().options(30.0))
    ahead = int((time.time() + 6 * 3600) * 1000)
    producer.send(caches.topic, encode(Instruction("ahead", "p", "u")), timestamp_ms=ahead).get(30)
    producer.close()
    end(take(cache, 1)[0])


def test_a_topic_that_was_deleted_is_made_again(caches: Caches) -> None:
    connection = caches.stack.enter_context(closing(Brokers(kafka(), 3.0)))
    cache = KafkaCache(connection, caches.topic, "p", "engine")
    caches.stack.callback(cache.close)
    cache.send(Instruction("c1", "p", "u"))
    end(take(cache, 1)[0])
    with brokers().admin() as admin:
        admin.delete_topics([caches.topic])
    with suppress(GhcmError):
        cache.send(Instruction("c2", "p", "u"))
    cache.send(Instruction("c3", "p", "u"))
    assert "c3" in {delivery.instruction.id for delivery in rest(cache)}
    with brokers().admin() as admin:
        assert len(admin.describe_topics([caches.topic])[0]["partitions"]) == 4


# --- brokers that die or refuse --------------------------------------------------------------------------------------


@contextmanager
def broker(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> Generator[Kafka]:
    """A Kafka of one's own with more settings."""
    written = folder.with_suffix(".properties")
    written.write_text(services._SETTINGS.read_text() + more)  # pyright: ignore[reportPrivateUsage]  ours, and another
    monkeypatch.setattr(services, "_SETTINGS", written)
    try:
        services.start_services(folder, quiet)
        yield services.service_logins(folder)[0]
    finally:
        services.stop_services(folder, quiet)


def test_killing_the_broker_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "s"
    with broker(folder, monkeypatch) as settings:
        connection = Brokers(settings, 60.0)
        sender, worker = (KafkaCache(connection, "k", "p", name) for name in ("sender", "engine"))
        most, total, sent, received = times(2), times(2) * 150 + 150, list[int](), set[str]()

        def publish() -> None:
            for number in range(total):
                sender.send(Instruction(f"c{number}", "p", "u"))
                sent.append(number)

        def execute() -> None:
            while len(received) < total:
                for delivery in take(worker, 1, 60):
                    received.add(delivery.instruction.id)
                    end(delivery)

        threads = [threading.Thread(target=publish), threading.Thread(target=execute)]
        for thread in threads:
            thread.start()
        kills = 0
        while any(thread.is_alive() for thread in threads):
            if len(sent) < total and kills < most and len(sent) >= kills * 150 + 100:
                process = psutil.Process(services.services(folder)[0]["pid"])
                process.kill()
                process.wait()
                services.start_services(folder, quiet)
                kills += 1
            threads[0].join(0.01)
        assert (kills, received) == (most, {f"c{number}" for number in range(total)})
        worker.close()
        sender.close()
        connection.close()


def test_a_broker_that_is_gone_is_reported_once_per_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with broker(tmp_path / "s", monkeypatch) as settings:
        connection = Brokers(settings, 3.0)
        cache = KafkaCache(connection, "k", "p", "engine")
        cache.send(Instruction("c1", "p", "u"))
        assert not cache.takes("u")
        end(take(cache, 1)[0])
        assert cache.takes("u")
    with pytest.raises(GhcmError, match="cannot be reached") as told:
        while True:
            cache.receive("u", 1)
    assert "ghcm services up" in told.value.hint and not cache.takes("u")
    with pytest.raises(GhcmError, match="cannot be reached"):
        cache.send(Instruction("c2", "p", "u"))
    cache.close()
    connection.close()


def test_what_cannot_be_opened_leaves_nothing_behind() -> None:
    nowhere = Brokers(Kafka(bootstrap="127.0.0.1:1"), 0.2)
    cache = KafkaCache(nowhere, "k", "p", "engine")
    before = threading.active_count()
    for attempt in (
        lambda: cache.send(Instruction("c1", "p", "u")),
        lambda: cache.receive("u", 0),
        lambda: cache.feedback("here", timeout=0),
    ):
        for made in (set[str](), {"k", "here"}):  # what asks for the topic, and what uses it
            nowhere.made = made
            with pytest.raises(GhcmError, match="cannot be reached"):
                attempt()
    assert threading.active_count() <= before
    cache.close()


def test_what_one_client_says_is_not_taken_for_the_words_of_another() -> None:
    nowhere, other = Brokers(Kafka(bootstrap="127.0.0.1:1"), 0.2), Brokers(Kafka(bootstrap="127.0.0.1:1"), 0.2)
    with pytest.raises(GhcmError) as told:
        nowhere.send("k", (1, 60), b"x")
    assert "ECONNREFUSED" in told.value.detail
    slow = logging.getLogger("kafka.net.selector")
    with pytest.raises(GhcmError) as told, nowhere.told():
        words = ["Task ran for 0.4s (>0.100s threshold). It is blocking the event loop"]
        io = threading.Thread(target=slow.warning, args=words, name=f"kafka-io-{nowhere._name}")  # pyright: ignore[reportPrivateUsage]
        io.start()
        io.join()
        raise KafkaTimeoutError("nothing came")
    assert "ECONNREFUSED" in told.value.detail
    with pytest.raises(GhcmError) as told, other.told():
        raise KafkaTimeoutError("nothing came")
    assert told.value.detail == "KafkaTimeoutError: nothing came"


def test_the_client_logs_nothing_itself() -> None:
    code = """import logging; logging.basicConfig(level=logging.DEBUG)
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
try: Brokers(Kafka(bootstrap="127.0.0.1:1"), 0.5).send("a", (1, 60), b"x")
except Exception as error: print(error)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ECONNREFUSED" in done.stdout
    assert done.stderr == ""


USERS = """\
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
username="{user}" password="{password}" user_{user}="{password}" user_me="my-secret";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ghcm
"""


def test_a_user_without_password_or_rights_is_told_what_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with broker(tmp_path / "s", monkeypatch, USERS) as settings:
        wrong, me = (as_user(settings, "me", password) for password in ("bad-one", "my-secret"))
        with pytest.raises(GhcmError, match="ends the connection of this user") as told:
            KafkaCache(Brokers(wrong, 3.0), "k", "p", "engine").send(Instruction("c1", "p", "u"))
        assert "bad-one" not in str(told.value)
        connection = Brokers(me, 10.0)
        cache = KafkaCache(connection, "k", "p", "engine")
        with pytest.raises(GhcmError, match='neither shows nor makes the topic "k"') as told:
            cache.send(Instruction("c1", "p", "u"))
        assert "kafka-topics.sh --create --topic k --partitions 4 --config retention.ms=72000000" in told.value.hint
        with Brokers(settings, 10.0).admin() as admin:  # who has the rights
            admin.create_topics({"k": {"num_partitions": 1}}, wait_for_metadata=True)
            allow(admin, ResourceType.TOPIC, "k", ACLOperation.DESCRIBE)
            until(lambda: "does not allow that" in refusal(cache), "the right to see the topic")
            allow(admin, ResourceType.TOPIC, "k", ACLOperation.ALL)
            until(lambda: not refusal(cache), "the right to write")
            with pytest.raises(GhcmError, match="does not allow that"):
                take(cache, 1)
            allow(admin, ResourceType.GROUP, "k.p.u", ACLOperation.ALL)
        assert take(cache, 1)[0].instruction.id == "c1"
        with Brokers(settings, 10.0).admin() as admin:
            allow(admin, ResourceType.TOPIC, "k", ACLOperation.ALL)
        with closing(Brokers(settings, 10.0)) as operator:
            operator.send("k", (1, 60), b"junk")  # what is refused may not be put aside
        cache.send(Instruction("c2", "p", "u"))
        assert take(cache, 1)[0].instruction.id == "c2"
        cache.close()
        connection.close()


_TLS = """\
listeners=SASL_PLAINTEXT://127.0.0.1:{{port}},SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{{controller}}
listener.security.protocol.map=SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:SASL_PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={broker}
ssl.truststore.type=PEM
ssl.truststore.location={client}
ssl.client.auth=required
"""


def certificate(folder: Path, name: str, *password: str) -> tuple[Path, Path]:
    """A key and a certificate that it has signed itself."""
    key, signed = folder / f"{name}.key", folder / f"{name}.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", f"/CN={name}"]
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(signed)]
    subprocess.run([*request, *files, *(password or ["-nodes"])], check=True, capture_output=True)
    return key, signed


def test_brokers_may_ask_for_tls_and_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    key, ca = certificate(tmp_path, "broker")
    own_key, own = certificate(tmp_path, "client", "-passout", "pass:my-secret")
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + ca.read_text())
    given = {"bootstrap": f"127.0.0.1:{port}", "security_protocol": "SSL", "ca_file": str(ca)}
    whole = given | {"cert_file": str(own), "key_file": str(own_key), "key_password": "my-secret"}

    def said(settings: dict[str, str]) -> str:
        """What a process of its own says, since kafka-python forgets the sockets of handshakes that fail."""
        code = """import json, sys
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
try: Brokers(Kafka.model_validate(json.loads(sys.argv[1])), 3.0).send("k", (1, 60), b"x")
except Exception as error: print(error)"""
        line = [sys.executable, "-c", code, json.dumps(settings)]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    with broker(tmp_path / "s", monkeypatch, _TLS.format(port=port, broker=both, client=own)) as plain:
        assert said(whole) == ""
        tls = "cannot be spoken to by TLS"
        for wrong, why in (
            (whole | {"ca_file": str(own)}, tls),
            (whole | {"bootstrap": plain.bootstrap}, tls),
            (whole | {"key_password": "bad-one"}, tls),
            (given, "cannot be"),
            ({"bootstrap": given["bootstrap"]}, "cannot be reached"),
            (whole | {"ca_file": "no.pem"}, 'ca_file of [kafka], "no.pem", cannot be read'),
        ):
            told = said(wrong)
            assert why in told
            assert "bad-one" not in told


def refusal(cache: KafkaCache) -> str:
    """Why it does not send the first call; empty where it has. Brokers learn of rights a moment later."""
    try:
        cache.send(Instruction("c1", "p", "u"))
    except GhcmError as error:
        return str(error)
    return ""


def allow(admin: Any, kind: ResourceType, name: str, operation: ACLOperation) -> None:
    admin.create_acls([ACL("User:me", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))])
