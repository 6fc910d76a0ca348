"""A state that is backed up while it is in use, brought back elsewhere, moved, and gone on with."""

import shutil
from pathlib import Path

import pytest

from tests.system.running import Running, running, until

pytestmark = [pytest.mark.system, pytest.mark.slow]

ROWS = 1500
PROGRAM = f"""\
program kept

sink latest = redis("kept:latest", key = p => p.key, mode = upsert)

stream feed {{
  counts = generate(rows = {ROWS}, rate = 200).map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
}}

responsive stream count_of(digit: int) {{ feed.counts.read(digit).reply() }}
"""
UNIT = "/programs/kept/units/count_of/calls"


@pytest.mark.timeout(300)
def test_a_backup_of_a_running_daemon_is_brought_back_elsewhere_and_moved(tmp_path: Path) -> None:
    (tmp_path / "kept.istream").write_text(PROGRAM)
    with running(tmp_path) as daemon:
        job = daemon.submit("kept.istream")
        until(lambda: daemon.get("/programs/kept/sinks/latest/rows?format=json").json["rows"], "the first commit")
        before = daemon.post(f"{UNIT}?wait=30", {"digit": 3}, Idempotency_Key="before").json
        made = daemon.cli("backup", "backup")
        assert made.returncode == 0, made.stdout + made.stderr
        afterwards = daemon.post(f"{UNIT}?wait=30", {"digit": 3})
        assert afterwards.json["state"] == "done", "it goes on"
        again = daemon.cli("backup", "backup")
        assert again.returncode != 0 and "there is something already" in again.stderr
        daemon.kill()

    shutil.rmtree(daemon.state.path)
    brought = daemon.cli("restore", "backup", "--state", "moved")
    assert brought.returncode == 0, brought.stdout + brought.stderr
    elsewhere = Running(tmp_path, home=tmp_path / "moved")
    elsewhere.start()
    try:
        until(lambda: elsewhere.job(job)["inputs_done"], "the stream to end" + elsewhere.log(job))
        known = elsewhere.get(before["links"]["self"]).json
        assert (known["state"], known["ended"]) == ("done", before["ended"])
        rows = elsewhere.get("/programs/kept/sinks/latest/rows?format=json").json["rows"]
        assert {row["key"]: row["value"] for row in rows} == dict.fromkeys(range(10), ROWS // 10)
    finally:
        elsewhere.stop()

    (tmp_path / "moved").rename(tmp_path / "again")
    there = Running(tmp_path, home=tmp_path / "again")
    there.start()
    try:
        assert there.get(before["links"]["self"]).json["ended"] == before["ended"]
        answer = there.post(f"{UNIT}?wait=30", {"digit": 3}).json
        assert answer["data"] == [{"key": 3, "value": ROWS // 10}], answer
    finally:
        there.stop()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    daemon = Running(tmp_path)
    for words in (("backup", "there"), ("restore", "nothing")):
        refused = daemon.cli(*words)
        assert refused.returncode != 0 and "GHCM-770" in refused.stderr, refused
