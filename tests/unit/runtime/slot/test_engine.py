"""The engine with hand-written operators: what comes out, whatever the sizes of batches and wherever it is cut."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from weakref import ReferenceType, ref

import pytest

from ghcm.errors import GhcmError
from ghcm.expr import Lambda, Literal, Var
from ghcm.runtime.engine import operator_tasklet, sink_tasklet, source_tasklet
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.histogram import Histogram
from ghcm.runtime.sinks import table_sink
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.snapshot.coordinator import SnapshotCoordinator
from ghcm.runtime.snapshot.store import Snapshot, SnapshotStore
from ghcm.runtime.state.packing import key_groups
from ghcm.spg.connectors import Generate
from ghcm.spg.graph import Program
from ghcm.spg.ops import Filter, Source, To
from ghcm.types import Bool, Int
from tests.campaigns import times
from tests.unit.runtime.small_operators import (
    NUMBERED,
    Rows,
    dead_letters,
    engine,
    rows_of,
    sink,
    task,
    unit,
    windows,
    word_count,
)


def text_files(base: Path, *, lines: int = 3000, files: int = 3, seed: int = 1) -> Counter[str]:
    """Write text files; the words that a count has to give."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    for number in range(files):
        words = [[chance.choice(["cat", "dog", "ünïcödé", "bad", "a" * 50]) for _ in range(3)] for _ in range(lines)]
        text = "\n".join(" ".join(line) for line in words)
        if number % 2:
            (base / f"{number}.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (base / f"{number}.txt").write_text(text + "\n", encoding="utf-8")
        counts.update(word for line in words for word in line)
    return counts


def check_word_count(base: Path, expected: Counter[str]) -> None:
    program = word_count("*.txt*")
    bad = expected["bad"]
    good = {word: count for word, count in expected.items() if word != "bad"}
    assert dict(rows_of(program, "counts", base)) == good  # type: ignore[arg-type]
    assert Counter(word for (word,) in rows_of(program, "lines", base)) == good
    assert len(dead_letters(base, program)) == bad


def test_a_bounded_program_runs_to_its_end(tmp_path: Path) -> None:
    expected = text_files(tmp_path)
    engine(word_count("*.txt*"), tmp_path).run()
    check_word_count(tmp_path, expected)


def test_what_tasks_have_done_is_told(tmp_path: Path) -> None:
    text_files(tmp_path)
    running = engine(word_count("*.txt*"), tmp_path)
    running.run()
    unit_ = running.status()["units"]["main"]  # type: ignore[index]
    tasks = unit_["tasks"]
    for name, task_ in tasks.items():
        batches, latency = Histogram.read(task_["batches"]), Histogram.read(task_["latency_s"])
        assert batches.sum == task_["in"] > 0, name
        assert task_["in_bytes"] > task_["in"], name
        assert (task_["out_bytes"] > 0) == (task_["out"] > 0), name
        assert latency.count == (0 if name == "lines" else batches.count), name
        assert task_["busy_s"] >= Histogram.read(task_["steps_s"]).sum > 0, name
        assert task_["backlog"] == 0, name
    snapshots = Histogram.read(unit_["snapshot_s"])
    assert snapshots.count == unit_["snapshots"] > 0
    assert unit_["snapshot_bytes_written"] >= unit_["snapshot_bytes"] > 0
    held = Histogram.read(running.status()["held_s"])  # type: ignore[arg-type]
    assert held.count >= sum(Histogram.read(each["steps_s"]).count for each in tasks.values())


def test_sinks_take_records_while_a_snapshot_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = text_files(tmp_path)
    done = Event()
    store, take, left = SnapshotStore.write, sink_tasklet.SinkTasklet._write, [sum(expected.values()) - expected["bad"]]

    def write(self: SnapshotStore, snapshot: Snapshot) -> object:
        assert done.wait(60), "the sinks take nothing until the snapshot is there"
        return store(self, snapshot)

    def taken(self: sink_tasklet.SinkTasklet, content: Sized, size: int, arrived: float, *, taken_back: bool) -> None:
        take(self, content, size, arrived, taken_back=taken_back)  # type: ignore[arg-type]
        left[0] -= len(content) if self.sink == "lines" else 0
        if not left[0]:
            done.set()

    monkeypatch.setattr(SnapshotStore, "write", write)
    monkeypatch.setattr(sink_tasklet.SinkTasklet, "_write", taken)
    engine(word_count("*.txt*"), tmp_path, commit_s=0.001, piece=3000).run()
    check_word_count(tmp_path, expected)


def test_what_ends_while_a_sink_prepares_is_part_of_the_next_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = text_files(tmp_path)
    ended, finished, prepare = Event(), SnapshotCoordinator.finished, table_sink.TableWriter.prepare

    def told(self: SnapshotCoordinator, name: str, saved: Saved) -> None:
        finished(self, name, saved)
        if self._graph.sinks.keys() <= self._final.keys():
            ended.set()

    def prepared(self: table_sink.TableWriter, version: str) -> int:
        assert ended.wait(60), "the sinks take nothing while they prepare"
        return prepare(self, version)

    monkeypatch.setattr(SnapshotCoordinator, "finished", told)
    monkeypatch.setattr(table_sink.TableWriter, "prepare", prepared)
    engine(word_count("*.txt*"), tmp_path, commit_s=0.001, piece=3000).run()
    check_word_count(tmp_path, expected)


def test_a_program_that_has_ended_changes_nothing_when_it_is_run_again(tmp_path: Path) -> None:
    expected = text_files(tmp_path)
    for _ in range(3):
        engine(word_count("*.txt*"), tmp_path).run()
    check_word_count(tmp_path, expected)


@pytest.mark.parametrize("seed", range(times(6)))
def test_stopping_and_going_on_at_any_moment_gives_the_same(tmp_path: Path, seed: int) -> None:
    """Savepoints, plain ends without one, and restarts, at random steps of the sources."""
    expected = text_files(tmp_path, seed=seed)
    chance = random.Random(seed)
    for _ in range(8):
        running = engine(word_count("*.txt*"), tmp_path, commit_s=0.001, piece=3000)
        steps = chance.randrange(1, 60)
        cut_after(running, steps)
        running.wait(timeout=60)
        if chance.random() < 0.5:
            running.savepoint(timeout=60)
        running.close()
        running.check()
    engine(word_count("*.txt*"), tmp_path, piece=3000).run()
    check_word_count(tmp_path, expected)


def cut_after(running: Engine, steps: int) -> None:
    """Start the engine and have its source rest after so many batches."""
    left = [steps]
    original = source_tasklet.SourceTasklet.step

    def step(self: source_tasklet.SourceTasklet) -> object:
        left[0] -= 1
        if left[0] == 0:
            running._ended.set()
        return original(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_tasklet.SourceTasklet, "step", step)
        running.start()
        running.wait(timeout=60)


def events(base: Path, *, partitions: int = 2, count: int = 400, disorder: int = 15, seed: int = 3) -> None:
    chance = random.Random(seed)
    for partition in range(partitions):
        lines = [
            {"at": f"1970-01-01T00:00:00.{max(0, n - chance.randrange(disorder)):06d}Z", "key": chance.choice("abc")}
            for n in range(count)
        ]
        (base / f"{partition}.json").write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("disorder", [0, 5, 30])
def test_windows_and_lateness_do_not_depend_on_the_sizes_of_batches(
    tmp_path: Path, disorder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[object] = []
    for seed in range(8):
        chance = random.Random(seed)
        base = tmp_path / str(seed)
        base.mkdir()
        events(base)
        piece = chance.choice([60, 200, 1000, 100_000])
        monkeypatch.setattr(
            operator_tasklet.StepSize, "took", lambda self, *_, c=chance: setattr(self, "rows", c.choice([1, 7, 5000]))
        )
        program = windows("*.json", disorder=disorder)
        engine(program, base, commit_s=chance.choice([0.001, 1.0]), piece=piece).run()
        late = sorted(letter.input for letter in dead_letters(base, program))
        outcomes.append((sorted(rows_of(program, "shares", base), key=repr), late))
        if disorder == 0:
            assert late
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_a_missing_file_fails_the_unit_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(GhcmError) as caught:
        engine(word_count("nothing/*.txt"), tmp_path).run()
    assert "no file matches" in caught.value.message


def test_a_bug_in_an_operator_fails_the_unit_and_leaves_what_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = text_files(tmp_path)
    from tests.unit.runtime.small_operators import Counts

    original, calls = Counts.process, [0]

    def broken(self: Counts, *arguments: object) -> object:
        calls[0] += 1
        if calls[0] == 3:
            raise ZeroDivisionError("a bug")
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Counts, "process", broken)
    with pytest.raises(GhcmError) as caught:
        engine(word_count("*.txt*"), tmp_path, piece=3000).run()
    assert "a bug" in caught.value.message
    assert '"counted"' in caught.value.message
    engine(word_count("*.txt*"), tmp_path).run()
    check_word_count(tmp_path, expected)


@pytest.mark.parametrize("damage", ["state", "manifest.json"])
def test_a_damaged_snapshot_is_passed_over(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    text_files(tmp_path)
    running = engine(word_count("*.txt*"), tmp_path, commit_s=0.001)
    running.run()
    folder = tmp_path / "state" / "snapshots" / "small" / "main"
    places = sorted(folder.iterdir())
    assert len(places) >= 2
    (places[-1] / damage).write_bytes(b"damaged")
    engine(word_count("*.txt*"), tmp_path).run()
    assert "is damaged" in caplog.text
    assert "going on from snapshot" in caplog.text


@contextmanager
def quiet(base: Path) -> Iterator[tuple[Engine, SnapshotCoordinator]]:
    """An engine of a unit to which nothing comes behind its first record, and the snapshots of that unit."""
    numbers = task("numbers", Source(Generate(None, 0.0001, 0, 1)), NUMBERED)
    same = task("same", Filter(Lambda((Var("x", Int()),), Literal(True, Bool()))), NUMBERED, "numbers")
    main = unit("main", numbers, same, task("to", To("out"), NUMBERED, "same"))
    with engine(Program("small", (), (sink("out", "out", NUMBERED),), (main,)), base) as running:
        assert running._ready.wait(30) and running.savepoint(30)
        yield running, running._runs["main"].snapshots


def test_a_savepoint_that_is_asked_for_while_a_unit_is_quiesced_is_taken_when_it_resumes(tmp_path: Path) -> None:
    with quiet(tmp_path) as (running, snapshots):
        quiesced, saved = Event(), Event()
        running.call(lambda: snapshots.quiesce(quiesced.set))
        assert quiesced.wait(30)
        running.call(lambda: snapshots.savepoint(saved.set))
        assert not saved.is_set()
        running.call(snapshots.resume)
        assert saved.wait(30)


def test_a_quiescence_that_was_given_up_does_not_stand_in_the_way_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written, may_write = SnapshotStore.write, Event(), Event()

    def slow(self: SnapshotStore, snapshot: Snapshot) -> None:
        written.set()
        assert may_write.wait(30)
        write(self, snapshot)

    with quiet(tmp_path) as (running, snapshots):
        monkeypatch.setattr(SnapshotStore, "write", slow)
        first, second = Event(), Event()
        running.call(lambda: snapshots.quiesce(first.set))
        assert written.wait(30)
        running.call(snapshots.resume)
        running.call(lambda: snapshots.quiesce(second.set))
        may_write.set()
        assert second.wait(30)
        running.call(snapshots.resume)


def test_a_unit_at_rest_holds_nothing_of_what_it_has_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[ReferenceType[Mapping[int, bytes]]] = []

    def save(self: Rows) -> Mapping[int, bytes]:
        state = key_groups(iter([1]), lambda _: 0, change=True)
        saved.append(ref(state))
        return state

    monkeypatch.setattr(Rows, "save", save)
    with quiet(tmp_path) as (running, snapshots):
        rested = Event()
        running.call(lambda: snapshots.quiesce(rested.set))
        assert rested.wait(30) and saved
        deadline = time.monotonic() + 10
        while any(state() is not None for state in saved):  # threads put away what they have done
            assert time.monotonic() < deadline
            time.sleep(0.01)
