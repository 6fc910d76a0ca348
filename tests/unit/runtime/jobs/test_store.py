"""The store of jobs and calls: one answer per call, whoever asks and however often."""

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.jobs import database
from ghcm.runtime.jobs.calls import CallState, Start
from ghcm.runtime.jobs.database import Busy
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, SinkVersion, State, now_us
from ghcm.runtime.retry import Retry

CALL = Instruction("c1", "traffic", "rebuild", {"depth": 3}, reply="here", versions={"alarms": "v7"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    yield store
    store.close()


def done(id: str, rows: int = 1) -> Feedback:
    return Feedback(id, State.DONE, 1.0, sinks={"steps": SinkVersion(id, rows)}, rows=rows, timings={"run": 0.25})


def test_a_call_goes_from_accepted_over_running_to_its_answer(store: Store) -> None:
    assert store.calls.accept(CALL).state is CallState.ACCEPTED
    start, call = store.calls.started(CALL, "spark-1")
    assert (start, call.state, call.attempts, call.executor) == (Start.RUN, CallState.RUNNING, 1, "spark-1")
    assert store.calls.progress("c1", Feedback("c1", State.PROGRESS, 0.5, "stage 1 of 2"))
    assert store.calls.finish("c1", done("c1", 42)) == done("c1", 42)
    found = store.calls.get("c1")
    assert found is not None
    assert (found.state, found.feedback, found.instruction) == (CallState.DONE, done("c1", 42), CALL)
    assert found.accepted <= (found.started or 0) <= (found.ended or 0)


def test_a_call_whose_process_ends_each_time_fails_in_the_end(tmp_path: Path) -> None:
    policies = {"traffic/rebuild": Retry(attempts=3, initial_interval=1e-6)}
    store = open_store(tmp_path / "jobs.sqlite", lambda program, unit: policies[f"{program}/{unit}"])
    for number in range(3):
        while store.calls.waits("c1", f"spark-{number}"):
            pass
        assert store.calls.suspected("c1") is (number > 0)
        start, call = store.calls.started(CALL, f"spark-{number}")
        assert (start, call.attempts, call.deaths) == (Start.RUN, number + 1, number)
        assert call.feedback.detail == (f"attempt {number + 1} of 3" if number else "")
        assert store.calls.get("c1") == call
        assert not store.calls.suspected("c2")
    start, call = store.calls.started(CALL, "spark-3")
    assert (start, call.state) == (Start.ANSWERED, CallState.FAILED)
    assert call.feedback.error is not None and call.feedback.error.code == "GHCM-759"
    assert "was begun 3 times, and each time the process that ran it ended" in call.feedback.error.message
    store.close()


def waiting(path: Path, interval: float = 3600.0) -> Store:
    """A store with a call whose process has ended once, and which waits for its next attempt."""
    store = open_store(path, lambda _program, _unit: Retry(attempts=4, initial_interval=interval))
    store.calls.started(CALL, "engine-1")
    before = now_us()
    start, call = store.calls.started(CALL, "engine-2")
    assert (start, call.state, call.executor, call.max_attempts) == (Start.LATER, CallState.ACCEPTED, None, 4)
    assert call.next_attempt is not None and before <= call.next_attempt - 60_000_000 <= now_us()
    assert call.feedback.detail.startswith("attempt 2 of 4 begins at 20")
    assert store.calls.started(CALL, "engine-2") == (Start.LATER, call)
    assert store.calls.get("c1") == call and store.calls.waits("c1", "engine-2")
    return store


def test_a_call_that_waits_for_its_next_attempt_can_be_cancelled(tmp_path: Path) -> None:
    store = waiting(tmp_path / "jobs.sqlite")
    store.calls.cancel("c1")
    assert not store.calls.waits("c1", "engine-2")
    assert store.calls.started(CALL, "engine-2")[0] is Start.ANSWERED
    store.close()


def test_a_call_that_waits_for_its_next_attempt_expires_at_its_deadline(tmp_path: Path) -> None:
    store = open_store(tmp_path / "jobs.sqlite", lambda _program, _unit: Retry())
    late = replace(CALL, deadline=now_us() + 60_000_000)
    store.calls.started(late, "engine-1")
    assert store.calls.started(late, "engine-2")[0] is Start.LATER
    [expired] = store.calls.expire_overdue(late.deadline)
    assert expired.state is CallState.EXPIRED and expired.feedback.error is not None
    assert expired.feedback.error.detail.startswith("attempt 2 of 3 begins at ")
    store.close()


def test_a_call_that_waits_begins_at_once_where_its_program_is_resumed(tmp_path: Path) -> None:
    store = waiting(tmp_path / "jobs.sqlite")
    assert store.calls.keep("c1")
    start, call = store.calls.started(CALL, "engine-3")
    assert (start, call.deaths, call.next_attempt) == (Start.RUN, 1, None)
    store.close()


def test_what_ended_with_the_daemon_or_with_its_program_is_no_death_of_the_call(tmp_path: Path) -> None:
    store = open_store(tmp_path / "jobs.sqlite", lambda _program, _unit: Retry(attempts=1))
    store.calls.started(CALL, "spark-1")
    before = store.calls.accept(CALL).accepted
    store.calls.cut_off()
    call = store.calls.accept(CALL)
    assert (call.state, call.executor, call.deaths) == (CallState.ACCEPTED, None, 0)
    assert call.accepted > before
    assert store.calls.started(CALL, "spark-2")[0] is Start.RUN
    store.calls.keep("c1")
    assert store.calls.started(CALL, "spark-3")[0] is Start.RUN
    store.close()


def test_the_same_id_is_the_same_call(store: Store) -> None:
    store.calls.accept(CALL)
    store.calls.finish("c1", done("c1"))
    assert store.calls.accept(CALL).feedback == done("c1")
    assert store.calls.started(CALL, "spark-2")[0] is Start.ANSWERED
    with pytest.raises(GhcmError, match="belongs to a call of"):
        store.calls.accept(replace(CALL, unit="talkers"))


def test_a_call_of_a_program_whose_id_is_taken_fails_and_the_program_goes_on(store: Store) -> None:
    own = Instruction("p-1.watch.often.0", "p", "chains", {"n": 1}, publisher="p.watch")
    store.calls.accept(replace(own, publisher="supervisor", parameters={"n": 2}))
    for _ in range(2):  # as it is sent again after a crash
        assert not store.calls.accept_own(own)
    [failed] = store.calls.find(state=CallState.FAILED)
    assert failed.feedback.error is not None and failed.feedback.error.code == "GHCM-325"
    assert (failed.instruction.parameters, failed.own) == ({"n": 1}, True)
    assert store.calls.accept_own(replace(own, id="p-1.watch.often.1"))


def test_the_first_answer_wins(store: Store) -> None:
    store.calls.accept(CALL)
    assert store.calls.cancel("c1").state is State.CANCELLED
    assert store.calls.finish("c1", done("c1")).state is State.CANCELLED
    assert not store.calls.progress("c1", Feedback("c1", State.PROGRESS, 0.9))
    assert store.calls.answered("c1")


def test_eight_processes_that_answer_the_same_calls_agree(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    store = open_store(path)
    for number in range(20):
        store.calls.accept(Instruction(f"c{number}", "p", "u"))
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ghcm.runtime.jobs.store import open_store\n"
        "from ghcm.runtime.pubsub.envelope import Feedback, State\n"
        "store = open_store(Path(sys.argv[1]))\n"
        "sys.stdin.read()\n"
        "for n in range(20):\n"
        "    print(store.calls.finish(f'c{n}', Feedback(f'c{n}', State.DONE, detail=sys.argv[2])).detail)\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), f"process {n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()  # all of them start at once
        process.stdin = None
    answers = [process.communicate()[0].split("\n")[:-1] for process in processes]
    assert len(answers[0]) == 20
    assert all(answer == answers[0] for answer in answers)
    assert [store.calls.get(f"c{n}").feedback.detail for n in range(20)] == answers[0]  # type: ignore[union-attr]
    store.close()


def test_a_call_that_another_executor_had_begun_is_run_again(store: Store) -> None:
    assert store.calls.started(CALL, "engine-1")[0] is Start.RUN
    assert store.calls.started(CALL, "engine-1")[0] is Start.BUSY
    assert [call.id for call in store.calls.unanswered() if call.executor == "engine-1"] == ["c1"]
    start, call = store.calls.started(CALL, "engine-2")
    assert (start, call.attempts, call.executor) == (Start.RUN, 2, "engine-2")


def test_a_call_can_be_accepted_without_waiting_for_another_writer(store: Store) -> None:
    other = open_store(store.database.path)
    with other.database.transaction(), pytest.raises(Busy):
        store.calls.accept(CALL, wait=False)
    assert store.calls.get("c1") is None
    assert store.calls.accept(CALL, wait=False) == store.calls.get("c1")
    other.close()


def test_overdue_calls_expire_once(store: Store) -> None:
    now = now_us()
    store.calls.accept(replace(CALL, deadline=now + 10_000_000))
    store.calls.accept(replace(CALL, id="c2", deadline=None))
    assert store.calls.expire_overdue(now) == []
    (expired,) = store.calls.expire_overdue(now + 10_000_000)
    assert (expired.id, expired.state, expired.feedback.state) == ("c1", CallState.EXPIRED, State.EXPIRED)
    assert store.calls.expire_overdue(now + 10_000_001) == []


def test_a_call_that_comes_after_its_deadline_is_not_run(store: Store) -> None:
    start, call = store.calls.started(replace(CALL, deadline=now_us() - 1), "engine-1")
    assert (start, call.state) == (Start.ANSWERED, CallState.EXPIRED)


def test_calls_are_found_by_program_unit_and_state(store: Store) -> None:
    for number in range(5):
        store.calls.accept(Instruction(f"a{number}", "p", "a"))
    store.calls.accept(Instruction("b0", "p", "b"))
    store.calls.finish("a3", done("a3"))
    assert [call.id for call in store.calls.find("p", "a")] == ["a4", "a3", "a2", "a1", "a0"]
    assert [call.id for call in store.calls.find("p", state=CallState.DONE)] == ["a3"]
    assert [call.id for call in store.calls.find("p", limit=2)] == ["b0", "a4"]
    assert store.calls.open_calls("p", "a") == 4
    assert [call.id for call in store.calls.unanswered("p")] == ["a0", "a1", "a2", "a4", "b0"]


def test_what_is_asked_of_open_calls_costs_the_same_however_many_have_their_answer(store: Store) -> None:
    connection, steps = store.database._connection(), [0]

    def cost() -> int:
        steps[0] = 0
        connection.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 1)
        assert store.calls.open_calls("traffic", "rebuild") == 1
        assert store.calls.first_open("traffic", ["rebuild"]) == "open"
        assert len(store.calls.unanswered("traffic")) == 1
        connection.set_progress_handler(None, 1)
        return steps[0]

    store.calls.accept(replace(CALL, id="open"))
    before = cost()
    for number in range(100):
        store.calls.accept(replace(CALL, id=f"a{number}"))
        store.calls.finish(f"a{number}", done(f"a{number}"))
    assert cost() == before


def test_many_calls_are_forgotten_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.jobs.calls.FORGOTTEN_AT_ONCE", 2)
    for id in ("c1", "c2", "c3"):
        store.calls.accept(replace(CALL, id=id))
        store.calls.finish(id, done(id))
    assert [store.calls.forget(now_us() + 1) for _ in range(3)] == [2, 1, 0]


def test_answered_calls_are_forgotten_open_ones_never(store: Store) -> None:
    store.calls.accept(CALL)
    store.calls.accept(replace(CALL, id="c2"))
    store.calls.finish("c1", done("c1"))
    assert store.calls.forget(now_us() + 1) == 1
    assert store.calls.get("c1") is None
    assert store.calls.get("c2") is not None
    with pytest.raises(GhcmError, match='there is no call "c1"'):
        store.calls.finish("c1", done("c1"))


def test_a_thread_of_its_own_sees_what_others_wrote(store: Store) -> None:
    seen: list[CallState] = []
    store.calls.accept(CALL)
    thread = threading.Thread(target=lambda: seen.append(store.calls.accept(CALL).state))
    thread.start()
    thread.join()
    assert seen == [CallState.ACCEPTED]


def test_a_job_that_is_over_stays_over(store: Store) -> None:
    store.jobs.submit("j1", "traffic", "/bundles/traffic.ghcm")
    assert store.jobs.move("j1", JobState.RUNNING).started is not None
    assert store.jobs.move("j1", JobState.STARTING, restarted=True).restarts == 1
    failed = store.jobs.move("j1", JobState.FAILED, "it died six times in a minute")
    assert (failed.over, failed.reason) == (True, "it died six times in a minute")
    assert store.jobs.move("j1", JobState.RUNNING).state is JobState.FAILED
    assert store.jobs.move("j1", JobState.STARTING).state is JobState.STARTING
    assert [job.id for job in store.jobs.find(over=False)] == ["j1"]
    with pytest.raises(GhcmError, match='there is no job "j2"'):
        store.jobs.known("j2")


def test_the_log_stays_bounded_while_others_read_and_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOG_BYTES", 256 << 10)
    path, over = tmp_path / "jobs.sqlite", threading.Event()
    stores = [open_store(path) for _ in range(3)]

    def read() -> None:
        while not over.is_set():
            stores[2].calls.find("p", "u")

    def write(number: int) -> None:
        for each in range(150):
            instruction = Instruction(f"{number}-{each}", "p", "u")
            stores[number].calls.started(instruction, "engine")
            stores[number].calls.finish(instruction.id, done(instruction.id))

    threads = [threading.Thread(target=write, args=[number]) for number in range(2)]
    reader = threading.Thread(target=read)
    for thread in (reader, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    log, written = Path(f"{path}-wal"), 600
    end = time.monotonic() + 60
    while log.stat().st_size > 512 << 10:  # 600 commits have written 7 MB, and a daemon never rests
        assert time.monotonic() < end, f"the log has {log.stat().st_size:,} bytes after {written} commits"
        written += 1
        stores[0].calls.accept(Instruction(f"then {written}", "p", "u"))
    over.set()
    reader.join()
    for each in stores:
        each.close()


def test_a_commit_that_finds_no_room_leaves_the_store_usable(store: Store) -> None:
    store.calls.accept(CALL)
    size = os.stat(f"{store.database.path}-wal").st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        for number in range(3):
            with pytest.raises(GhcmError) as refused:
                store.calls.accept(replace(CALL, id=f"no room {number}"))
            assert refused.value.code == "GHCM-740"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.calls.get("no room 0") is None
    assert store.calls.accept(replace(CALL, id="room")).state is CallState.ACCEPTED


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    path.write_bytes(b"this is no database, but it is long enough to look like a file with a header" * 100)
    with pytest.raises(GhcmError) as refused:
        open_store(path)
    assert "is damaged" in refused.value.message
    assert "move" in refused.value.hint


def test_a_file_of_an_earlier_ghcm_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    store = open_store(path)
    store.calls.accept(CALL)
    with store.database.transaction() as connection:
        connection.execute("DROP INDEX calls_open_of")
        connection.execute("DROP TABLE replies")
        for column in ("deaths", "max_attempts", "next_attempt", "publisher"):
            connection.execute(f"ALTER TABLE calls DROP COLUMN {column}")
        connection.execute("PRAGMA user_version = 3")
    store.close()
    store = open_store(path)
    call = store.calls.get("c1")
    assert call is not None and (call.deaths, call.next_attempt) == (0, None)
    store.calls.accept(replace(CALL, id="c2", publisher="ann"))
    assert store.calls.open_calls_of("ann") == 1
    store.close()


def test_a_file_of_a_later_ghcm_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    store = open_store(path)
    with store.database.transaction() as connection:
        connection.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(GhcmError, match="has schema 99"):
        open_store(path)
