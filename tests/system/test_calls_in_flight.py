"""Calls that run when others come or when their program is stopped, with everything a user runs: the daemon and Spark.

A gate is a pipe that a call of the batch unit reads: it waits there until the test lets it pass.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from ghcm.tables.plain import PlainTable
from tests.system.running import PATIENCE, Running, clean_environment, running, until

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """program work

record Number { n: int }

sink seen = files("out/seen", format = json, mode = append)
sink kept = files("out/kept", format = json, mode = replace)

stream feed {
  files("in", format = json, follow = true).as(Number).to(seen).publish(keep(n = max(n)), every = 1)
}

responsive batch keep(n: int) engine = spark {
  generate(rows = 1).map(g => g.number + n).python("gates:pass_gate") : int .to(kept)
}

responsive batch other(n: int) engine = spark { generate(rows = 2).map(g => g.number + n).reply() }
"""
GATES = """import os


def pass_gate(number):
    gate = os.path.join(FOLDER, f"gate-{number}")
    if os.path.exists(gate):
        with open(gate) as pipe:
            pipe.read()
    return number
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("work")
    (folder / "in").mkdir()
    (folder / "work.istream").write_text(PROGRAM)
    (folder / "gates.py").write_text(f"FOLDER = {str(folder)!r}\n{GATES}")
    with running(folder, GHCM_SPARK_MASTER="local[2]") as daemon:
        yield daemon


def submit(work: Running, *words: str) -> str:
    done = work.cli("submit", "work.istream", "--wait", "--json", *words)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["id"])


def stop(work: Running, grace: int) -> Any:
    done = work.cli("stop", "work", "--json", "--grace", str(grace))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def publish(work: Running, number: int) -> str:
    """Have the policy call `keep` with this number; the id of the call."""
    known = {call["id"] for call in calls(work)}
    draft = work.folder / f"{number}.draft"
    draft.write_text(json.dumps({"n": number}) + "\n")
    draft.rename(work.folder / "in" / f"{number:03}.json")

    def new() -> list[Any]:
        return [call for call in calls(work) if call["id"] not in known and call["parameters"] == {"n": number}]

    until(new, f"the policy to call with {number}" + work.log("daemon"))
    return str(new()[0]["id"])


def calls(work: Running) -> list[Any]:
    listed: Any = work.control.ask("calls", program="work", limit=1000)["calls"]
    return list(listed)


def call(work: Running, id: str) -> Any:
    return next(each for each in calls(work) if each["id"] == id)


def final(work: Running, id: str) -> Any:
    until(lambda: call(work, id)["state"] not in ("accepted", "running"), f"an answer to {id}" + work.log("spark"))
    return call(work, id)


def latest(work: Running) -> list[int]:
    """The numbers in the sink that is replaced."""
    files = (work.folder / "out/kept" / file.name for file in PlainTable(work.folder / "out/kept").live())
    return [json.loads(line)["value"] for file in files for line in file.read_text().splitlines()]


@contextmanager
def gate(work: Running, number: int) -> Generator[None]:
    """A gate for calls with this number."""
    path = work.folder / f"gate-{number}"
    os.mkfifo(path)
    try:
        yield
    finally:
        path.unlink()


@contextmanager
def at_gate(work: Running, number: int) -> Generator[int]:
    """Wait until a call stands at the gate; it may pass when the block ends. Gives the end to write to."""
    path = work.folder / f"gate-{number}"
    doors: list[int] = []

    def reached() -> bool:
        with suppress(OSError):  # nobody reads
            doors.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(doors)

    until(reached, f"a call with {number} to begin", 5 * PATIENCE)  # Spark has to start first
    try:
        yield doors[0]
    finally:
        os.close(doors[0])


def test_an_older_call_that_is_slow_never_replaces_what_a_newer_one_wrote(work: Running) -> None:
    submit(work)
    with gate(work, 10):
        older = publish(work, 10)
        with at_gate(work, 10):
            newer = publish(work, 11)
            beside = work.post("/programs/work/units/other/calls?wait=60", {"n": 3})
            assert beside.json["state"] == "done", beside.text
            assert call(work, newer)["state"] == "accepted"
        found = [final(work, id) for id in (older, newer)]
        assert [each["state"] for each in found] == ["done", "done"]
        assert found[0]["ended"] <= found[1]["started"]
    assert latest(work) == [11]
    assert stop(work, 30)["calls"] == {"kept": 0, "answered": 0}


def start_stop(work: Running, grace: int) -> subprocess.Popen[str]:
    """A stop that is under way."""
    line = [sys.executable, "-m", "ghcm.cli", "stop", "work", "--json", "--grace", str(grace)]
    environment = clean_environment(**work.environment)
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, cwd=work.folder, stdout=pipe, stderr=pipe, text=True, env=environment)
    jobs: Any = lambda: work.control.ask("list")["jobs"]  # noqa: E731
    until(lambda: any(job["state"] == "stopping" for job in jobs()), "the job to be stopped")
    return process


def test_a_call_may_end_within_the_grace_and_no_new_one_is_taken(work: Running) -> None:
    submit(work, "--resume")
    with gate(work, 20):
        id = publish(work, 20)
        with at_gate(work, 20):
            stopping = start_stop(work, 60)

            def refused() -> bool:
                answer = work.post("/programs/work/units/other/calls", {"n": 1})
                return answer.status == 503 and answer.json["code"] == "GHCM-748"

            until(refused, "HTTP to take no more calls")
            assert call(work, id)["state"] == "running"
        said, notes = stopping.communicate(timeout=PATIENCE)
    stopped = json.loads(said)
    assert (stopped["state"], stopped["calls"]) == ("stopped", {"kept": 0, "answered": 0})
    assert "work: waiting up to 60 s for 1 call" in notes
    assert call(work, id)["state"] == "done"
    assert latest(work) == [20]


def test_what_a_stop_broke_off_runs_again_when_the_program_is_resumed(work: Running) -> None:
    job = submit(work, "--resume")
    with gate(work, 30):
        own = publish(work, 30)
        with at_gate(work, 30) as door:
            from_outside = work.post("/programs/work/units/keep/calls", {"n": 31}).json["id"]
            assert stop(work, 0)["calls"] == {"kept": 1, "answered": 1}
            until(lambda: not stands_at(door), "Spark to end the process that ran the function")
    assert call(work, own)["state"] == "accepted"
    answer = call(work, from_outside)
    assert (answer["state"], answer["feedback"]["error"]["code"]) == ("failed", "GHCM-748")
    assert latest(work) != [30]

    assert submit(work, "--resume") == job
    again = final(work, own)
    assert (again["state"], again["attempts"]) == ("done", 2)
    assert latest(work) == [30]
    assert call(work, from_outside) == answer
    assert stop(work, 30)["calls"] == {"kept": 0, "answered": 0}


def stands_at(door: int) -> bool:
    """Whether the call still waits at the gate."""
    try:
        os.write(door, b"?")
    except BrokenPipeError:
        return False
    return True


def test_a_stop_can_be_hurried_and_what_is_never_resumed_is_answered(work: Running) -> None:
    submit(work, "--resume")
    with gate(work, 40):
        id = publish(work, 40)
        with at_gate(work, 40):
            patient = start_stop(work, 600)
            hurried = stop(work, 0)
            said, _ = patient.communicate(timeout=PATIENCE)
    assert hurried["calls"] == json.loads(said)["calls"] == {"kept": 1, "answered": 0}
    assert call(work, id)["state"] == "accepted"

    submit(work, "--fresh")
    answer = final(work, id)
    assert (answer["state"], answer["feedback"]["error"]["code"]) == ("failed", "GHCM-748")
    assert "has begun anew" in answer["feedback"]["error"]["message"]
    stop(work, 0)
