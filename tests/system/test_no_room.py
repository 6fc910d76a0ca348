"""A daemon whose disk is full: calls are refused with the reason, jobs and calls at hand wait, and all goes on when
there is room again.

That a process finds no room is a limit of the system's on its files (`RLIMIT_FSIZE`), which is taken away again.
"""

import json
import resource
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.system.running import Running, running, until
from tests.system.storm.sinks import numbers_in

pytestmark = [pytest.mark.system, pytest.mark.slow]

ROWS = 2000
PROGRAM = f"""\
program full

record Number {{ number: int }}

sink all = files("out/all", format = json, mode = append)

stream feed {{
  numbers = generate(rows = {ROWS}, rate = 400)
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  numbers.map(n => Number {{ number: n.number }}).to(all)
}}

responsive stream count_of(digit: int) {{ feed.counts.read(digit).reply() }}
"""
CALL = "/programs/full/units/count_of/calls?wait=30"


@pytest.mark.timeout(300)
def test_what_finds_no_room_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "full.istream").write_text(PROGRAM)
    with running(tmp_path) as daemon:
        job = daemon.submit("full.istream")
        until(lambda: len(numbers_in(tmp_path)) > 0, "the first rows")
        (engine, http), itself = (psutil.Process(daemon.pid(name)) for name in (job, "http")), daemon.process
        assert itself is not None
        logs = max(path.stat().st_size for path in daemon.state.logs.glob("*.log")) + 100_000
        limit([psutil.Process(itself.pid)], logs, daemon)  # an engine that starts inherits it
        limit([engine, http], 1, daemon)

        refused = daemon.post(CALL, {"digit": 3})
        assert (refused.status, refused.json["code"]) == (503, "GHCM-740"), refused.text
        until(lambda: daemon.job(job)["state"] == "starting", "the job to wait" + daemon.log(job))
        assert "no room" in daemon.job(job)["reason"] or "too large" in daemon.job(job)["reason"], daemon.job(job)

        limit([psutil.Process(itself.pid), *daemon.processes()], resource.RLIM_INFINITY, daemon)
        until(lambda: daemon.job(job)["inputs_done"], "the stream to end" + daemon.log(job))
        assert sorted(numbers_in(tmp_path)) == list(range(ROWS))
        answer = daemon.post(CALL, {"digit": 3})
        assert answer.json.get("data") == [{"key": 3, "value": ROWS // 10}], answer.text
        assert daemon.job(job)["state"] == "running"


KEYS = 60_000
COPYING = f"""\
program copying

sink copies = files("out/copies", format = json, mode = append)

stream feed {{
  numbers = generate(rows = {KEYS})
  seen = numbers.map_to_pair(n => (n.number, 1)).reduce_by_key((a, b) => a + b)
}}

responsive stream copy() {{
  feed.seen.read().map(p => {{ key: p.key, text: "with which the file is larger than the snapshot" }}).to(copies)
}}
"""


@pytest.mark.timeout(300)
def test_a_call_of_a_stream_unit_whose_sink_finds_no_room_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "copying.istream").write_text(COPYING)
    with running(tmp_path) as daemon:
        job = daemon.submit("copying.istream")
        until(lambda: daemon.job(job)["inputs_done"], "the table")
        engine = psutil.Process(daemon.pid(job))
        largest = max(path.stat().st_size for path in daemon.state.path.rglob("*") if path.is_file())
        limit([engine], largest + 200_000, daemon)  # the store has room, and the file of the call has none

        accepted = daemon.post("/programs/copying/units/copy/calls", {}, Idempotency_Key="it")
        assert accepted.status == 202, accepted.text

        def why() -> str:
            found = daemon.get("/programs/copying/units/copy/calls").json
            assert all(call["state"] in ("accepted", "running") for call in found), (found, daemon.log(job))
            return next((call["detail"] for call in found if call["state"] == "accepted" and call.get("detail")), "")

        until(why, "the call to wait" + daemon.log(job))
        limit([engine], resource.RLIM_INFINITY, daemon)
        answer = daemon.post("/programs/copying/units/copy/calls?wait=60", {}, Idempotency_Key="it")
        assert (answer.json["state"], answer.json["rows"]) == ("done", KEYS), answer.text
        assert daemon.pid(job) == engine.pid
        lines = [line for file in (tmp_path / "out/copies").glob("*.json*") for line in file.read_text().splitlines()]
        assert sorted(json.loads(line)["key"] for line in lines) == list(range(KEYS))


def limit(processes: list[psutil.Process], size: int, daemon: Running) -> None:
    """Let no file of these processes grow beyond so many bytes."""
    every: Any = psutil.RLIMIT_FSIZE
    for process in processes:
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            process.rlimit(every, (size, resource.RLIM_INFINITY))
