"""Runs that go wrong, as a user sees them: what is said, where in the program, what to do, and the exit code."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Golden
from tests.system.running import clean_environment, ghcm

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


def test_ctrl_c_shows_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "ticks.istream").write_text(
        'program ticks\n\nsink out = files("out", format = json, mode = append)\n\n'
        "stream count {\n  generate(rows = 100_000, rate = 100).to(out)\n}\n"
    )
    command = [sys.executable, "-m", "ghcm.cli", "run", "ticks.istream"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while not process.stdout.readline().startswith("out: +"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert re.search(r"(?m)^sink +where +rows\nout +out +[1-9]\d*$", rest)
    assert errors.endswith("interrupted\n")
