"""`make demo` from the first line to exit code 0: what a user sees, finds afterwards, and does not find running."""

import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import polars as pl
import psutil
import pytest

from tests.conformance.traffic_runs import EXAMPLE, generator
from tests.system.running import clean_environment, gone, request

pytestmark = pytest.mark.system

ROOT = EXAMPLE.parents[1]
RULES = {"port_scan", "address_scan", "flood", "brute_force", "unusual_volume", "beaconing"}
CHAIN = "203.0.113.66 → 10.0.0.13 → 10.0.1.20 → 198.51.100.99"
"""How the generated attack goes on from host to host."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_shows_everything_and_ends_with_0(tmp_path: Path) -> None:
    said: list[str] = []
    started: list[psutil.Process] = []
    command = [sys.executable, str(EXAMPLE / "demo.py"), "--rate", "0"]
    pipe = subprocess.PIPE
    environment = clean_environment()
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            said.append(line)
            if "the page for the people on watch: " in line:
                page = request("GET", line.rpartition(" ")[2].strip())
                assert (page.status, "<title>" in page.text) == (200, True)
            if line.startswith("7  where to look next"):
                started = psutil.Process(demo.pid).children(recursive=True)
    text = "".join(said)
    assert demo.returncode == 0, text
    assert started and gone(started), started
    for step in ("1  one program", "2  the stream", "3  scenarios, called by policy", "4  calls over HTTP"):
        assert step in text

    made = generator()
    flows = len(made.connections(7, 30, 10, made.PLANTED))
    assert f"in all {flows:,} connections" in text
    assert "busiest hosts" in text and "key server database: slow" in text
    folder = tmp_path / ".ghcm" / "demo"
    assert pl.read_delta(str(folder / "out/throughput"))["flows"].sum() == flows
    assert set(pl.read_delta(str(folder / "out/alerts"))["origin"]) == RULES
    assert set(text.split()) >= RULES

    assert CHAIN in text
    assert "a victim itself, goes on to 198.51.100.99: Beaconing" in " ".join(text.split())
    for call in ("talkers", "host_profile", "scenarios_of"):
        assert f"POST …/{call}/calls" in text
    assert "about 1 host," in text  # what is known of the attacker
    assert (folder / "traffic.png").read_bytes().startswith(b"\x89PNG")
    assert "203.0.113.66" in "".join(xml.parse(folder / "attacks.svg").getroot().itertext())


def test_make_runs_it() -> None:
    # What `make test` hands to a make inside of it: its level, for which directories are told, and its own words.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "ARGS"))}

    def command(*words: str) -> str:
        done = subprocess.run(
            ["make", "-n", "demo", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()[-1]

    assert command().split()[1:] == ["examples/traffic/demo.py"]
    assert command("DATA=a b", "ARGS=--keep").split()[1:] == ["examples/traffic/demo.py", '"$DATA"', "--keep"]


@pytest.mark.parametrize("words", [["no such file"], [__file__]])
def test_a_file_that_is_none_of_ours_is_refused_at_once(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "demo.py"), *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error[GHCM-7") and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
