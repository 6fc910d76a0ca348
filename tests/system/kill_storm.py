"""Kills random processes of a daemon at random moments and sees whether all promises are kept.

    python -m tests.system.kill_storm --kills 200

Meanwhile the stream writes, its policy calls a Spark job, callers call both over HTTP and readers read the sinks. At
the end: every record is in the sink once, every accepted call has one final answer, nothing is left running or locked.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil

from ghcm.tables.plain import PlainTable
from tests.system.running import Answer, Running, running, until

FINAL = ("done", "failed", "expired", "cancelled")
PATIENCE = 300.0
PROGRAM = """\
program storm

sink all    = files("out/all", format = json, mode = append)
sink latest = redis("storm:latest", key = p => p.key, mode = upsert)

stream feed {
  numbers = generate(rows = ROWS, rate = RATE)
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  numbers.to(all)PUBLISH
}

responsive stream count_of(digit: int) { feed.counts.read(digit).reply() }
"""
PUBLISH = ".publish(tally(below = max(number)), every = EVERY, at_end = true)"
BATCH = """
sink tallies = parquet("out/tallies", mode = replace)

responsive batch tally(below: int = 1000) {
  all.read().filter(n => n.number <= below).map_to_pair(n => (n.number % 10, 1)).count().to(tallies)
}
"""


def program(rows: int, rate: int, *, spark: bool) -> str:
    """The program of a storm; without Spark it has no batch unit and calls none."""
    text = PROGRAM.replace("PUBLISH", PUBLISH) + BATCH if spark else PROGRAM.replace("PUBLISH", "")
    return text.replace("ROWS", str(rows)).replace("RATE", str(rate)).replace("EVERY", str(max(1000, rows // 10)))


@dataclass
class Storm:
    """One storm: what was killed, which calls were accepted, and what was found wrong."""

    daemon: Running
    random: random.Random
    spark: bool
    kills: dict[str, int] = field(default_factory=dict[str, int])
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    wrong: list[str] = field(default_factory=list[str])
    over: threading.Event = field(default_factory=threading.Event)

    def rage(self, job: str, kills: int) -> None:
        """Kill so many processes."""
        while sum(self.kills.values()) < kills:
            time.sleep(self.random.uniform(0.0, 1.2))  # the moments are what is tested
            name = self.random.choice(["http", "redis", job, job] + (["spark"] if self.spark else []))
            pid = self.daemon.pid(name)
            if pid is None:
                continue
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            kind = "engine" if name == job else name
            self.kills[kind] = self.kills.get(kind, 0) + 1

    def call(self) -> None:
        """Call units without end; keep every call that was accepted, and every final answer that was seen."""
        chance = random.Random(self.random.random())
        while not self.over.is_set():
            batch = self.spark and chance.random() < 0.05
            unit, body = ("tally", {"below": 500}) if batch else ("count_of", {"digit": chance.randrange(10)})
            wait = "" if chance.random() < 0.5 else "?wait=1"
            answer = self.insist(f"/programs/storm/units/{unit}/calls{wait}", body, f"call-{chance.getrandbits(60):x}")
            if answer is None:
                return
            if answer.status in (200, 202):
                self.note(answer.json)
            elif answer.status not in (404, 429, 503):
                self.wrong.append(f"a call was answered with {answer.status}: {answer.text}")
            self.over.wait(0.05)

    def insist(self, path: str, body: object, id: str) -> Answer | None:
        """Make a call under an id of its own, again and again while who answers is killed; None when all is over."""
        while not self.over.is_set():
            try:
                return self.daemon.post(path, body, Idempotency_Key=id)
            except (OSError, HTTPException):
                self.over.wait(0.05)
        return None

    def note(self, call: Any) -> None:
        """Compare what is said of a call with what was said before."""
        self.accepted[call["id"]] = call["links"]["self"]
        if call["state"] in FINAL:
            told = json.dumps([call["state"], call["rows"], call["ended"], call["error"]])
            if self.answers.setdefault(call["id"], told) != told:
                self.wrong.append(f"call {call['id']} has two answers: {self.answers[call['id']]} and {told}")

    def read(self) -> None:
        """Read the sink without end: what is committed is whole."""
        while not self.over.is_set():
            try:
                numbers_in(self.daemon.folder)
            except (ValueError, KeyError, FileNotFoundError) as error:
                self.wrong.append(f"a reader saw {error!r}")
            self.over.wait(0.05)

    def settle(self) -> None:
        """Wait for an answer to every call that was accepted."""
        for id, link in list(self.accepted.items()):

            def final(link: str = link) -> bool:
                call = self.daemon.get(f"{link}?wait=20").json
                self.note(call)
                return call["state"] in FINAL

            until(final, f"an answer to call {id}", PATIENCE)


def numbers_in(folder: Path) -> list[int]:
    """The numbers in the committed files of the sink."""
    table = folder / "out/all"
    found: list[int] = []
    for file in PlainTable(table).live():
        rows = (table / file.name).read_text().splitlines()
        if len(rows) != file.rows:
            raise ValueError(f"{file.name} has {len(rows)} rows, its name says {file.rows}")
        found += [json.loads(row)["number"] for row in rows]
    return found


def storm(folder: Path, kills: int, seed: int, *, spark: bool, rate: int = 200) -> Storm:
    """A storm of so many kills in this folder; AssertionError for a promise that was not kept."""
    rows = rate * max(10, kills)
    (folder / "storm.istream").write_text(program(rows, rate, spark=spark))
    with running(folder, GHCM_LIMITS_RESTARTS="100000") as daemon:
        job = daemon.submit("storm.istream")
        found = Storm(daemon, random.Random(seed), spark)
        helpers = [threading.Thread(target=work) for work in (found.call, found.call, found.read)]
        for helper in helpers:
            helper.start()
        try:
            found.rage(job, kills)
        finally:
            found.over.set()
            for helper in helpers:
                helper.join()
        until(lambda: daemon.job(job)["inputs_done"], "the stream to end" + daemon.log(job), PATIENCE)
        found.settle()
        check_end(found, daemon, job, rows)
    assert orphans(folder) == []
    with running(folder):  # no lock and no socket is in the way of the next
        pass
    return found


def check_end(found: Storm, daemon: Running, job: str, rows: int) -> None:
    """What must hold when the storm is over."""
    assert not found.wrong, found.wrong[:5]
    assert sorted(numbers_in(daemon.folder)) == list(range(rows))
    answer = daemon.post("/programs/storm/units/count_of/calls?wait=30", {"digit": 3})
    assert answer.json["data"] == [{"key": 3, "value": rows // 10}], answer.text
    calls: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]

    def answered() -> bool:
        listed: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]
        return all(call["state"] in FINAL for call in listed)

    until(answered, "all calls of policies to be answered", PATIENCE)
    assert {each["id"] for each in calls} >= set(found.accepted)
    assert daemon.job(job)["state"] == "running"


def orphans(folder: Path) -> list[str]:
    """Processes that still use the folder."""
    found: list[str] = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and process.pid != os.getpid():
            found.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--without-spark", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="ghcm-storm-") as folder:
        begun = time.monotonic()
        found = storm(Path(folder), options.kills, options.seed, spark=not options.without_spark)
        states: dict[str, int] = {}
        for told in found.answers.values():
            states[json.loads(told)[0]] = states.get(json.loads(told)[0], 0) + 1
        print(f"kills: {found.kills}\naccepted calls: {len(found.accepted)}, answered: {states}")
        print(f"all promises were kept, in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
