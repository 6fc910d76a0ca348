"""The state directory: its lock, its socket, its logs."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.child import RestartPolicy, follow, last_words, tail
from ghcm.runtime.daemon.locks import Lock, await_end, claim
from ghcm.runtime.daemon.protocol import Control, decode, encode, error_document, raised
from ghcm.runtime.daemon.state import StateDirectory, dead_folders, keep_letters
from ghcm.runtime.sockets import short_socket

HOLDER = """\
import sys
from pathlib import Path
from ghcm.runtime.daemon.locks import Lock
from ghcm.runtime.daemon.state import StateDirectory
lock = Lock(StateDirectory(Path(sys.argv[1])))
if "ending" in sys.argv:
    lock.ending()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_state_directory_has_one_owner(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "state")
    lock = Lock(state)
    with pytest.raises(GhcmError, match=rf"another daemon \(process {os.getpid()}\) owns"):
        Lock(state)
    lock.release()
    Lock(state).release()


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path)
    line = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(GhcmError, match=f"process {holder.pid}"):
            Lock(state)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        Lock(state).release()


def test_a_daemon_that_is_ending_is_waited_for(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path)
    line = [sys.executable, "-c", HOLDER, str(tmp_path), "ending"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(GhcmError, match=rf"another daemon \(process {holder.pid}\) owns"):
            claim(state, patience=0.2)
        with ThreadPoolExecutor() as threads:
            claimed, ended = threads.submit(claim, state), threads.submit(await_end, state, holder.pid)
            assert not (claimed.done() or ended.done())
            holder.stdin.close()
            ended.result(60)
            Lock(state, claimed.result(60)).release()
    assert holder.returncode == 0


def test_sockets_of_deep_folders_stand_elsewhere(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / "control.sock"
    short = short_socket(deep)
    assert len(os.fsencode(short)) < 108
    assert short == short_socket(deep)
    assert short != short_socket(deep.with_name("other.sock"))
    near = Path("/tmp/x/control.sock")
    assert short_socket(near) == near


def test_where_nobody_listens_is_said(tmp_path: Path) -> None:
    control = Control(tmp_path / "control.sock")
    assert not control.listening()
    with pytest.raises(GhcmError) as raised_:
        control.ask("status")
    assert "ghcm supervise" in raised_.value.hint
    run = tmp_path / "runs" / "x" / "control.sock"
    run.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listening, pytest.raises(GhcmError, match=f"--state {run.parent};"):
        listening.bind(str(run))
        listening.listen()
        control.ask("status")


def test_errors_travel_as_they_are() -> None:
    error = GhcmError("it is late", code="GHCM-777", detail="Very.", hint="sleep.")
    with pytest.raises(GhcmError) as raised_:
        raised(decode(encode(error_document(error))))
    assert str(raised_.value) == str(error)


@pytest.mark.parametrize("line", [b"no json\n", b"[1]\n", b"\n"])
def test_what_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(GhcmError):
        decode(line)


def test_deaths_are_forgotten_after_a_long_life_and_with_progress() -> None:
    restarts = RestartPolicy(limit=2, window=10)
    assert restarts.died(9) is not None
    assert restarts.died(11) is not None
    restarts.progressed()
    assert restarts.died(9) is not None
    assert restarts.died(9) is None


def test_pauses_grow_to_a_limit() -> None:
    restarts = RestartPolicy(limit=None, shortest=1, longest=5)
    assert [restarts.died(0) for _ in range(5)] == [1, 2, 4, 5, 5]


def test_the_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert tail(log, 5) == []
    assert last_words(log) == ""
    log.write_text("".join(f"line {number} {'x' * 100}\n" for number in range(5000)) + "\n")
    assert [line.split()[1] for line in tail(log, 3)[:2]] == ["4998", "4999"]
    assert len(tail(log, 10_000)) == 5001
    assert tail(log, 0) == []
    assert "line 4999" in last_words(log)


def test_a_log_is_followed_over_its_rotation(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("old\n")

    async def read() -> list[str]:
        lines = follow(log)
        found: list[str] = []
        first = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        with log.open("a") as file:
            file.write("new\nhal")
        found.append(await first)
        with log.open("a") as file:
            file.write("f\n")
        found.append(await anext(lines))
        log.write_text("1\n")
        found.append(await anext(lines))
        return found

    assert asyncio.run(read()) == ["new", "half", "1"]


def test_dead_letters_of_a_hundred_earlier_runs_stay(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "runs" / "p")
    for run in range(103):
        (state.dead / "p" / "u").mkdir(parents=True)
        (state.dead / "p" / "u" / "letter").write_text(str(run))
        keep_letters(state, tmp_path)
    keep_letters(state, tmp_path)  # of a run without any nothing stays
    found = [(folder / "p" / "u" / "letter").read_text() for folder in dead_folders(tmp_path) if folder.is_dir()]
    assert found == [str(run) for run in range(3, 103)]
