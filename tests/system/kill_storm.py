"""Kills random processes of a daemon at random moments and sees whether all promises are kept.

    python -m tests.system.kill_storm --kills 200
    python -m tests.system.kill_storm --kills 4 --storms 100 --services

Meanwhile the stream writes, its policy calls a Spark job, callers call both over HTTP and readers read the sinks. At
the end: every record is in the sinks once, every accepted call has one final answer, nothing is left running or locked.
With services the records come from a topic and calls travel on Kafka; the broker, its Redis and the daemon itself are
among the victims, and some stand still for seconds and go on, as if the network had paused.
"""

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import polars as pl
import psutil
from confluent_kafka import Producer

from ghcm.runtime.pubsub.kafka_connection import Kafka, topic_name
from ghcm.runtime.pubsub.services import services, start_services, stop_services
from ghcm.tables.plain import PlainTable
from tests.kafka_server import quiet, records
from tests.system.running import Answer, Running, gone, running, until

FINAL = ("done", "failed", "expired", "cancelled")
PATIENCE, RECOVERY = 300.0, 60.0
TOPIC = "storm.numbers"
PROGRAM = """\
program storm

record Number { number: int }

sink all    = files("out/all", format = json, mode = append)
sink table  = parquet("out/table", mode = append)
sink latest = redis("storm:latest", key = p => p.key, mode = upsert)

stream feed {
  numbers = SOURCE
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  numbers.map(n => Number { number: n.number }).to(table)
  numbers.to(all)PUBLISH
}

responsive stream count_of(digit: int) { feed.counts.read(digit).reply() }
"""
GENERATED = "generate(rows = ROWS, rate = RATE)"
FROM_TOPIC = f'kafka("{TOPIC}", format = json).as(Number)'
PUBLISH = ".publish(tally(below = max(number)), every = EVERYAT_END)"
BATCH = """
sink tallies = parquet("out/tallies", mode = replace)

responsive batch tally(below: int = 1000) {
  all.read().filter(n => n.number <= below).map_to_pair(n => (n.number % 10, 1)).count().to(tallies)
}
"""


def program(rows: int, rate: int, *, spark: bool, topic: bool) -> str:
    """The program of a storm; without Spark it has no batch unit and calls none."""
    text = PROGRAM.replace("PUBLISH", PUBLISH) + BATCH if spark else PROGRAM.replace("PUBLISH", "")
    text = text.replace("SOURCE", FROM_TOPIC if topic else GENERATED)
    text = text.replace("AT_END", "" if topic else ", at_end = true")
    return text.replace("ROWS", str(rows)).replace("RATE", str(rate)).replace("EVERY", str(max(1000, rows // 10)))


@contextmanager
def served(folder: Path, rows: int, rate: int) -> Generator[Path]:
    """Kafka and Redis in this folder, and who sends so many records in a second to a topic, each once."""
    start_services(folder, quiet)
    over = threading.Event()
    producer = Producer(
        {
            "bootstrap.servers": services(folder)[0]["address"],
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # a broker that is killed is waited for
            "log_level": 0,
        }
    )

    def send() -> None:
        for number in range(rows):
            producer.produce(TOPIC, b'{"number": %d}' % number)
            producer.poll(0)
            if over.wait(1 / rate):
                break
        producer.flush(PATIENCE)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield folder
    finally:
        over.set()
        sender.join()
        stop_services(folder, quiet)


@dataclass
class Storm:
    """One storm: what was killed, which calls were accepted, and what was found wrong."""

    daemon: Running
    random: random.Random
    spark: bool
    services: Path | None
    program: str = "storm"
    kills: dict[str, int] = field(default_factory=dict[str, int])
    accepted: dict[str, str] = field(default_factory=dict[str, str])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    wrong: list[str] = field(default_factory=list[str])
    over: threading.Event = field(default_factory=threading.Event)
    recovered: float = 0.0
    """Seconds from the end of the last kill or pause to the answer of a call that was made then."""

    def rage(self, job: str, kills: int) -> None:
        """Kill so many processes: one of each kind, as far as that goes, then any."""
        kinds = ["http", "redis", job] + (["spark"] if self.spark else [])
        kinds += [] if self.services is None else ["kafka", "daemon"]
        victims = self.random.sample(kinds, len(kinds)) + self.random.choices([job, *kinds], k=kills)
        for name in victims[:kills]:
            struck = False
            while not struck:
                time.sleep(self.random.uniform(0.0, 1.2))  # the moments are what is tested
                pid = self.pid(name)
                struck = pid is not None and self.strike(pid, "engine" if name == job else name)
            self.raise_up(name)
        self.recover()

    def recover(self) -> None:
        """Call at once, until a call is done, and note the time."""
        calm = time.monotonic()

        def done() -> bool:
            answer = self.insist("/programs/storm/units/count_of/calls?wait=5", {"digit": 0}, f"calm-{uuid.uuid4()}")
            while answer is not None and answer.status in (200, 202) and answer.json["state"] not in FINAL:
                assert time.monotonic() < calm + RECOVERY, f"no answer in {RECOVERY:.0f} s: {answer.text}"
                answer = self.daemon.get(f"{answer.json['links']['self']}?wait=5")
            if answer is None or answer.status not in (200, 202):
                return False
            self.note(answer.json)
            return bool(answer.json["state"] == "done")

        until(done, "a call that is done", RECOVERY)
        self.recovered = time.monotonic() - calm

    def pid(self, name: str) -> int | None:
        """The process of that name, if it runs."""
        if name == "daemon":
            assert self.daemon.process is not None
            return self.daemon.process.pid
        if self.services is None or name not in ("kafka", "redis"):
            return self.daemon.pid(name)
        found: dict[str, int | None] = {each["name"]: each["pid"] for each in services(self.services)}
        return found[name]

    def strike(self, pid: int, kind: str) -> bool:
        """Kill a process, or, one time in four where there are services, stop it for a while; whether it was there."""
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            victim = [psutil.Process(pid)]
            if self.services is not None and self.random.random() < 0.25:
                kind = f"{kind} paused"
                os.kill(pid, signal.SIGSTOP)
                time.sleep(self.random.uniform(0.5, 4.0))
                os.kill(pid, signal.SIGCONT)
            else:
                os.kill(pid, signal.SIGKILL)
                gone(victim)
            self.kills[kind] = self.kills.get(kind, 0) + 1
            return True
        return False

    def raise_up(self, kind: str) -> None:
        """Start again what nobody else would."""
        if self.services is not None and kind in ("kafka", "redis"):
            start_services(self.services, quiet)
        if kind == "daemon" and self.daemon.process is not None and not self.daemon.runs():
            self.daemon.start()

    def call(self) -> None:
        """Call units without end; keep every call that was accepted, and every final answer that was seen."""
        chance = random.Random(self.random.random())
        while not self.over.is_set():
            batch = self.spark and chance.random() < 0.05
            unit, body = ("tally", {"below": 500}) if batch else ("count_of", {"digit": chance.randrange(10)})
            wait = "" if chance.random() < 0.5 else "?wait=1"
            answer = self.insist(
                f"/programs/{self.program}/units/{unit}/calls{wait}", body, f"call-{chance.getrandbits(60):x}"
            )
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
                numbers_in_table(self.daemon.folder)
            except (ValueError, KeyError, FileNotFoundError) as error:
                self.wrong.append(f"a reader saw {error!r}")
            self.over.wait(0.05)

    def finish(self, job: str, rows: int) -> None:
        """Wait until all records are written and all calls answered."""
        if self.services is None:
            until(lambda: self.daemon.job(job)["inputs_done"], "the stream to end" + self.daemon.log(job), PATIENCE)
        else:
            folder = self.daemon.folder

            def written() -> bool:
                return min(len(numbers_in(folder)), len(numbers_in_table(folder))) >= rows

            until(written, "all records" + self.daemon.log(job), PATIENCE)
        self.settle()

    def settle(self) -> None:
        """Wait for an answer to every call that was accepted."""
        for id, link in list(self.accepted.items()):

            def final(link: str = link) -> bool:
                call = self.daemon.get(f"{link}?wait=20").json
                self.note(call)
                return call["state"] in FINAL

            until(final, f"an answer to call {id}", PATIENCE)


def answers_on_kafka(folder: Path) -> dict[str, set[bytes]]:
    """The final answers to each call as they stand on Kafka."""
    told: dict[str, set[bytes]] = {}
    for each in records(topic_name("ghcm:feedback:supervisor"), Kafka(bootstrap=services(folder)[0]["address"])):
        answer = json.loads(each.value)
        if answer["state"] in FINAL:
            told.setdefault(answer["id"], set()).add(each.value)
    return told


def numbers_in(folder: Path) -> list[int]:
    """The numbers in the committed files of the sink, each once."""
    table = folder / "out/all"
    found: list[int] = []
    for file in PlainTable(table).live():
        rows = (table / file.name).read_text().splitlines()
        if len(rows) != file.rows:
            raise ValueError(f"{file.name} has {len(rows)} rows, its name says {file.rows}")
        found += [json.loads(row)["number"] for row in rows]
    return once(found)


def numbers_in_table(folder: Path) -> list[int]:
    """The numbers in the Delta table, each once."""
    table = folder / "out/table"
    return once(pl.read_delta(str(table))["number"].to_list()) if (table / "_delta_log").exists() else []


def once(numbers: list[int]) -> list[int]:
    if len(numbers) != len(set(numbers)):
        raise ValueError(f"{len(numbers) - len(set(numbers))} of {len(numbers)} rows are there twice")
    return numbers


def storm(folder: Path, kills: int, seed: int, *, spark: bool, rate: int = 200) -> Storm:
    """A storm of so many kills in this folder; AssertionError for a promise that was not kept."""
    rows = rate * max(10, kills)
    (folder / "storm.istream").write_text(program(rows, rate, spark=spark, topic=False))
    return rage(folder, rows, kills, seed, spark=spark, served_by=None)


def storm_over_services(folder: Path, kills: int, seed: int, *, spark: bool, rate: int = 200) -> Storm:
    """The same with a Kafka and a Redis that are killed, too."""
    rows = rate * max(10, 2 * kills)
    (folder / "storm.istream").write_text(program(rows, rate, spark=spark, topic=True))
    with served(folder / ".ghcm/services", rows, rate) as where:
        return rage(folder, rows, kills, seed, spark=spark, served_by=where)


def rage(folder: Path, rows: int, kills: int, seed: int, *, spark: bool, served_by: Path | None) -> Storm:
    profile = {} if served_by is None else {"GHCM_PROFILE": "services"}
    with running(folder, GHCM_RESTARTS_LIMIT="100000", **profile) as daemon:
        job = daemon.submit("storm.istream")
        found = Storm(daemon, random.Random(seed), spark, served_by)
        helpers = [threading.Thread(target=work) for work in (found.call, found.call, found.read)]
        for helper in helpers:
            helper.start()
        try:
            found.rage(job, kills)
        finally:
            found.over.set()
            for helper in helpers:
                helper.join()
        found.finish(job, rows)
        check_end(found, daemon, job, rows)
    assert orphans(folder) == [] if served_by is None else True
    with running(folder, **profile):  # no lock and no socket is in the way of the next
        pass
    return found


def check_end(found: Storm, daemon: Running, job: str, rows: int) -> None:
    """What must hold when the storm is over."""
    assert not found.wrong, found.wrong[:5]
    assert sorted(numbers_in(daemon.folder)) == list(range(rows))
    assert sorted(numbers_in_table(daemon.folder)) == list(range(rows))
    expected = [{"key": 3, "value": rows // 10}]

    answer, calm = daemon.post("/programs/storm/units/count_of/calls?wait=30", {"digit": 3}), time.monotonic()
    while answer.status == 202 and answer.json["state"] not in FINAL and time.monotonic() < calm + RECOVERY:
        answer = daemon.get(f"{answer.json['links']['self']}?wait=5")
    assert answer.json.get("data") == expected, answer.text
    calls: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]

    def answered() -> bool:
        listed: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]
        return all(call["state"] in FINAL for call in listed)

    until(answered, "all calls of policies to be answered", PATIENCE)
    assert {each["id"] for each in calls} >= set(found.accepted)
    if found.services is not None:
        assert {id: told for id, told in answers_on_kafka(found.services).items() if len(told) > 1} == {}
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
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first storm")
    parser.add_argument("--storms", type=int, default=1, help="one after the other, each with a seed of its own")
    parser.add_argument("--services", action="store_true")
    parser.add_argument("--without-spark", action="store_true")
    options = parser.parse_args()
    work = storm_over_services if options.services else storm
    for seed in range(options.seed, options.seed + options.storms):
        with tempfile.TemporaryDirectory(prefix="ghcm-storm-") as folder:
            print(f"seed {seed}", end=": ", flush=True)
            begun = time.monotonic()
            found = work(Path(folder), options.kills, seed, spark=not options.without_spark)
            states = Counter(json.loads(told)[0] for told in found.answers.values())
            print(f"kills: {found.kills}, accepted calls: {len(found.accepted)}, answered: {dict(states)}", end="; ")
            print(f"an answer {found.recovered:.1f} s after the last", end="; ")
            print(f"all promises were kept, in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
