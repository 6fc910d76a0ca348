"""A daemon whose Redis refuses what it is asked: calls that are accepted wait, as for one that is away."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ghcm.runtime.pubsub.embedded import embedded_url
from ghcm.runtime.pubsub.redis_connection import commands, open_client
from tests.system.running import Running, running, until

pytestmark = [pytest.mark.system, pytest.mark.slow]

PROGRAM = """\
program counting

stream feed {
  numbers = generate(rows = 1000)
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
}

responsive stream count_of(digit: int) { feed.counts.read(digit).reply() }
"""
CALLS = "/programs/counting/units/count_of/calls"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("refused")
    (folder / "counting.istream").write_text(PROGRAM)
    with running(folder) as found:
        found.submit("counting.istream")
        yield found


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("maxmemory", "1", "it takes nothing that is written"),
        ("min-replicas-to-write", "3", "it takes nothing that is written"),
        ("requirepass", "another", "it refuses the password"),
    ],
)
def test_a_call_that_is_accepted_while_redis_refuses_is_done_when_it_does_not(
    daemon: Running, setting: str, value: str, reason: str
) -> None:
    client: Any = commands(open_client(embedded_url(daemon.state.redis))).client()
    before = client.config_get(setting)[setting]
    client.config_set(setting, value)
    try:
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        accepted = daemon.post(CALLS, {"digit": 3}, Idempotency_Key=setting)
        assert (accepted.status, accepted.json["state"]) == (202, "accepted"), accepted.text

        def told() -> bool:
            ready = daemon.get("/ready")
            parts = {part["name"]: part for part in ready.json["parts"]}
            return ready.status == 503 and parts["redis"]["reason"] == reason

        until(told, "/ready to tell" + daemon.log("http"))
        assert daemon.post(CALLS, {"digit": 3}, Idempotency_Key=setting).json["state"] == "accepted"
    finally:
        client.config_set(setting, before)
        client.close()
    answer = daemon.post(CALLS + "?wait=60", {"digit": 3}, Idempotency_Key=setting)
    assert (answer.status, answer.json["state"]) == (200, "done"), json.dumps(answer.json)
    assert answer.json["data"] == [{"key": 3, "value": 100}]
