"""A program that grows while it runs, with all its processes: what it had goes on as if nothing had been changed."""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from tests.campaigns import times
from tests.system.growing import check_changed_policy, check_kept_policy, versions
from tests.system.running import Running, running, until

pytestmark = pytest.mark.system

TIMINGS = times(10)
ROWS, RATE = 30_000, 3000
BATCH = """
sink folded = parquet("out/folded", mode = replace)

responsive batch fold(below: int = 1000) engine = spark {
  all.read().filter(n => n.number <= below).map_to_pair(n => (n.number % 10, 1)).count().to(folded)
}
"""


def write(folder: Path) -> str:
    """The two versions as programs and bundles in the folder; the text of the second."""
    texts = versions(f"generate(rows = {ROWS}, rate = {RATE})")
    for name, text in zip(("one", "two"), texts, strict=True):
        (folder / f"{name}.istream").write_text(text)
        build(folder / f"{name}.istream")
    return texts[1]


def grow(daemon: Running, name: str) -> Any:
    """Submit a bundle, as `ghcm submit` does without the time that it takes to start."""
    path = str(daemon.folder / f"{name}.ghcm")
    return daemon.control.ask("submit", bundle=path, base=str(daemon.folder.absolute()), again="unsaid")


def check(daemon: Running, job: str) -> None:
    """Sinks and calls hold what those of an undisturbed run hold."""
    connections = Connections(daemon.folder, str(daemon.control.ask("status")["redis"]))
    program = Bundle.open(daemon.folder / "two.ghcm").program
    assert Counter(row[0] for row in read(program.sink("all"), connections)) == Counter(range(ROWS))
    assert Counter(row[0] for row in read(program.sink("sevens"), connections)) == Counter(range(0, ROWS, 7))
    assert dict(read(program.sink("latest"), connections)) == dict.fromkeys(range(10), ROWS // 10)  # type: ignore[arg-type]
    connections.close()
    until(lambda: not opened(daemon), "an answer to every call")
    store = open_store(daemon.state.store)
    calls = store.calls.find("shop", limit=100_000)
    store.close()
    published = {call.id: call for call in calls if call.id.startswith(job)}
    check_kept_policy(job, {id: call.instruction.parameters for id, call in published.items()}, ROWS)
    check_changed_policy([(id, e.unit, e.instruction.parameters) for id, e in published.items() if ".sevens." in id])
    assert {call.state.value for call in calls if call.unit in ("tally", "audit")} == {"done"}
    for call in calls:
        reason = call.feedback.error.message if call.feedback.error is not None else ""
        assert call.state.value == "done" or "has no unit" in reason, (call.id, call.state, reason)


def opened(daemon: Running) -> int:
    calls: Any = daemon.control.ask("calls", program="shop", state="accepted", limit=10)["calls"]
    running: Any = daemon.control.ask("calls", program="shop", state="running", limit=10)["calls"]
    return len(calls) + len(running)


class Callers:
    """Calls units without end; `refused` says how often one was not there."""

    def __init__(self, daemon: Running) -> None:
        self.daemon = daemon
        self.over = threading.Event()
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._thread = threading.Thread(target=self._call)

    def __enter__(self) -> "Callers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._thread.join()
        assert not self.wrong, self.wrong

    def _call(self) -> None:
        for number in range(1_000_000):
            if self.over.is_set():
                return
            unit, body = (("tally", {"below": 7}), ("profile", {"last": 7}))[number % 2]
            try:
                answer = self.daemon.post(f"/programs/shop/units/{unit}/calls?wait=60", body)
            except (OSError, HTTPException):  # killed meanwhile
                continue
            state = answer.json["state"] if answer.status in (200, 202) else str(answer.json["code"])
            self.answers[f"{unit} {state}"] += 1
            good = ("done",) if unit == "tally" else ("done", "failed", "GHCM-322")
            if state not in good and answer.status != 503:
                self.wrong.append(f"{unit}: {answer.status} {answer.text}")


def test_what_it_had_goes_on_while_a_unit_comes_and_goes(tmp_path: Path) -> None:
    write(tmp_path)
    chance = random.Random(7)
    with running(tmp_path, GHCM_COMMIT_INTERVAL="0.1") as daemon:
        job = str(grow(daemon, "one")["job"]["id"])
        until(lambda: daemon.job(job)["state"] == "running", "the job to run")
        with Callers(daemon) as callers:
            engine = daemon.pid(job)
            for number in range(TIMINGS):
                time.sleep(chance.uniform(0, 0.4))  # the moments are what is tested
                answer = grow(daemon, "one" if number % 2 else "two")
                assert answer["job"]["version"] == number + 2
                said = {each["name"]: each["change"] for each in answer["growth"]["changes"]}
                assert said["sevens.publish"] == "swapped"
                assert said["profile"] == ("dropped" if number % 2 else "added")
                assert said["feed"] == said["all.publish"] == said["tally"] == said["audit"] == "kept"
            grow(daemon, "two")
            until(lambda: version_over_http(daemon) == TIMINGS + 2, "HTTP to know the version")
            until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
            until(lambda: all(callers.answers[f"{unit} done"] for unit in ("tally", "profile")), "answers of both")
        assert daemon.pid(job) == engine
        check(daemon, job)
        listed = json.loads(daemon.cli("ps", "--json").stdout)["jobs"]
        assert [each["version"] for each in listed] == [TIMINGS + 2]


def test_whoever_is_killed_the_program_is_one_version_or_the_other(tmp_path: Path) -> None:
    write(tmp_path)
    chance = random.Random(3)
    with running(tmp_path, GHCM_COMMIT_INTERVAL="0.1", GHCM_RESTARTS_LIMIT="100") as daemon:
        job = str(grow(daemon, "one")["job"]["id"])
        until(lambda: daemon.job(job)["state"] == "running", "the job to run")
        for number, name in enumerate([job, "http", "redis", job, "daemon", job, job]):
            version = daemon.job(job)["version"]
            killer = threading.Timer(chance.uniform(0, 0.1), kill, [daemon, name])
            killer.start()
            try:
                grow(daemon, "two" if version % 2 else "one")
            except Exception as error:  # whoever was asked, or was to do it, is dead
                assert "Traceback" not in str(error), number
            killer.join()
            if name == "daemon":
                assert daemon.process is not None
                daemon.process.wait(60)
                daemon.start()
            until(lambda: daemon.job(job)["state"] == "running", "the job to run again")
            known = daemon.job(job)["version"]
            assert known in (version, version + 1)

            until(lambda known=known: offers(daemon) == (known % 2 == 0), "HTTP to offer the units of that version")  # type: ignore[misc]
            called = daemon.post("/programs/shop/units/profile/calls?wait=60", {"last": 1})
            assert called.status == (200 if known % 2 == 0 else 404), called.text
        until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
        check(daemon, job)


def version_over_http(daemon: Running) -> object:
    return daemon.get("/programs/shop").json["version"]


def offers(daemon: Running) -> bool:
    """Whether HTTP has the unit of the second version."""
    answer = daemon.get("/programs/shop")
    return answer.status == 200 and any(unit["name"] == "profile" for unit in answer.json["units"])


def kill(daemon: Running, name: str) -> None:
    """SIGKILL, to whoever bears the name just now."""
    assert daemon.process is not None
    pid = daemon.process.pid if name == "daemon" else daemon.pid(name)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


def test_a_spark_job_joins_and_an_edit_that_needs_more_is_refused(tmp_path: Path) -> None:
    two = write(tmp_path)
    (tmp_path / "three.istream").write_text(two + BATCH)
    (tmp_path / "four.istream").write_text((two + BATCH).replace("n.number % 7", "n.number % 5"))
    with running(tmp_path) as daemon:
        job = daemon.submit("one.istream")
        refused = daemon.cli("submit", "one.istream")
        assert refused.returncode == 1 and "runs already" in refused.stderr and "Nothing in it" in refused.stderr
        done = daemon.cli("submit", "three.istream")
        assert done.returncode == 0, done.stderr
        assert f"{job}: running, version 2" in done.stdout
        assert "added    unit    fold" in done.stdout and "counts anew" in done.stdout
        called = daemon.post("/programs/shop/units/fold/calls?wait=60", {"below": 99})
        while called.json["state"] in ("accepted", "running"):
            called = daemon.get(f"{called.json['links']['self']}?wait=60")
        assert (called.json["state"], called.json["rows"]) == ("done", 10), called.text
        more = daemon.cli("submit", "four.istream")
        assert more.returncode == 2
        assert 'Task "marked" of unit "feed" has changed' in more.stderr and "four.istream:14:" in more.stderr
        assert "ghcm stop shop" in more.stderr
        assert daemon.job(job)["version"] == 2
        daemon.cli("stop", "shop")
        resumed = daemon.cli("submit", "one.istream", "--resume", "--wait")
        assert resumed.returncode == 0, resumed.stderr
        assert f"{job}: running, version 3" in resumed.stdout
        assert daemon.post("/programs/shop/units/fold/calls", {}).status == 404
