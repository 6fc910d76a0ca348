"""Runs that go wrong, as a user sees them: what is said, where in the program, what to do, and the exit code."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ghcm.tables.plain import PlainTable
from tests.conftest import Golden
from tests.system.running import clean_environment, ghcm, request, until

pytestmark = pytest.mark.system

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "cli"
PROGRAM = """\
program visits

record Visit { page: string, seconds: int }

sink long = files("long", format = json, mode = append)

stream watch {
  visits = files("visits.csv", format = csv).as(Visit)
  visits.filter(v => v.seconds > 10).to(long)
}
"""
INPUTS = {
    "run missing file": {},
    "run likely file": {"vists.csv": "page,seconds\n"},
    "run wrong header": {"visits.csv": "page,secs\n/,1\n"},
    "run dead letters only": {"visits.csv": "page,seconds\n/,one\n/a,two\n"},
    "run dead letters strict": {"visits.csv": "page,seconds\n/,one\n/a,12\n"},
    "run sink in a file": {"visits.csv": "page,seconds\n/,12\n", "long": ""},
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_run_that_goes_wrong_is_explained(tmp_path: Path, name: str, golden: Golden) -> None:
    (tmp_path / "visits.istream").write_text(PROGRAM)
    for file, text in INPUTS[name].items():
        (tmp_path / file).write_text(text)
    words = ["run", "visits.istream", *(["--strict"] if name.endswith("strict") else [])]
    done = ghcm(*words, cwd=tmp_path)
    errors = re.sub(r"(?m)^(profile|state|http): .*\n", "", done.stderr)
    said = f"$ ghcm {' '.join(words)}\n{done.stdout}--- standard error\n{errors}--- exit code {done.returncode}\n"
    golden(GOLDEN / f"{name.replace(' ', '_')}.txt", said.replace(str(tmp_path), "<folder>"))


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "ghcm.cli", "run", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=clean_environment())


def shows(process: subprocess.Popen[str], said: str) -> None:
    """Wait for a line of the output."""
    assert process.stdout is not None
    while not (line := process.stdout.readline()).startswith(said):
        assert line, process.communicate()


def says(process: subprocess.Popen[str], said: str) -> None:
    """Wait for a line about how it goes."""
    assert process.stderr is not None
    while said not in (line := process.stderr.readline()):
        assert line, process.communicate()


def numbers(folder: Path) -> list[int]:
    """The numbers in the committed files of the sink."""
    files = (folder / "out" / file.name for file in PlainTable(folder / "out").live())
    return sorted(int(json.loads(line)["number"]) for file in files for line in file.read_text().splitlines())


def test_ctrl_c_shows_what_was_written_with_the_last_commit_too(tmp_path: Path) -> None:
    (tmp_path / "ticks.istream").write_text(
        'program ticks\n\nsink out = files("out", format = json, mode = append)\n\n'
        "stream count {\n  generate(rows = 100_000, rate = 1000).to(out)\n}\n"
    )
    with start(tmp_path, "ticks.istream") as process:
        shows(process, "out: +")
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    found = re.search(r"(?m)^sink +where +rows\nout +out +(\d+)$", rest)
    assert found is not None and numbers(tmp_path) == list(range(int(found[1])))
    assert errors.endswith("ghcm run --resume goes on where this ended\ninterrupted\n")


FOLLOWING = """\
program follows

record Number { number: int }

sink out = files("out", format = json, mode = append)

stream read { files("in", format = json, follow = true).as(Number).to(out) }
"""


def test_a_run_that_failed_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "follows.istream").write_text(FOLLOWING)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"number": 0}\n{"number": 1}\n')
    with start(tmp_path, "follows.istream") as process:
        shows(process, "out: +2 rows")
        (tmp_path / "draft").write_bytes(b"\x1f\x8b is no archive")
        (tmp_path / "draft").rename(tmp_path / "in" / "2.json.gz")
        assert "see that it is whole" in process.communicate(timeout=120)[1]
    assert process.returncode == 1
    (tmp_path / "in" / "2.json.gz").write_bytes(gzip.compress(b'{"number": 2}\n'))

    again = ghcm("run", "follows.istream", cwd=tmp_path)
    assert (again.returncode, numbers(tmp_path)) == (2, [0, 1])
    assert "GHCM-606" in again.stderr and "--resume goes on where that job ended" in again.stderr

    with start(tmp_path, "--resume", "follows.istream") as process:
        shows(process, "out: +1 rows")
        run = psutil.Process(process.pid).children(recursive=True)
        process.kill()  # what is killed goes on, too
        process.communicate()
    psutil.wait_procs(run)  # which read on until they have noticed
    (tmp_path / "in" / "3.json").write_text('{"number": 3}\n')
    with start(tmp_path, "--resume", "follows.istream") as process:
        shows(process, "out: +1 rows")
        process.send_signal(signal.SIGTERM)  # as who runs services sends it
        told, errors = process.communicate(timeout=120)
    assert (process.returncode, numbers(tmp_path)) == (0, [0, 1, 2, 3])  # in order: it has no end of its own
    assert re.search(r"(?m)^sink +where +rows\nout +out +1$", told)
    assert errors.endswith("stopping; Ctrl-C ends it at once\n")

    shutil.rmtree(tmp_path / "out")  # nothing is there twice then
    with start(tmp_path, "follows.istream") as process:
        shows(process, "out: +4 rows")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


def test_a_run_with_a_state_of_its_own_that_is_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "ticks.istream").write_text(
        'program ticks\n\nsink out = files("out", format = json, mode = append)\n\n'
        "stream count {\n  generate(rows = 3000, rate = 500).to(out)\n}\n"
    )
    with start(tmp_path, "ticks.istream", "--state", "own") as process:
        shows(process, "out: +")
        process.kill()
        process.communicate()
    again = ghcm("run", "ticks.istream", "--state", "own", "--resume", cwd=tmp_path)
    assert (again.returncode, numbers(tmp_path)) == (0, list(range(3000))), again.stderr


SERVING = """\
program serves

responsive stream wait(gate: string) { generate(rows = 1).map(g => gate).python("gates:passed") : string .reply() }
"""
GATES = "def passed(gate):\n    with open(gate) as pipe:\n        return pipe.read()\n"


def test_a_second_ctrl_c_ends_it_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "serves.istream").write_text(SERVING)
    (tmp_path / "gates.py").write_text(GATES)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with start(tmp_path, "serves.istream", "--json") as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        calls = f"{url}/programs/serves/units/wait/calls"
        until(lambda: request("POST", calls, {"gate": str(gate)}).status == 202, "the call to be taken")
        doors: list[int] = []
        until(lambda: doors or opened(gate, doors), "the call to be run")
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        says(process, "waiting up to 30 s for 1 call")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)  # what it waits for without the second ends after twice 30 s
    assert process.returncode == 130
    assert psutil.wait_procs(below, timeout=20)[1] == []
    os.close(doors[0])


def opened(pipe: Path, doors: list[int]) -> bool:
    """Whether anybody reads from it, who is given no end."""
    with suppress(OSError):
        doors.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    return bool(doors)
