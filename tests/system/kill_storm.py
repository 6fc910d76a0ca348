"""Strikes a daemon with faults at random moments and sees whether all promises are kept.

    python -m tests.system.kill_storm --faults 25 --storms 8
    python -m tests.system.kill_storm --faults 30 --services --without-spark

Meanwhile the stream writes, its policy calls a Spark job, callers call both over HTTP and readers read the sinks. At
the end: every record is in the sinks once, what a Python function with state makes of them too, every accepted call has
one final answer, `/ready` told the truth all the time, nothing has grown without bound, nothing is left running or
locked. With services the records come from a topic and calls travel on Kafka; the broker, its Redis and the daemon
itself are among the victims.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Producer

from ghcm.runtime.pubsub.services import service_logins, start_services, stop_services
from tests.kafka_server import client, quiet
from tests.system.running import running, until
from tests.system.storm.calls import FINAL, PATIENCE, RECOVERY, Callers
from tests.system.storm.faults import LONGEST, Fault, Place, clock_layer, faults, mounted
from tests.system.storm.sinks import answers_on_kafka, heard_in, numbers_in, numbers_in_table
from tests.system.storm.sizes import Sizes
from tests.system.storm.truth import NOTICED, Truth

RATE = 60
"""Records in a second."""
SECONDS = 4
"""How long the stream flows for each fault."""
WAITS = 20
"""So many numbers of each key may wait for others when a topic rests."""
TOPIC = "storm.numbers"
PROGRAM = """\
program storm

record Number { number: int }
record Heard { count: int, sum: int }

sink heard  = files("out/heard", format = json, mode = append)
sink all    = files("out/all", format = json, mode = append)
sink table  = parquet("out/table", mode = append)
sink latest = redis("storm:latest", key = p => p.key, mode = upsert)

stream feed {
  numbers = SOURCE
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  numbers.event_time(n => from_micros(n.number), disorder = 0s).map_to_pair(n => (n.number % 10, n.number))
         .process("hearing:step", state = Heard) : Heard
         .to(heard)
  numbers.map(n => Number { number: n.number }).to(table)
  numbers.to(all)PUBLISH
}

responsive stream count_of(digit: int) { feed.counts.read(digit).reply() }
"""
HEARING = '''\
"""Counts and sums the numbers of a key, and tells it five microseconds later."""

from datetime import timedelta


def step(key, value, time, state):
    if value is None:
        return [state], state, None
    count, sum = (0, 0) if state is None else (state.count, state.sum)
    return [], {"count": count + 1, "sum": sum + value}, time + timedelta(microseconds=5)
'''
GENERATED = "generate(rows = ROWS, rate = RATE)"
FROM_TOPIC = f'kafka("{TOPIC}", format = json).as(Number)'
PUBLISH = ".publish(tally(below = max(number)), every = EVERYAT_END)"
BATCH = """
sink tallies = parquet("out/tallies", mode = replace)

responsive batch tally(below: int = 1000) engine = spark {
  all.read().filter(n => n.number <= below).map_to_pair(n => (n.number % 10, 1)).count().to(tallies)
}
"""


def program(rows: int, *, spark: bool, topic: bool) -> str:
    """The program of a storm; without Spark it has no batch unit and calls none."""
    text = PROGRAM.replace("PUBLISH", PUBLISH) + BATCH if spark else PROGRAM.replace("PUBLISH", "")
    text = text.replace("SOURCE", FROM_TOPIC if topic else GENERATED)
    text = text.replace("AT_END", "" if topic else ", at_end = true")
    return text.replace("ROWS", str(rows)).replace("RATE", str(RATE)).replace("EVERY", str(max(1000, rows // 10)))


@contextmanager
def served(folder: Path, rows: int) -> Generator[Path]:
    """Kafka and Redis in this folder, and who sends so many records in a second to a topic, each once."""
    start_services(folder, quiet)
    over = threading.Event()
    # A broker that is killed is waited for.
    producer = Producer(client(service_logins(folder)[0], enable_idempotence=True, message_timeout_ms=0))

    def send() -> None:
        for number in range(rows):
            producer.produce(TOPIC, b'{"number": %d}' % number)
            producer.poll(0)
            if over.wait(1 / RATE):
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
    """One storm: who calls, what was struck, and what was seen meanwhile."""

    place: Place
    callers: Callers
    truth: Truth
    sizes: Sizes
    struck: Counter[str] = field(default_factory=Counter[str])
    recovered: float = 0.0
    """Seconds from the end of the last fault to the answer of a call that was made then."""

    def rage(self, count: int, kinds: frozenset[str], longest: float) -> None:
        """Strike so often: with each fault of these kinds once, as far as that goes, then with any."""
        table = [each for each in faults(self.place) if not kinds or each.kind in kinds]
        chance = self.place.random
        for fault in [*chance.sample(table, len(table)), *chance.choices(table, k=count)][:count]:
            time.sleep(chance.uniform(0.0, 1.2))  # the moments are what is tested
            self.strike(fault, chance.uniform(0.5, longest))
            self.struck[fault.name] += 1
            if chance.random() < 0.5:
                self.callers.await_one()
                time.sleep(chance.uniform(0.0, longest))
        self.recovered = self.callers.await_one()

    def strike(self, fault: Fault, seconds: float) -> None:
        """Let the fault begin and end; one of Spark ends when that answers again."""
        if os.environ.get("STORM_TOLD"):
            print(f"{time.monotonic():.1f} {fault.name} {seconds:.1f}", flush=True)
        with self.truth.struck(fault.name, serves=fault.serves):
            fault.strike(self.place, fault.what, seconds)
            if fault.what == "spark":
                self.callers.await_one("tally")

    def read(self) -> None:
        """Read the sinks without end: what is committed is whole."""
        folder = self.place.daemon.folder
        while not self.callers.over.is_set():
            try:
                numbers_in(folder)
                numbers_in_table(folder)
            except (ValueError, KeyError, FileNotFoundError) as error:
                self.callers.wrong.append(f"a reader saw {error!r}")
            self.sizes.look()
            self.callers.over.wait(0.5)

    def finish(self, rows: int) -> None:
        """Wait until all records are written and all calls answered."""
        daemon, job = self.place.daemon, self.place.job
        if self.place.services is None:
            until(lambda: daemon.job(job)["inputs_done"], "the stream to end" + daemon.log(job), PATIENCE)
        else:
            folder = daemon.folder

            def written() -> bool:
                return min(len(numbers_in(folder)), len(numbers_in_table(folder))) >= rows

            until(written, "all records" + daemon.log(job), PATIENCE)
        self.callers.settle()


def storm(
    folder: Path,
    count: int,
    seed: int,
    *,
    spark: bool,
    over: bool = False,
    kinds: frozenset[str] = frozenset(),
    longest: float = LONGEST,
    logs: Path | None = None,
) -> Storm:
    """A storm of so many faults in this folder, each of `longest` seconds at most, `over` a Kafka and a Redis that are
    struck too; AssertionError for a promise that was not kept.
    """
    rows = RATE * max(10, round(count * SECONDS * longest / LONGEST)) // 10 * 10
    (folder / "storm.istream").write_text(program(rows, spark=spark, topic=over))
    (folder / "hearing.py").write_text(HEARING)
    (folder / "clock").mkdir()
    state, profile = folder / ".ghcm", {"GHCM_PROFILE": "services"} if over else {}
    with ExitStack() as stack:
        disks = [stack.enter_context(mounted(each)) for each in (state, folder / "out")]
        if over:
            stack.enter_context(mounted(state / "services"))
            stack.enter_context(served(state / "services", rows))
        environment = {"GHCM_RESTARTS_LIMIT": "100000", **profile, **clock_layer(folder / "clock")}
        with running(folder, **environment) as daemon:
            if logs is not None:
                stack.push(partial(keep_logs, state / "logs", logs / str(seed)))
            chance, services = random.Random(seed), state / "services" if over else None
            clock, job = folder / "clock/clock", daemon.submit("storm.istream")
            place = Place(daemon, chance, job, spark, services, all(disks), clock)
            found = Storm(place, Callers(daemon, chance, spark), Truth(daemon), Sizes(daemon))
            weather(found, count, kinds, longest)
            found.finish(rows)
            check_end(found, rows)
        assert over or orphans(folder) == []
        with running(folder, **environment):  # no lock and no socket is in the way of the next
            pass
    return found


def keep_logs(of: Path, to: Path, kind: object, error: BaseException | None, _trace: object) -> None:
    """Keep the logs of a storm that has failed."""
    if error is not None:
        shutil.copytree(of, to, dirs_exist_ok=True)


def weather(found: Storm, count: int, kinds: frozenset[str], longest: float) -> None:
    """Rage while callers call and readers read; raises what ends one of them before its time."""
    callers, truth = found.callers, found.truth
    beside, asking = (callers.call, callers.call, found.read), (truth.ask, truth.call)
    with ThreadPoolExecutor(len(beside) + len(asking)) as threads:
        work = [threads.submit(each) for each in beside]
        try:
            callers.await_one("tally" if found.place.spark else "count_of")
            work += [threads.submit(each) for each in asking]  # while Spark starts, /ready speaks of other calls
            found.sizes.before = found.sizes.memory()
            found.rage(count, kinds, longest)
            time.sleep(NOTICED + 1)  # what /ready says then is heard too
        finally:
            callers.over.set()
            truth.over.set()
    for each in work:
        each.result()


def check_end(found: Storm, rows: int) -> None:
    """What must hold when the storm is over."""
    daemon = found.place.daemon
    assert not found.callers.wrong, found.callers.wrong[:5]
    assert sorted(numbers_in(daemon.folder)) == list(range(rows))
    assert sorted(numbers_in_table(daemon.folder)) == list(range(rows))
    told, expected_of = heard_in(daemon.folder), heard_of(rows)
    missing = expected_of - told
    assert told - expected_of == Counter(), "the function has told what it was not to tell"
    if found.place.services is None:
        assert missing == Counter()
    else:  # a topic has no end, so that the last ones of it wait
        assert all(number > rows // 10 - WAITS for _, number, _ in missing), missing
    expected = [{"key": 3, "value": rows // 10}]
    path, id, calm = "/programs/storm/units/count_of/calls?wait=30", f"end-{uuid.uuid4()}", time.monotonic()
    answer = found.callers.ask(path, {"digit": 3}, id)
    while answer.status == 202 and answer.json["state"] not in FINAL and time.monotonic() < calm + RECOVERY:
        answer = found.callers.ask(f"{answer.json['links']['self']}?wait=5")
    assert answer.json.get("data") == expected, answer.text
    calls: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]

    def answered() -> bool:
        listed: Any = daemon.control.ask("calls", program="storm", limit=100_000)["calls"]
        return all(call["state"] in FINAL for call in listed)

    until(answered, "all calls of policies to be answered", PATIENCE)
    assert {each["id"] for each in calls} >= set(found.callers.accepted)
    if found.place.services is not None:
        found_there = answers_on_kafka(found.place.services)
        assert {id: answers for id, answers in found_there.items() if len(answers) > 1} == {}
    assert daemon.job(found.place.job)["state"] == "running"
    assert found.truth.told and found.truth.tried
    lies, large = found.truth.lies(), found.sizes.too_large()
    assert not lies, "\n".join(lies)
    assert not large, large


def heard_of(rows: int) -> Counter[tuple[int, int, int]]:
    """What the function with state tells of numbers up to that."""
    counts = range(1, rows // 10 + 1)
    return Counter((key, count, key * count + 5 * count * (count - 1)) for key in range(10) for count in counts)


def orphans(folder: Path) -> list[str]:
    """Processes that still use the folder."""
    found: list[str] = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line and process.pid != os.getpid():
            found.append(line)
    return found


def told(found: Storm) -> str:
    """What a storm was, for who has sent it."""
    states: Counter[str] = Counter()
    for answer in found.callers.answers.values():
        state, _, _, error = json.loads(answer)
        states[state if error is None else f"{state}, {error['code']}"] += 1
    ready = Counter(each.status for each in found.truth.told)
    after = {name: size >> 20 for name, size in found.sizes.last.items()}
    return (
        f"faults: {dict(found.struck)}, accepted calls: {len(found.callers.accepted)}, answered: {dict(states)}, "
        f"/ready: {dict(ready)}, MB of memory: {after}, of log at most: {found.sizes.log >> 20}; "
        f"an answer {found.recovered:.1f} s after the last fault; all promises were kept"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=25, help="of each storm")
    parser.add_argument("--kinds", default="", help="only these, as in kill,stop,clock")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first storm")
    parser.add_argument("--storms", type=int, default=1, help="one after the other, each with a seed of its own")
    parser.add_argument("--services", action="store_true")
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of a storm that fails")
    options = parser.parse_args()
    named: str = options.kinds
    kinds, spark = frozenset(each for each in named.split(",") if each), not options.without_spark
    for seed in range(options.seed, options.seed + options.storms):
        with tempfile.TemporaryDirectory(prefix="ghcm-storm-") as folder:
            begun = time.monotonic()
            print(f"seed {seed}", end=": ", flush=True)
            found = storm(
                Path(folder), options.faults, seed, spark=spark, over=options.services, kinds=kinds, logs=options.logs
            )
            print(f"{told(found)}, in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
