"""`ghcm dead --replay`: what was refused runs through the mended program, each record once, whenever it is killed."""

import json
from pathlib import Path
from typing import Any

import pytest

from ghcm import driver
from ghcm.cli.sinks import dead
from ghcm.errors import GhcmError
from ghcm.language import parse
from ghcm.lowering import lower
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.sinks import kept_letters
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.connectors import Files, Format
from ghcm.spg.replayed import obstacle, replayed
from ghcm.spg.verify import verify
from tests.redis_server import connected

TEXT = """\
program v

record Visit { page: string, n: N, took: duration? }
record Share { page: string, n: int, took: duration? }

sink out = parquet("out/v", partition = v => v.page)
sink totals = redis("v:totals", key = t => t.key, mode = upsert)

stream watch {
  visits = files("visits.jsonl", format = json).as(Visit)
  shares = visits.map(v => Share { page: v.page, n: 100 // DIVISOR, took: v.took })
  shares.to(out)
  SUMS
}
"""
SUMS = """sums = visits.map_to_pair(v => (v.page, 100 // DIVISOR)).reduce_by_key((a, b) => a + b)
  sums.to(totals)"""
LINES = ('{"page":"/a","n":4}', '{"page":"/b","n":0,"took":1.5}', '{"page":"/c"}', "broken")


def text(*, mended: bool, sums: bool = False) -> str:
    divisor = "((v.n ?? 1) + 1)" if mended else "v.n"
    made = TEXT.replace("SUMS", SUMS if sums else "").replace("DIVISOR", divisor)
    return made.replace("n: N", "n: int?" if mended else "n: int")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the program has run, and has refused three of four lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GHCM_REDIS", connected(tmp_path).url or "")
    (tmp_path / "visits.jsonl").write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "v.istream").write_text(text(mended=False))
    state = StateDirectory(Path(".ghcm", "runs", "v"))
    state.bundle("v-1").parent.mkdir(parents=True)
    bundle = driver.build(Path("v.istream"), state.bundle("v-1"))
    store = open_store(state.store)
    store.jobs.submit("v-1", "v", str(bundle))
    store.close()
    state.base("v-1").write_text(str(tmp_path))
    Engine(Bundle.open(bundle), connections=connected(tmp_path), state=state.path, job="v-1").run()
    (tmp_path / "v.istream").write_text(text(mended=True))
    return tmp_path


def rows(place: Path) -> list[tuple[Any, ...]]:
    sink = driver.check(place / "v.istream").sink("out")
    return sorted(read(sink, connected(place)))


def printed(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


WHOLE = [("/a", 25, None), ("/b", 100, 1_500_000), ("/c", 50, None)]
DONE = [
    {"unit": "watch", "task": "shares", "replayed": 1, "failed": 0, "why": ""},
    {"unit": "watch", "task": "visits", "replayed": 2, "failed": 1, "why": ""},
]


def test_what_was_refused_comes_into_the_sinks_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(place) == WHOLE[:1]
    dead("v.istream", replay=True, json=True)
    assert printed(capsys) == DONE
    assert rows(place) == WHOLE
    dead("v", json=True)
    (left,) = printed(capsys)
    assert (left["input"], left["task"], left["count"]) == ("broken", "visits", 1)
    dead("v.istream", replay=True, json=True)
    assert printed(capsys) == [{**DONE[1], "replayed": 1}]
    assert rows(place) == WHOLE
    assert list((place / ".ghcm" / "replays").glob("*/")) == []


@pytest.mark.parametrize("moment", ["claimed", "replayed", "marked"])
def test_a_replay_that_was_killed_is_finished_by_the_next_one(
    moment: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    mark = kept_letters.mark_replayed

    def marked(*given: Any) -> None:
        mark(*given)
        killed()

    with monkeypatch.context() as patched:
        if moment == "claimed":
            patched.setattr(Engine, "run", killed)
        else:
            patched.setattr(kept_letters, "mark_replayed", killed if moment == "replayed" else marked)
        with pytest.raises(KeyboardInterrupt):
            dead("v.istream", replay=True, json=True)
    (place / ".ghcm/runs/v/dead").rename(place / ".ghcm/runs/v/dead2")  # as the next `ghcm run` does
    (place / ".ghcm/earlier").mkdir(exist_ok=True)
    (place / ".ghcm/runs/v/dead2").rename(place / ".ghcm/earlier/1")
    dead("v.istream", replay=True, json=True)
    assert printed(capsys) == DONE
    assert rows(place) == WHOLE
    dead("v", json=True)
    assert [each["input"] for each in printed(capsys)] == ["broken"]


def test_what_the_program_still_cannot_take_stays(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "v.istream").write_text(text(mended=True).replace("took: duration?", "took: duration?, size: int"))
    with pytest.raises(GhcmError):
        dead("v.istream", replay=True, json=True)
    (place / "v.istream").write_text(text(mended=True, sums=True).replace("shares", "parts"))
    dead("v.istream", replay=True, json=True)
    assert [(each["task"], each["replayed"], each["why"]) for each in printed(capsys)] == [
        ("shares", 0, "the program has no such task any more"),
        ("visits", 0, '"sums" keeps state, which is in the unit that runs'),
    ]
    assert rows(place) == WHOLE[:1]
    (place / "out/v/_delta_log").rename(place / "out/v/gone")
    (place / "out/v/_delta_log").write_text("in the way")
    (place / "v.istream").write_text(text(mended=True))
    with pytest.raises(GhcmError):
        dead("v.istream", replay=True)
    (place / "out/v/_delta_log").unlink()
    (place / "out/v/gone").rename(place / "out/v/_delta_log")
    capsys.readouterr()
    dead("v.istream", replay=True, json=True)
    assert (printed(capsys), rows(place)) == (DONE, WHOLE)


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("stream u { a = IN.TIMED\n a.window(tumbling(1s)).count().to(out) }", "windows"),
        ("stream u { a = IN\n b = a.distinct()\n b.to(all) }", '"b" keeps state'),
        ("stream u { a = IN\n a.to(all).publish(called(), every = 2) }", 'until it calls "called"'),
        ('stream u { a = files("x.csv", format = csv).as(V)\n a.to(all) }', "not all of the record"),
        ('stream u { a = kafka("x", format = json, timestamp = at).as(V)\n a.to(all) }', "not all of the record"),
        ("stream u { a = last.read()\n a.to(all) }", "reads what is stored"),
        ("batch u { a = IN\n a.to(all) }", "call it again"),
        ("stream u { b = IN\n b.to(all) }", "no such task"),
        ("stream u { a = IN.TIMED\n a.map(v => V { n: v.n + 1, at: v.at }).to(all) }", ""),
        ("stream u { a = IN.map_to_pair(v => (v.n, v.at))\n b = a.map_values(t => t)\n b.to(pairs) }", ""),
    ],
)
def test_records_run_again_where_each_goes_through_by_itself(unit: str, why: str) -> None:
    head = """program v
record V { n: int, at: timestamp }
sink all = parquet("all", record = V)
sink last = parquet("last", mode = replace, record = V)
sink pairs = parquet("pairs")
sink out = parquet("out")
responsive batch called() { all.read().to(last) }
"""
    made = unit.replace("TIMED", "event_time(v => v.at, disorder = 1s)")
    made = made.replace("IN", 'files("x.jsonl", format = json).as(V)')
    made = made if "pairs" in made else f"{made}\nstream w {{ memory([1]).map_to_pair(v => (v, v)).to(pairs) }}"
    made = made if "to(out)" in made else f"{made}\nstream x {{ memory([1]).to(out) }}"
    program = lower(parse(Source("v.istream", head + made)))
    found = obstacle(program, "u", "a")
    assert (why in found) if why else not found, found
    if not why:
        for task in program.unit("u").tasks:
            assert verify(replayed(program, "u", task.id, Files("/x", Format("json")))) == []
