"""Compiled programs cut at random moments and restored: the same results as a straight run, in every form."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.contract import Form
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from tests.redis_server import connected

pytestmark = pytest.mark.slow

PROGRAM = """
program restored

record Event {
  at:    timestamp
  key:   string?
  value: int
}

sink shares   = files("out/shares", format = json, mode = append)
sink totals   = redis("restored:totals", key = t => t.key, mode = upsert)
sink kinds    = files("out/kinds", format = json, mode = append)
sink best     = files("out/best", format = json, mode = append)
sink joined   = files("out/joined", format = json, mode = append)
sink final    = files("out/final", format = json, mode = append)
sink ordered  = files("out/ordered", format = json, mode = append)

stream main {
  events = files("events/*.json", format = json).as(Event).event_time(e => e.at, disorder = 2s)

  shares_ = events
    .map_to_pair(e => (e.key ?? "none", 100 // e.value))
    .window(tumbling(5s))
    .reduce_by_key((a, b) => a + b)
  shares_.to(shares)

  totals_ = events.filter(e => e.key is not null).map_to_pair(e => (e.key, e.value)).reduce_by_key((a, b) => a + b)
  totals_.to(totals)
  totals_.filter(t => t.value > 0).to(final)

  kinds_ = events.map(e => e.key).distinct()
  kinds_.to(kinds)

  best_ = events.top(7, by = e => e.value)
  best_.to(best)

  ordered_ = events.map(e => e.value % 10).sort(by = v => v)
  ordered_.to(ordered)

  names = files("names.csv", format = csv).as(Name)
  joined_ = events.filter(e => e.value > 90).join(names, on = (e, n) => e.key == n.key)
  joined_.to(joined)

}

record Name {
  key:  string
  name: string
}
"""


def make(base: Path) -> Bundle:
    chance = random.Random(2)
    (base / "events").mkdir()
    for number in range(3):
        lines: list[str] = []
        for n in range(1500):
            event = {
                "at": n * 0.02 - chance.random() * 4,
                "key": chance.choice(["a", "b", None]),
                "value": chance.randrange(100),
            }
            lines.append(json.dumps(event) if chance.random() > 0.01 else '{"at": "never"}')
        (base / "events" / f"{number}.json").write_text("\n".join(lines))
    (base / "names.csv").write_text('key,name\na,"Anna, the first"\nb,Ben\nc,Cem\nb,Bea\nx\n')
    source = base / "restored.istream"
    source.write_text(PROGRAM)
    return Bundle.open(build(source), cache=base / "cache")


def results(bundle: Bundle, connections: Connections, state: Path) -> dict[str, Counter[str]]:
    found = {sink.name: Counter(map(repr, read(sink, connections))) for sink in bundle.program.sinks}
    letters: Counter[str] = Counter()
    for path in (state / "dead" / "restored" / "main").glob("*.json*"):
        letters.update(path.read_text().splitlines())
    found["dead"] = letters
    return found


def start(
    bundle: Bundle,
    base: Path,
    run: str,
    connections: Connections,
    form: Form,
    commit_s: float,
    piece: int,
    parallelism: int = 1,
) -> Engine:
    return Engine(
        bundle,
        connections=connections,
        state=base / run / "state",
        form=form,
        commit_s=commit_s,
        piece=piece,
        parallelism=parallelism,
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return make(tmp_path_factory.mktemp("restored"))


def places(bundle: Bundle, run: str) -> tuple[Path, Connections]:
    """A folder of its own with the same inputs, and places in memory of its own."""
    base = bundle.path.parent
    folder = base / run
    folder.mkdir()
    for name in ("events", "names.csv"):
        (folder / name).symlink_to(base / name)
    return base, connected(folder)


@pytest.fixture(scope="module")
def straight(bundle: Bundle) -> dict[str, Counter[str]]:
    base, connections = places(bundle, "straight")
    start(bundle, base, "straight", connections, "rows", 1.0, FIRST_PIECE).run()
    found = results(bundle, connections, base / "straight" / "state")
    assert all(found.values())
    return found


@pytest.mark.parametrize("form", ["rows", "columns", "auto"])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_cut_and_restored_gives_what_a_straight_one_gives(
    bundle: Bundle, straight: dict[str, Counter[str]], form: Form, seed: int
) -> None:
    """Each part of it with another number of instances."""
    chance = random.Random(seed)
    size = chance.choice([500, 5000, 20_000])
    run = f"{form}-{seed}"
    base, connections = places(bundle, run)
    for _ in range(6):
        running = start(bundle, base, run, connections, form, 0.002, size, chance.choice((1, 2, 3)))
        running.start()
        running.wait(timeout=chance.uniform(0, 0.15))
        running.close()
        running.check()
    start(bundle, base, run, connections, form, 1.0, size, chance.choice((1, 3))).run()
    found = results(bundle, connections, base / run / "state")
    for name, rows in straight.items():
        assert found[name] == rows, name
