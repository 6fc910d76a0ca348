"""The Supervisor over HTTP: typed calls, their states and data, and what it says to requests that are wrong."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ghcm.errors import GhcmError
from tests.conftest import ROOT
from tests.system.running import Running, running, until

pytestmark = pytest.mark.system

PROGRAM = """\
program shop

record Sale { item: string, amount: int, at: timestamp }

sink found = redis("shop:found", key = p => p.key, mode = upsert)

stream watch {
  sales = files("sales.csv", format = csv).as(Sale)
  totals = sales.map_to_pair(s => (s.item, s.amount)).reduce_by_key((a, b) => a + b)
}

responsive stream total(item: string, least: int = 0) {
  watch.totals.read(item).filter(p => p.value >= least).reply()
}

responsive stream all_totals() {
  watch.totals.read().sort(by = p => p.key).reply()
}

responsive stream since(at: timestamp, ratio: float = 0.5, names: list<string>? = null) {
  watch.totals.read().filter(p => p.value >= to_micros(at)).reply()
}

responsive stream store(least: int) {
  watch.totals.read().filter(p => p.value >= least).to(found)
}
"""
OTHER = """\
program other

stream watch {
  numbers = generate(rows = 10)
  counted = numbers.map_to_pair(n => (n.number % 2, 1)).reduce_by_key((a, b) => a + b)
}

responsive stream parity(of: int) { watch.counted.read(of).reply() }
"""
SALES = (
    'item,amount,at\ntea,3,2026-01-01T00:00:00Z\n"coffee, black",4,2026-01-01T00:00:01Z\ntea,5,2026-01-01T00:00:02Z\n'
)
TOTAL = "/programs/shop/units/total/calls"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.istream").write_text(PROGRAM)
    (folder / "other.istream").write_text(OTHER)
    (folder / "sales.csv").write_text(SALES)
    # Its engine is stopped below for as long as other tests make that: it must not be killed as one that hangs.
    with running(folder, GHCM_LOG_FORMAT="json", GHCM_LOG_LEVEL="debug", GHCM_RESTARTS_HANG="600") as daemon:
        job = daemon.submit("shop.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the sales to be read")
        yield daemon


def test_a_call_is_answered_while_one_waits(shop: Running) -> None:
    answer = shop.post(f"{TOTAL}?wait=60", {"item": "tea"})
    assert answer.status == 200
    assert answer.json["state"] == "done"
    assert answer.json["data"] == [{"key": "tea", "value": 8}]
    assert answer.json["parameters"] == {"item": "tea", "least": 0}


def test_a_call_is_accepted_and_asked_for_later(shop: Running) -> None:
    accepted = shop.post(TOTAL, {"item": "tea"})
    assert accepted.status == 202
    place = accepted.headers["location"]
    assert place == accepted.json["links"]["self"]
    found = shop.get(f"{place}?wait=60").json
    assert found["state"] == "done"
    assert found["rows"] == 1
    assert found["ended"] >= found["accepted"]


def test_a_request_that_cannot_be_is_no_bug_of_the_daemon(shop: Running) -> None:
    for wrong in ({"limit": "x"}, {"limit": float("nan")}, {"limit": True}, {"state": "over"}):
        with pytest.raises(GhcmError, match=r'has to be a number from 0|has no state "over"'):
            shop.control.ask("calls", **wrong)


def test_data_comes_as_json_and_csv(shop: Running) -> None:
    link = shop.post("/programs/shop/units/all_totals/calls?wait=60").json["links"]["data"]
    rows = [{"key": "coffee, black", "value": 4}, {"key": "tea", "value": 8}]
    assert shop.get(link).json["rows"] == rows
    assert shop.get(f"{link}?limit=1&offset=1").json["rows"] == rows[1:]
    assert shop.get(f"{link}?format=csv").text == 'key,value\r\n"coffee, black",4\r\ntea,8\r\n'
    accepted = shop.get(link, Accept="text/csv")
    assert accepted.headers["content-type"].startswith("text/csv")


def test_data_of_a_sink(shop: Running) -> None:
    call = shop.post("/programs/shop/units/store/calls?wait=60", {"least": 5}).json
    assert call["state"] == "done", call
    found = shop.get(call["links"]["data"])
    assert found.status == 200, found.text
    assert found.json["rows"] == [{"key": "tea", "value": 8}]
    assert found.json["sink"] == "found"


@pytest.mark.parametrize(
    ("body", "parameter", "message"),
    [
        ({}, "item", 'the parameter "item" is missing'),
        ({"item": 5}, "item", "expected string, found 5"),
        ({"item": "tea", "least": "many"}, "least", 'expected int, found "many"'),
        ({"item": "tea", "lest": 1}, "lest", 'there is no parameter "lest", did you mean "least"?'),
        ({"item": "tea", "least": 2**63}, "least", "9223372036854775808 does not fit into int"),
        ({"item": None}, "item", "expected string, found null"),
    ],
)
def test_wrong_parameters_are_named(shop: Running, body: object, parameter: str, message: str) -> None:
    answer = shop.post(TOTAL, body)
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["errors"] == [{"parameter": parameter, "message": message}]
    assert f'"{parameter}"' in answer.json["message"]


@pytest.mark.parametrize(
    ("body", "type_", "status", "message"),
    [
        (b'{"item": ', "application/json", 400, "the body of the call is no JSON"),
        (b'{"item": "\xe9"}', "application/json", 400, "the body of the call is no JSON"),
        (b"[" * 60_000, "application/json", 400, "the body of the call is no JSON"),
        (b"[1]", "application/json", 422, "the body of the call is no JSON object"),
        (b'{"item": "tea"}', "application/x-www-form-urlencoded", 415, "the body of the call is not sent as JSON"),
        (b"", "application/json", 422, "the call has no body"),
    ],
)
def test_a_body_that_is_no_json_object_is_a_problem(
    shop: Running, body: bytes, type_: str, status: int, message: str
) -> None:
    answer = shop.post(TOTAL, body, Content_Type=type_)
    assert (answer.status, answer.json["code"], answer.json["message"]) == (status, "GHCM-324", message)
    assert answer.json["hint"]


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("/programs/shp/units/total/calls", 'there is no program "shp"', 'did you mean "shop"?'),
        ("/programs/shop/units/totl/calls", 'program "shop" has no unit "totl"', 'did you mean "total"?'),
        (
            "/programs/shop/units/watch/calls",
            'unit "watch" of program "shop" cannot be called: it is not responsive',
            "",
        ),
        ("/nothing", 'there is nothing at "/nothing"', "what there is stands in /docs."),
    ],
)
def test_what_is_not_there(shop: Running, path: str, message: str, hint: str) -> None:
    answer = shop.post(path, {"item": "tea"})
    assert answer.status == 404
    assert answer.json["message"] == message
    assert answer.json["hint"] == hint


def test_a_call_that_is_not_there(shop: Running) -> None:
    assert shop.get(f"{TOTAL}/none").status == 404
    assert shop.get(f"{TOTAL}/none/data").status == 404
    call = shop.post(f"{TOTAL}?wait=60", {"item": "tea"}).json["id"]
    assert shop.get(f"/programs/shop/units/store/calls/{call}").status == 404


def test_moments_are_read_with_any_offset(shop: Running) -> None:
    path = "/programs/shop/units/since/calls?wait=60"
    answer = shop.post(path, {"at": "1970-01-01T01:00:00.000005+01:00"})
    assert answer.status == 200
    assert answer.json["parameters"] == {"at": "1970-01-01T00:00:00.000005Z", "ratio": 0.5, "names": None}
    assert [row["key"] for row in answer.json["data"]] == ["tea"]
    assert shop.post(path, {"at": "soon"}).json["errors"][0]["parameter"] == "at"


def test_the_same_key_is_the_same_call(shop: Running) -> None:
    first = shop.post(f"{TOTAL}?wait=60", {"item": "tea"}, Idempotency_Key="once-1")
    again = shop.post(f"{TOTAL}?wait=60", {"item": "tea"}, Idempotency_Key="once-1")
    assert first.json["id"] == again.json["id"]
    assert again.json["attempts"] == 1
    other = shop.post(TOTAL, {"item": "coffee, black"}, Idempotency_Key="once-1")
    assert other.status == 409
    assert shop.post(TOTAL, {"item": "tea"}, Idempotency_Key="not a key").status == 422


def test_a_large_request_is_refused_with_advice(shop: Running) -> None:
    answer = shop.post(TOTAL, {"item": "x" * 70_000})
    assert answer.status == 413
    assert "put the data in a sink" in answer.json["hint"]
    wrapped = shop.post(TOTAL, {"item": "x" * 65_400})  # the instruction holds more than the request
    assert wrapped.status == 413
    assert "instructions and feedback carry references only" in wrapped.json["hint"]
    assert shop.post(TOTAL, {"item": "x" * 64_000}).status == 202


def test_health_and_programs(shop: Running) -> None:
    assert shop.get("/health").json == {"status": "ok"}
    ready = shop.get("/ready").json
    assert ready["status"] == "ready"
    assert {each["state"] for each in ready["parts"]} == {"ok"}
    assert [each["name"] for each in ready["parts"]] == ["daemon", "redis", "store", "disk", "engine shop"]
    [shown] = [each for each in shop.get("/programs").json if each["name"] == "shop"]
    assert shown["version"] == 1
    units = {each["name"]: each for each in shown["units"]}
    assert units["total"]["calls"] == TOTAL
    assert units["total"]["required"] == ["item"]
    assert units["watch"]["calls"] is None
    assert shop.get("/programs/nix").status == 404


def test_processes_and_units_are_measured(shop: Running) -> None:
    assert shop.post(f"{TOTAL}?wait=60", {"item": "tea"}).status == 200
    lines = dict(line.rsplit(" ", 1) for line in shop.get("/metrics").text.splitlines() if not line.startswith("#"))
    for process in ("daemon", "http", "redis", "engine shop"):
        assert float(lines[f'ghcm_process_resident_memory_bytes{{process="{process}"}}']) > 1e6, process
        assert lines[f'ghcm_process_up{{process="{process}"}}'] == "1.0"
    assert lines['ghcm_task_in_records_total{program="shop",task="sales",unit="watch"}'] == "3.0"
    assert lines["ghcm_ready"] == "1.0"
    sales = {name: value for name, value in lines.items() if 'task="sales"' in name}
    assert sales['ghcm_task_batch_records_sum{program="shop",task="sales",unit="watch"}'] == "3.0"
    assert float(sales['ghcm_task_in_bytes_total{program="shop",task="sales",unit="watch"}']) > 3 * len("tea")
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = "\n".join(line for line in page.splitlines() if line.startswith("| `ghcm_"))
    told = {line.partition("{")[0] for line in lines}
    # No watermark where there is no event time, no rows of sinks before a call has written some.
    missing = {"ghcm_task_watermark_seconds", "ghcm_task_watermark_lag_seconds", "ghcm_sink_rows_total"}
    assert set(re.findall(r"`(ghcm_\w+)`", table)) - missing <= told


def test_how_tasks_and_units_get_on_is_shown(shop: Running) -> None:
    shown = shop.cli("top", "--times", "2", "--every", "0.2", "--json")
    assert shown.returncode == 0, shown.stderr
    first, second = map(json.loads, shown.stdout.splitlines())
    [sales] = [row for row in first["tasks"] if row["task"] == "sales"]
    assert (sales["in"], sales["in/s"], sales["batch"]) == ("3", "-", "3")
    [totals] = [row for row in second["tasks"] if row["task"] == "totals"]
    assert (totals["in/s"], totals["busy"], totals["p50"]) == ("0", "0%", "-")  # nothing since the first look
    assert [row["state"] for row in second["units"]] == ["finished"]
    assert "watch" in shop.cli("top", "--times", "1").stdout


def test_a_call_is_found_in_the_logs_by_its_trace(shop: Running) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    called = shop.post(f"{TOTAL}?wait=60", {"item": "tea"}, traceparent=f"00-{trace}-00f067aa0ba902b7-01").json
    assert shop.post(f"{TOTAL}?wait=60", {"item": "tea"}, traceparent="00-x-y-01").json["state"] == "done"
    [engine] = [each["job"] for each in shop.get("/programs").json if each["name"] == "shop"]

    def said(process: str) -> list[str]:
        lines = map(json.loads, (shop.state.logs / f"{process}.log").read_text().splitlines())
        about = {"program": "shop", "unit": "total", "call": called["id"], "trace": trace}
        return [line["message"].rpartition(" ")[2] for line in lines if about.items() <= line.items()]

    until(lambda: said(engine), "the engine to tell the end")
    assert (said("http"), said(engine)) == (["accepted"], ["done"])
    assert "accept connections" in shop.cli("logs", "redis").stdout  # what writes its own lines is shown, too


def test_a_new_program_can_be_called_without_a_restart(shop: Running) -> None:
    before = shop.pid("http")
    path = "/programs/other/units/parity/calls"
    assert path not in shop.get("/openapi.json").json["paths"]
    job = shop.submit("other.istream")
    until(lambda: path in shop.get("/openapi.json").json["paths"], "the program to appear in OpenAPI")
    until(lambda: shop.job(job)["inputs_done"], "the numbers to be read")
    assert shop.post(f"{path}?wait=60", {"of": 1}).json["data"] == [{"key": 1, "value": 5}]
    assert shop.cli("stop", "other").returncode == 0
    until(lambda: path not in shop.get("/openapi.json").json["paths"], "the program to leave OpenAPI")
    assert shop.pid("http") == before


def test_openapi_has_the_types_of_the_parameters(shop: Running) -> None:
    document: Any = shop.get("/openapi.json").json
    body = document["paths"][TOTAL]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    model = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    assert model["required"] == ["item"]
    assert model["additionalProperties"] is False
    assert model["properties"]["item"]["type"] == "string"
    assert model["properties"]["least"]["default"] == 0
    since = document["components"]["schemas"]["SinceParameters"]["properties"]
    assert since["at"]["format"] == "date-time"
    assert "requestBody" not in document["paths"]["/programs/{program}/units/{unit}/calls"].get("post", {})


def stopped(daemon: Running, name: str) -> int:
    """Stop a process of the daemon, so that it lives and does nothing."""
    pid = daemon.pid(name)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_calls_that_nobody_answers_expire_or_are_cancelled(shop: Running) -> None:
    job = next(each["job"] for each in shop.get("/programs").json if each["name"] == "shop")
    pid = stopped(shop, job)
    try:
        waiting = shop.post(f"{TOTAL}?deadline=1", {"item": "tea"}).json
        expired = shop.get(f"{waiting['links']['self']}?wait=60").json
        assert expired["state"] == "expired"
        assert expired["error"]["code"] == "GHCM-743"
        dropped = shop.post(TOTAL, {"item": "tea"}).json
        assert shop.get(dropped["links"]["data"]).status == 409
        cancelled = shop.get(dropped["links"]["self"]).json
        assert cancelled["state"] == "accepted"
        assert delete(shop, dropped["links"]["self"])["state"] == "cancelled"
    finally:
        os.kill(pid, signal.SIGCONT)
    after = shop.post(f"{TOTAL}?wait=60", {"item": "tea"}).json
    assert after["state"] == "done"
    assert shop.get(dropped["links"]["self"]).json["state"] == "cancelled"
    assert shop.get(waiting["links"]["self"]).json["state"] == "expired"


def delete(daemon: Running, path: str) -> Any:
    from tests.system.running import request

    return request("DELETE", daemon.url + path).json


def test_too_many_open_calls_are_refused(tmp_path: Path) -> None:
    (tmp_path / "shop.istream").write_text(PROGRAM)
    (tmp_path / "sales.csv").write_text(SALES)
    with running(tmp_path, GHCM_LIMITS_CALLS="2") as daemon:
        job = daemon.submit("shop.istream")
        pid = stopped(daemon, job)
        try:
            links = [daemon.post(TOTAL, {"item": "tea"}).json["links"]["self"] for _ in range(2)]
            refused = daemon.post(TOTAL, {"item": "tea"})
            assert refused.status == 429
            assert refused.headers["retry-after"] == "1"
            assert "has 2 calls that wait or run" in refused.json["message"]
        finally:
            os.kill(pid, signal.SIGCONT)
        assert {daemon.get(f"{link}?wait=60").json["state"] for link in links} == {"done"}


def test_data_outlives_its_program(tmp_path: Path) -> None:
    (tmp_path / "shop.istream").write_text(PROGRAM)
    (tmp_path / "sales.csv").write_text(SALES)
    with running(tmp_path) as daemon:
        job = daemon.submit("shop.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the sales to be read")
        links = daemon.post(f"{TOTAL}?wait=60", {"item": "tea"}).json["links"]
        assert daemon.cli("stop", "shop").returncode == 0
        until(lambda: daemon.post(TOTAL, {"item": "tea"}).status == 404, "the program to leave")
        assert daemon.get(links["self"]).json["state"] == "done"
        assert daemon.get(links["data"]).json["rows"] == [{"key": "tea", "value": 8}]
        again = daemon.submit("shop.istream")
        until(lambda: daemon.job(again)["inputs_done"], "the sales to be read")
        assert daemon.post(f"{TOTAL}?wait=60", {"item": "tea"}).json["state"] == "done"
