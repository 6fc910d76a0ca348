"""What is removed when its time is over, and what never is."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ghcm.functions import Failure
from ghcm.places import Remote
from ghcm.runtime.daemon.housekeeping import Housekeeping
from ghcm.runtime.daemon.state import StateDirectory, note_base
from ghcm.runtime.data.dead_letter import DeadLetter, table_of
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, now_us
from ghcm.runtime.settings import Keep
from ghcm.runtime.sinks import kept_letters
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import open_writer

HOUR_US = 3600 * 1_000_000


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    state = StateDirectory(tmp_path / "state")
    for folder in (state.logs, state.path / "bundles"):
        folder.mkdir(parents=True)
    return state


@pytest.fixture
def store(state: StateDirectory) -> Iterator[Store]:
    store = open_store(state.store)
    yield store
    store.close()


def keeping(state: StateDirectory, store: Store, keep: Keep, *written: str) -> Housekeeping:
    snapshots = state.path / "snapshots"
    return Housekeeping(keep, state, store, snapshots, lambda job: job.id in written)


def job(state: StateDirectory, store: Store, id: str, moved: JobState, hours_ago: int, base: Path) -> None:
    """A job of the program `traffic` that ended so long ago, with all that jobs leave."""
    store.jobs.submit(id, "traffic", str(state.bundle(id)))
    store.jobs.move(id, moved)
    then = now_us() - hours_ago * HOUR_US
    store.database.change("UPDATE jobs SET submitted = ?, ended = ended * 0 + ? WHERE id = ?", then, then, id)
    note_base(state.base(id), base)
    for left in (state.bundle(id), state.bundle(id, 2), state.logs / f"{id}.log", state.logs / f"{id}.log.1"):
        left.write_text(id)
    (state.path / "snapshots" / id / "feed").mkdir(parents=True)


def left(state: StateDirectory) -> set[str]:
    """The jobs of which something is left."""
    kinds = ("bundles", "logs", "snapshots")
    return {path.name.partition(".")[0] for kind in kinds for path in (state.path / kind).glob("*")}


def test_jobs_go_with_all_that_is_theirs_but_those_that_a_program_may_go_on_from(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    job(state, store, "t-9", JobState.DONE, 9, here)
    job(state, store, "t-8", JobState.STOPPED, 8, here)  # what it has written must not be written twice
    job(state, store, "t-7", JobState.FAILED, 7, here)
    job(state, store, "t-6", JobState.STOPPED, 6, here)  # this is the one that --resume takes
    job(state, store, "t-5", JobState.DONE, 9, there)
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-9", "t-8").tidy()
    assert {each.id for each in store.jobs.find()} == left(state) == {"t-8", "t-7", "t-6", "t-5"}
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-9", "t-8", "t-7", "t-6").tidy()
    assert {each.id for each in store.jobs.find()} == left(state) == {"t-6", "t-5"}


def test_a_job_that_runs_or_whose_time_is_not_over_stays(state: StateDirectory, store: Store, tmp_path: Path) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    job(state, store, "t-2", JobState.DONE, 2, tmp_path)
    job(state, store, "t-3", JobState.DONE, 1, tmp_path)
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-1", "t-2", "t-3").tidy()
    assert left(state) == {"t-1", "t-2", "t-3"}


def test_dead_letters_go_when_their_program_has_long_ended(state: StateDirectory, store: Store, tmp_path: Path) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    for program in ("traffic", "old", "fresh"):
        table = state.dead / program / "feed"
        table.mkdir(parents=True)
        (table / "part").touch()
        if program != "fresh":
            for path in (table / "part", table):
                os.utime(path, (0, 0))
    keeping(state, store, Keep()).tidy()
    assert {path.parent.name for path in state.dead.glob("*/*")} == {"traffic", "fresh"}


VERSION = "t-1-feed-_dead-{:010d}-{}"
"""What a unit calls its versions: by snapshot and run."""


def letters_of(state: StateDirectory, versions: Iterable[str]) -> Path:
    """A table with these versions, a letter in each."""
    table = state.dead / "traffic" / "feed"
    writer = opened(table)
    for version in versions:
        writer.write([DeadLetter("feed", "task", Failure.BAD_CAST, version, "{}", "t:1:1").row()])
        writer.prepare(version)
        writer.commit(version)
    writer.close()
    return table


def opened(table: Path) -> SinkWriter:
    return open_writer(table_of(table), Connections(table), writer="w", key=None, call=None, staging=table / "staged")


def kept(table: Path) -> list[str]:
    """The versions of which there are letters, as these say."""
    return [each["detail"] for each in kept_letters.letters(table)]


def test_the_oldest_dead_letters_go_while_their_program_runs_but_none_that_a_snapshot_names(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    runs = [VERSION.format(number, run) for run in ("0000000a", "0000000b") for number in range(1, 7)]
    table = letters_of(state, [*runs, "a-call-dead"])
    keeping(state, store, Keep()).thin()
    assert len(kept(table)) == 13
    size = max(path.stat().st_size for path in table.glob("part-*"))
    keeping(state, store, Keep(letters_bytes=11 * size)).thin()
    assert kept(table) == [*runs[2:], "a-call-dead"]
    keeping(state, store, Keep(letters=1e-6)).thin()
    assert kept(table) == [*runs[3:6], *runs[9:]]
    restored = opened(table)
    for version in (runs[4], runs[11]):
        restored.recover([version])
        restored.commit(version)
    restored.close()
    store.jobs.move("t-1", JobState.STOPPED)
    store.jobs.forget("t-1")
    keeping(state, store, Keep(letters=1e-6)).tidy()
    assert not table.exists()


def test_dead_letters_that_a_snapshot_names_stay_while_their_program_may_be_resumed(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    job(state, store, "t-1", JobState.STOPPED, 9, tmp_path)
    table = letters_of(state, [VERSION.format(number, "0000000a") for number in range(1, 7)])
    house = keeping(state, store, Keep(letters=1e-6), "t-1")
    house.tidy()
    house.thin()
    assert kept(table) == [VERSION.format(number, "0000000a") for number in (4, 5, 6)]


def test_dead_letters_are_written_and_read_while_the_oldest_go(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    versions = [VERSION.format(number, "0000000a") for number in range(1, 121)]
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(letters_of, state, versions)
        while not writing.done():
            keeping(state, store, Keep(letters=1e-6)).thin()
            for table in state.dead.glob("*/*"):
                found = kept(table)
                assert found == sorted(found)
        table = writing.result()
    keeping(state, store, Keep(letters=1e-6)).thin()
    assert kept(table) == versions[-3:]


def test_logs_are_begun_anew_while_their_processes_write(state: StateDirectory, store: Store) -> None:
    house = keeping(state, store, Keep(log_bytes=1000))
    log = state.logs / "http.log"
    with log.open("ab", buffering=0) as writing:
        writing.write(b"a" * 999 + b"\n")
        house.rotate()
        writing.write(b"one more\n")
        assert not log.with_suffix(".log.1").exists()
        house.rotate()
        writing.write(b"begun anew\n")
    assert log.read_bytes() == b"begun anew\n"
    assert log.with_suffix(".log.1").read_bytes() == b"a" * 999 + b"\none more\n"


def test_a_log_that_cannot_be_begun_anew_holds_up_no_other(state: StateDirectory, store: Store) -> None:
    for name in ("a", "b", "c"):
        (state.logs / f"{name}.log").write_bytes(b"x" * 2000)
    (state.logs / "b.log.1" / "b.log").mkdir(parents=True)
    keeping(state, store, Keep(log_bytes=1000)).rotate()
    assert {path.name for path in state.logs.glob("*.log") if path.stat().st_size} == {"b.log"}


def test_a_job_whose_snapshots_cannot_be_reached_stays_and_holds_up_nothing(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    for number in (3, 2, 1):
        job(state, store, f"t-{number}", JobState.DONE, number, tmp_path)
    (state.dead / "old" / "feed").mkdir(parents=True)
    os.utime(state.dead / "old" / "feed", (0, 0))
    away = Remote("hdfs://127.0.0.1:1/snapshots")
    Housekeeping(Keep(jobs=60.0), state, store, away, lambda _: True).tidy()
    assert left(state) == {each.id for each in store.jobs.find()} == {"t-3", "t-2", "t-1"}
    assert not (state.dead / "old" / "feed").exists()


def test_the_call_that_has_started_a_batch_unit_stays_as_long_as_its_job(store: Store) -> None:
    store.jobs.submit("t-1", "traffic", "t.ghcm")
    for id in ("t-1.load", "t-0.load", "somebody's"):
        store.calls.accept(Instruction(id, "traffic", "load"))
        store.calls.finish(id, Feedback(id, State.DONE))
    assert store.calls.forget(now_us() + HOUR_US) == 2
    assert store.calls.get("t-1.load") is not None
