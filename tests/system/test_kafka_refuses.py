"""A daemon whose Kafka refuses the user of a job that runs, for a while: the job waits; nothing is lost or doubled. And
how it is asked whether Kafka is there.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.errors import KafkaConnectionError

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from tests.kafka_server import kafka, messages, send
from tests.system.running import running, until
from tests.system.storm.sinks import numbers_in
from tests.system.test_kafka_cache import USERS, allow, broker

pytestmark = [pytest.mark.system, pytest.mark.slow]

PROGRAM = """\
program copying

record Number { number: int }

sink all = files("out/all", format = json, mode = append)
sink there = kafka("there")

stream feed {
  numbers = kafka("here", format = json).as(Number)
  numbers.to(all)
  numbers.to(there)
}
"""


def numbers(*values: int) -> list[bytes]:
    return [b'{"number": %d}' % value for value in values]


def numbers_sent(settings: Kafka) -> list[int]:
    """What a reader of committed data finds: a transaction that was refused on its way was begun again."""
    [sent] = messages("there", settings=settings)
    return [json.loads(value or b"")["number"] for _, _, value, _ in sent]


@pytest.mark.timeout(400)
def test_a_job_that_runs_waits_for_a_kafka_that_refuses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copying.istream").write_text(PROGRAM)
    with broker(tmp_path / "s", monkeypatch, USERS) as operator, Brokers(operator, 30.0).admin() as admin:
        admin.create_topics({name: {"num_partitions": 1} for name in ("here", "there")}, wait_for_metadata=True)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
            allow(admin, kind, "*", ACLOperation.ALL)
        me = {"USERNAME": "me", "PASSWORD": "my-secret", "SECURITY_PROTOCOL": "SASL_PLAINTEXT"}
        kafka = {"GHCM_KAFKA": operator.bootstrap, "GHCM_KAFKA_SASL_MECHANISM": "PLAIN"}
        kafka |= {f"GHCM_KAFKA_{name}": value for name, value in me.items()}
        with running(tmp_path, **kafka) as daemon:
            send("here", numbers(0), settings=operator)
            job, there = daemon.submit("copying.istream"), 0
            for topic in ("here", "there"):
                until(lambda: len(numbers_in(tmp_path)) == there + 1, "what has come" + daemon.log(job))  # noqa: B023
                there += 1
                rule: Any = ACL(
                    "User:me", "*", ACLOperation.ALL, ACLPermissionType.DENY, ResourcePattern(ResourceType.TOPIC, topic)
                )
                admin.create_acls([rule])
                send("here", numbers(there), settings=operator)
                until(lambda: daemon.job(job)["state"] == "starting", "the job to wait" + daemon.log(job))
                reason = daemon.job(job)["reason"]
                assert f'does not allow the use of "{topic}"' in reason and "goes on when that has passed" in reason
                admin.delete_acls([rule])
                until(lambda: daemon.job(job)["state"] == "running", "the job to go on" + daemon.log(job))
            until(lambda: len(numbers_in(tmp_path)) == there + 1, "what has come" + daemon.log(job))
            assert sorted(numbers_in(tmp_path)) == list(range(there + 1))
            until(lambda: len(numbers_sent(operator)) > there, "the messages")
            assert sorted(numbers_sent(operator)) == list(range(there + 1))


def test_whether_a_broker_answers_is_asked_over_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    client, settings = Brokers.client, kafka()

    def counted(brokers: Brokers, *given: Any, **more: Any) -> Any:
        made.append(client(brokers, *given, **more))
        return made[-1]

    monkeypatch.setattr(Brokers, "client", counted)
    asking = Brokers(settings, 30.0)
    asking.ask()
    asking.ask()
    assert len(made) == 1
    monkeypatch.setattr(made[0], "describe_cluster", lost)
    with pytest.raises(GhcmError, match="cannot be reached"):
        asking.ask()
    asking.ask()
    assert len(made) == 2
    asking.close()


def lost() -> None:
    raise KafkaConnectionError("it is gone")
