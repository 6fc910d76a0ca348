"""The engine as a process, with compiled programs and a real Redis: reports, calls, SIGKILL, a lost Redis or parent."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ghcm.driver import build
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import cache_topic
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import find_redis_server
from ghcm.runtime.pubsub.envelope import Instruction, State, new_id
from ghcm.runtime.settings import REDIS
from ghcm.runtime.sinks.sink import read
from tests.campaigns import times
from tests.redis_server import RedisServer, await_redis
from tests.tables import left_behind

pytestmark = pytest.mark.slow

PROGRAM = """
program counting

sink words  = files("out/words", format = json, mode = append)
sink totals = redis("PLACE", key = t => t.key, mode = upsert)

stream main {
  found = files("*.txt", format = text)
    .flat_map(l => extract_all(l.text, "[a-z]+"))
    .filter(w => w != "bad" or get([true], 1))
  found.to(words)
  counts = found.map_to_pair(w => (w, 1)).reduce_by_key((a, b) => a + b)
  counts.to(totals)
}

responsive stream how_often(word: string) {
  main.counts.read(word).reply()
}
"""
ENVIRONMENT = {**os.environ, "POLARS_MAX_THREADS": "1", "GHCM_COMMIT_INTERVAL": "0.02"}
KILLS = times(5)


def make(base: Path, place: str, *, lines: int = 20_000, files: int = 4, seed: int = 5) -> tuple[Path, Counter[str]]:
    """A bundle and its input; the words that are to be counted."""
    chance = random.Random(seed)
    expected: Counter[str] = Counter()
    for number in range(files):
        words = [[chance.choice(["cat", "dog", "bad", "eel"]) for _ in range(4)] for _ in range(lines)]
        (base / f"{number}.txt").write_text("\n".join(map(" ".join, words)))
        expected.update(word for line in words for word in line)
    source = base / "counting.istream"
    source.write_text(PROGRAM.replace("PLACE", place))
    return build(source), expected


def start(base: Path, bundle: Path, url: str) -> subprocess.Popen[str]:
    arguments = ["--bundle", str(bundle), "--job", "job", "--state", str(base / "state"), "--base", str(base)]
    with (base / "engine.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "ghcm.runtime.slot.process", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**ENVIRONMENT, REDIS: url},
        )


def reports(process: subprocess.Popen[str]) -> Iterator[dict[str, object]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def wait_for(process: subprocess.Popen[str], *events: str) -> dict[str, object]:
    for report in reports(process):
        if report["event"] in events:
            return report
        assert report["event"] != "failed", report
    raise AssertionError(f"it ended before it said {events}")


def end(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=60)
    process.communicate()
    return code


def check(base: Path, bundle: Path, url: str, expected: Counter[str]) -> None:
    program = Bundle.open(bundle).program
    connections = Connections(base, url)
    good = Counter({word: count for word, count in expected.items() if word != "bad"})
    assert Counter(row[0] for row in read(program.sink("words"), connections)) == good
    assert dict(read(program.sink("totals"), connections)) == good  # type: ignore[arg-type]
    folder = base / "state" / "dead" / "counting" / "main"
    assert sum(len(path.read_text().splitlines()) for path in folder.glob("part-*")) == expected["bad"]
    connections.close()


def test_reports_calls_and_a_stop(tmp_path: Path, redis_server: RedisServer) -> None:
    bundle, expected = make(tmp_path, "process:stop", lines=200)
    process = start(tmp_path, bundle, redis_server.url)
    wait_for(process, "running")
    wait_for(process, "done")
    connections = Connections(tmp_path, redis_server.url)
    cache = connections.cache(cache_topic("counting", "how_often"), "counting", "test")
    id = new_id()
    cache.send(Instruction(id, "counting", "how_often", {"word": "cat"}, reply=f"test:reply:{id}"))
    (placed,) = cache.feedback(f"test:reply:{id}", timeout=30)
    assert placed.feedback.state is State.DONE
    with closing(open_store(tmp_path / "state" / "jobs.sqlite")) as store:
        call = store.calls.get(id)
        assert call is not None
        text = store.replies.find(id, call.ended)
        assert json.loads(text or "") == [{"key": "cat", "value": expected["cat"]}]
    assert process.stdin is not None
    process.stdin.write('{"op": "status"}\nnonsense\n')
    process.stdin.flush()
    status = wait_for(process, "status")["status"]
    assert status["units"]["main"]["tasks"]["counts"]["in"] == sum(expected.values()) - expected["bad"]  # type: ignore[index]
    assert end(process) == 0
    cache.close()
    connections.close()
    check(tmp_path, bundle, redis_server.url, expected)


def test_kill_9_of_the_process_loses_and_doubles_nothing(tmp_path: Path, redis_server: RedisServer) -> None:
    bundle, expected = make(tmp_path, "process:kill", lines=60_000)
    chance = random.Random(11)
    for _ in range(KILLS):
        process = start(tmp_path, bundle, redis_server.url)
        try:
            wait_for(process, chance.choice(["running", "commit"]), "done")
            process.wait(timeout=chance.uniform(0, 0.2))
        except subprocess.TimeoutExpired:
            pass
        process.kill()
        process.communicate()
    process = start(tmp_path, bundle, redis_server.url)
    wait_for(process, "done")
    assert end(process) == 0
    check(tmp_path, bundle, redis_server.url, expected)
    assert left_behind(tmp_path) == []


def test_it_ends_when_its_parent_has_ended(tmp_path: Path, redis_server: RedisServer) -> None:
    bundle, _ = make(tmp_path, "process:orphan", lines=10)
    process = start(tmp_path, bundle, redis_server.url)
    wait_for(process, "done")
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 1
    assert process.stdout is not None
    process.stdout.close()


def test_it_waits_for_a_redis_that_is_away(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ghcm-redis-") as folder:
        url = f"unix://{folder}/redis.sock"
        command = [str(find_redis_server()), "--port", "0", "--unixsocket", f"{folder}/redis.sock", "--dir", folder]
        command += ["--appendonly", "yes", "--save", "", "--logfile", f"{folder}/log"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        await_redis(url, Path(folder, "log"))
        bundle, expected = make(tmp_path, "process:away")
        process = start(tmp_path, bundle, url)
        wait_for(process, "running")
        for _ in range(3):
            server.kill()
            server.wait()
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            await_redis(url, Path(folder, "log"))
        wait_for(process, "done")
        assert end(process) == 0
        check(tmp_path, bundle, url, expected)
        server.terminate()
        server.wait()


def test_a_job_that_cannot_go_on_says_why(tmp_path: Path, redis_server: RedisServer) -> None:
    bundle, _ = make(tmp_path, "process:fails", lines=10)
    for path in tmp_path.glob("*.txt"):
        path.unlink()
    process = start(tmp_path, bundle, redis_server.url)
    failed = next(report for report in reports(process) if report["event"] == "failed")
    assert "no file matches" in failed["error"]["message"]  # type: ignore[index]
    process.communicate(timeout=60)
    assert process.returncode == 1
