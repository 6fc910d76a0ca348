"""What makes a daemon safe to leave running, seen from outside: by commands, HTTP, files and sockets."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import redis

from tests.redis_server import RedisServer
from tests.system.running import PATIENCE, Running, running, until

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """\
program shop

record Sale { item: string, amount: int }

stream watch {
  sales = files("in", format = json, follow = true).as(Sale)
  totals = sales.map_to_pair(s => (s.item, s.amount)).reduce_by_key((a, b) => a + b)
  sales.publish(total(item = max(item)), every = 2)
}

responsive stream total(item: string) { watch.totals.read(item).reply() }
"""
CALLS = "/programs/shop/units/total/calls"


def shop(folder: Path) -> Path:
    (folder / "in").mkdir(parents=True)
    (folder / "shop.istream").write_text(PROGRAM)
    return folder


def sell(folder: Path, *items: str) -> None:
    """Two sales of each, in a file that appears whole; so many calls of the policy."""
    name = "".join(items)
    rows = [json.dumps({"item": item, "amount": 1}) for item in items for _ in range(2)]
    (folder / f"{name}.new").write_text("\n".join(rows) + "\n")
    (folder / f"{name}.new").rename(folder / "in" / f"{name}.jsonl")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(shop(tmp_path_factory.mktemp("shop"))) as found:
        found.submit("shop.istream")
        yield found


def policys(daemon: Running) -> dict[str, Any]:
    """The calls that the program has made, by their ids."""
    return {call["id"]: call for call in daemon.get(CALLS).json if ".watch." in call["id"]}


def test_nobody_outside_takes_the_call_that_a_policy_makes_next(daemon: Running) -> None:
    sell(daemon.folder, "tea")
    until(lambda: len(policys(daemon)) == 1, "the first call of the policy")
    (first,) = policys(daemon)
    head, number = re.fullmatch(r"(.*\.)(\d+)", first).groups()  # type: ignore[union-attr]
    following = f"{head}{int(number) + 1}"
    taken = daemon.post(f"{CALLS}?wait=30", {"item": "nothing"}, Idempotency_Key=following)
    assert taken.json["state"] == "done", taken.text
    sell(daemon.folder, "coffee")
    until(lambda: policys(daemon).get(following, {}).get("state") == "done", "the second call of the policy")
    assert policys(daemon)[following]["parameters"] == {"item": "coffee"}


def test_an_error_of_redis_ends_nobody_who_reads_feedback(daemon: Running) -> None:
    assert daemon.post(f"{CALLS}?wait=60", {"item": "tea"}).status == 200
    server = cast(Any, redis.Redis)  # whose annotations are incomplete
    with server.from_url(f"unix://{next(daemon.state.path.glob('redis/*.sock'))}") as client:

        def refused() -> int:
            return int(client.info("commandstats").get("cmdstat_xread", {}).get("failed_calls", 0))

        addresses = [key for key in client.scan_iter(_type="stream") if b":cache:" not in key]
        assert addresses
        before = refused()
        for address in addresses:
            client.rename(address, address + b".away")
            client.set(address, "no stream")
        until(lambda: refused() > before, "the reader to be refused")
        for address in addresses:
            client.delete(address)
            client.rename(address + b".away", address)
    log = daemon.state.logs / "http.log"
    until(lambda: "begins anew" in log.read_text(), "the reader to read again")
    assert daemon.post(f"{CALLS}?wait=60", {"item": "tea"}).status == 200


def test_a_program_whose_parameters_have_other_names_goes_on(daemon: Running) -> None:
    assert daemon.cli("stop", "shop").returncode == 0
    program = daemon.folder / "shop.istream"
    program.write_text(PROGRAM.replace("s => (s.item, s.amount)", "sale => (sale.item, sale.amount)"))
    resumed = daemon.cli("submit", "shop.istream", "--resume", "--wait")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    rows = daemon.post(f"{CALLS}?wait=60", {"item": "tea"}).json["data"]
    assert rows == [{"key": "tea", "value": 2}]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> Iterator[Running]:
    """A daemon on a Redis that does not sync, with narrow limits; calls are made with a token."""
    limits = {"HTTP_HEADER_TIME": "1s", "HTTP_BODY_TIME": "1s", "QUOTAS_BURST": "30", "QUOTAS_RATE": "0.01"}
    settings = {"REDIS": redis_server.url, "ACCESS_REQUIRED": "true", "KEEP_CALLS": "1s", **limits}
    environment = {f"GHCM_{name}": value for name, value in settings.items()}
    with running(shop(tmp_path_factory.mktemp("strict")), **environment) as found:
        found.submit("shop.istream")
        yield found


def token(daemon: Running, scope: str) -> str:
    made = daemon.cli("token", "create", "ann", "--scope", scope, "--json")
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["token"])


def test_a_redis_that_may_lose_what_it_has_answered_is_named_at_the_start(strict: Running) -> None:
    assert "a loss of power takes the last two seconds" in strict.log("daemon")


def test_who_calls_has_a_token_that_may_and_is_noted(strict: Running) -> None:
    assert (strict.get("/programs").status, strict.post(CALLS, {"item": "tea"}).status) == (401, 401)
    reader, caller = token(strict, "read:shop"), token(strict, "call:shop/total")
    assert strict.get("/programs/shop", Authorization=f"Bearer {reader}").status == 200
    assert strict.post(CALLS, {"item": "tea"}, Authorization=f"Bearer {reader}").status == 403
    assert strict.post(f"{CALLS}?wait=60", {"item": "tea"}, Authorization=f"Bearer {caller}").status == 200
    kept = b"".join(path.read_bytes() for path in strict.state.path.rglob("*") if path.is_file())
    assert reader.encode() not in kept and caller.encode() not in kept
    revoked = strict.cli("token", "revoke", reader.split("_")[1])
    assert revoked.returncode == 0, revoked.stderr
    assert strict.get("/programs/shop", Authorization=f"Bearer {reader}").status == 401
    audit = strict.state.path / "audit.jsonl"
    noted = {(line["action"], line["from"]) for line in map(json.loads, audit.read_text().splitlines())}
    assert {("call", "127.0.0.1"), ("refused", "127.0.0.1")} <= noted and "submit" in dict(noted)


def test_answers_are_kept_as_long_as_the_settings_say(strict: Running) -> None:
    header = {"Authorization": f"Bearer {token(strict, 'call:shop,read:shop')}"}
    call = strict.post(CALLS, {"item": "tea"}, **header).json["links"]["self"]
    until(lambda: strict.get(call, **header).status == 404, "the call to be forgotten")


@pytest.mark.parametrize("body", [b"", b"\r\nContent-Length: 20\r\n\r\n{"], ids=["head", "body"])
def test_who_does_not_come_to_an_end_is_cut_off(strict: Running, body: bytes) -> None:
    host, _, port = strict.url.removeprefix("http://").rpartition(":")
    head = f"POST {CALLS} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token(strict, 'call:shop')}"
    with socket.create_connection((host, int(port)), PATIENCE) as slow:
        slow.sendall(head.encode() + body)
        answer = b"".join(iter(lambda: slow.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 408 ") and b"GHCM-333" in answer


def test_who_calls_too_often_is_told_when_to_call_again(strict: Running) -> None:
    header = {"Authorization": f"Bearer {token(strict, 'call:shop')}"}
    answers = [strict.post(CALLS, {"item": "tea"}, **header) for _ in range(40)]
    assert [answer.status for answer in answers] == [202] * 30 + [429] * 10
    assert int(answers[-1].headers["retry-after"]) > 0
