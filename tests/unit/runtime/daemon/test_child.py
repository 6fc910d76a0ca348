"""Children that the daemon keeps: real processes that report, die, are started again and end with their parent."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ghcm.runtime.daemon import child as children
from ghcm.runtime.daemon.child import Child, Phase, RestartPolicy, ending
from ghcm.runtime.daemon.protocol import LONGEST_LINE, Document
from ghcm.runtime.daemon.spawning import Command, spawn
from ghcm.runtime.parent_death import ending_with_parent
from tests.system.running import gone

REPORTING = """\
import sys
print("a word", file=sys.stderr)
print('{"event": "running"}', flush=True)
sys.stdin.read()
"""
PARENT = """\
import subprocess, sys, time
from ghcm.runtime.parent_death import ending_with_parent
print(subprocess.Popen(ending_with_parent([sys.executable, "-c", "import time; time.sleep(60)"])).pid, flush=True)
time.sleep(60)
"""


def command(tmp_path: Path, code: str, patience: float = 5) -> Command:
    line = [sys.executable, "-u", "-c", code]
    return Command("child", line, tmp_path / "logs" / "child.log", {"WORD": "x"}, (), patience)


async def said(heard: asyncio.Queue[Document]) -> Document:
    """The next that a child reports."""
    async with asyncio.timeout(60):
        return await heard.get()


def test_a_child_reports_and_its_words_go_to_the_log(tmp_path: Path) -> None:
    heard: asyncio.Queue[Document] = asyncio.Queue()

    async def live() -> None:
        child = Child(command(tmp_path, REPORTING), RestartPolicy(limit=3), reported=heard.put_nowait)
        child.start()
        assert await said(heard) == {"event": "running"}
        await child.stop()
        assert child.phase is Phase.STOPPED

    asyncio.run(live())
    assert heard.empty()
    assert (tmp_path / "logs/child.log").read_text() == "a word\n"


def test_what_a_child_reports_behind_an_endless_line_is_heard(tmp_path: Path) -> None:
    heard: asyncio.Queue[Document] = asyncio.Queue()

    async def live() -> None:
        code = f"print('x' * {3 * LONGEST_LINE})\n{REPORTING}"
        child = Child(command(tmp_path, code), RestartPolicy(limit=3), reported=heard.put_nowait)
        child.start()
        assert await said(heard) == {"event": "running"}
        await child.stop()

    asyncio.run(live())


def test_a_child_that_is_killed_is_started_again(tmp_path: Path) -> None:
    heard: asyncio.Queue[Document] = asyncio.Queue()
    died: list[int] = []

    def note(code: int) -> bool:
        died.append(code)
        return True

    async def live() -> None:
        child = Child(command(tmp_path, REPORTING), RestartPolicy(limit=3), reported=heard.put_nowait, died=note)
        child.start()
        await said(heard)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await said(heard)
        assert child.pid not in (None, first)
        assert child.restarts == 1
        await child.stop()

    asyncio.run(live())
    assert died == [-signal.SIGKILL]


def test_a_child_that_dies_too_often_fails_with_the_reason(tmp_path: Path) -> None:
    async def live() -> Child:
        failed = asyncio.Event()
        child = Child(
            command(tmp_path, "raise SystemExit(7)"),
            RestartPolicy(limit=3),
            changed=lambda: failed.set() if child.phase is Phase.FAILED else None,
        )
        child.start()
        async with asyncio.timeout(60):
            await failed.wait()
        return child

    child = asyncio.run(live())
    assert child.phase is Phase.FAILED
    assert child.reason == "it died 3 times in a row, the last time exit code 7"


def test_a_child_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('{}', flush=True)\ntime.sleep(60)"
    heard: asyncio.Queue[Document] = asyncio.Queue()

    async def live() -> None:
        child = Child(command(tmp_path, code, patience=0.2), RestartPolicy(limit=None), reported=heard.put_nowait)
        child.start()
        await said(heard)
        pid = child.pid
        assert pid is not None
        process = psutil.Process(pid)
        await child.stop()
        assert gone([process])

    asyncio.run(live())


def test_a_child_is_told_things(tmp_path: Path) -> None:
    heard: asyncio.Queue[Document] = asyncio.Queue()

    async def live() -> None:
        code = "print('{}', flush=True)\nwhile True: print(input(), flush=True)"
        child = Child(command(tmp_path, code), RestartPolicy(limit=2), reported=heard.put_nowait)
        child.start()
        assert await said(heard) == {}
        child.tell({"op": "refresh"})
        assert await said(heard) == {"op": "refresh"}
        await child.stop()

    asyncio.run(live())


def test_a_process_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert gone([child])


def test_a_program_that_cannot_be_started_is_named() -> None:
    done = subprocess.run(ending_with_parent(["/no/such/program"]), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'cannot start "/no/such/program"' in done.stderr


BEATING = """\
import sys
for line in sys.stdin:
    print('{"event": "beat", "trouble": "tired"}', flush=True)
"""


class Watched:
    """A child that is asked whether it is there, and the changes of its health."""

    def __init__(self, folder: Path, hang: float) -> None:
        self._changed = asyncio.Event()
        self.child = Child(
            command(folder, BEATING), RestartPolicy(3), reported=print, hang=hang, changed=self._changed.set
        )
        self.child.start()

    async def until(self, health: str) -> None:
        async with asyncio.timeout(60):
            while self.child.health[0] != health or (health == "ok" and not self.child.trouble):
                await self._changed.wait()
                self._changed.clear()

    def signal(self, number: int) -> None:
        assert self.child.pid is not None
        os.kill(self.child.pid, number)


def test_a_child_that_hangs_is_shown_and_then_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_BEAT_SECONDS", 0.1)

    async def live() -> None:
        watched = Watched(tmp_path, hang=2.0)
        await watched.until("ok")
        assert watched.child.health == ("ok", "tired")
        watched.child._answered("nothing comes to it", serves=False)  # pyright: ignore[reportPrivateUsage]
        assert watched.child.health == ("waiting", "nothing comes to it")
        first = watched.child.pid
        watched.signal(signal.SIGSTOP)
        await watched.until("silent")
        assert watched.child.pid == first
        await watched.until("waiting")
        assert watched.child.health == ("waiting", "said nothing for 2 s and was killed")
        await watched.until("ok")
        assert watched.child.pid not in (None, first)
        await watched.child.stop()

    asyncio.run(live())


def test_a_child_that_was_asleep_as_long_as_its_parent_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "_BEAT_SECONDS", 0.1)

    async def live() -> None:
        watched = Watched(tmp_path, hang=0.5)
        await watched.until("ok")
        first = watched.child.pid
        watched.signal(signal.SIGSTOP)
        time.sleep(1)  # as where the whole machine is stopped
        watched.signal(signal.SIGCONT)
        watched.child.trouble = ""
        await watched.until("ok")
        assert watched.child.pid == first
        await watched.child.stop()

    asyncio.run(live())


def test_endings_in_words() -> None:
    assert [ending(0), ending(3), ending(-9), ending(-11)] == [
        "exit code 0",
        "exit code 3",
        "killed by SIGKILL",
        "killed by SIGSEGV",
    ]


DEAF = """\
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""


def test_a_child_that_is_stopped_while_it_is_being_spawned_is_killed_if_it_does_not_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        spawning, goes_on = asyncio.Event(), asyncio.Event()

        async def slowly(command: Command, *, reports: bool) -> asyncio.subprocess.Process:
            process = await spawn(command, reports=reports)
            assert process.stdout is not None and await process.stdout.readline() == b"deaf\n"
            spawning.set()
            await goes_on.wait()
            return process

        monkeypatch.setattr(children, "spawn", slowly)
        child = Child(command(tmp_path, DEAF, patience=0.1), RestartPolicy(limit=1), reported=lambda _: None)
        child.start()
        async with asyncio.timeout(60):
            await spawning.wait()
            stopping = asyncio.create_task(child.stop())
            await asyncio.sleep(0)  # it has been asked to
            goes_on.set()
            await stopping
        assert child.phase is Phase.STOPPED and child.pid is None

    asyncio.run(live())
