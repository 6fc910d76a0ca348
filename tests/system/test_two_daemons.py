"""Two daemons that share one Redis: what the first may still do when it has stood still for longer than its lease."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.kafka_server import kafka, messages, new_topic
from tests.redis_server import RedisServer
from tests.system.running import Running, running, until

pytestmark = [pytest.mark.slow, pytest.mark.system]

PROGRAM = """program shared

record Number { n: int }

sink log = PLACE

stream feed {
  numbers = files("in", format = json, follow = true).as(Number)
  totals = numbers.map_to_pair(r => ("all", r.n)).reduce_by_key((a, b) => a + b)
  numbers.to(log)
}

responsive stream total() { feed.totals.read().reply() }
"""


def in_a_list(server: RedisServer) -> tuple[str, Callable[[], list[bytes]], dict[str, str]]:
    """A list of Redis, and calls there: the place, what is in it, and where it is."""
    client = server.connect()
    client.delete("shared:log")

    def written() -> list[bytes]:
        return sorted(cast("list[bytes]", client.lrange("shared:log", 0, -1)))

    return 'redis("shared:log", form = list, record = Number)', written, {}


def in_a_topic(_: RedisServer) -> tuple[str, Callable[[], list[bytes]], dict[str, str]]:
    """The same on Kafka."""
    topic = new_topic([])

    def written() -> list[bytes]:
        return sorted(value or b"" for _, _, value, _ in messages(topic)[0])

    return f'kafka("{topic}", record = Number)', written, kafka().variables()


def folder_of(path: Path, place: str, number: int) -> Path:
    (path / "in").mkdir(parents=True)
    (path / "shared.istream").write_text(PROGRAM.replace("PLACE", place))
    feed(path, number)
    return path


def feed(folder: Path, number: int) -> None:
    (folder / f"{number}.new").write_text(f'{{"n": {number}}}\n')
    (folder / f"{number}.new").rename(folder / "in" / f"{number}.jsonl")


def tell(processes: list[int], number: int) -> None:
    for process in processes:
        os.kill(process, number)


def total(daemon: Running) -> object:
    return daemon.post("/programs/shared/units/total/calls?wait=60").json["data"][0]["value"]


@pytest.mark.parametrize("kind", [in_a_list, in_a_topic])
def test_one_that_stood_still_while_another_took_its_program_over_writes_nothing_more(
    redis_server: RedisServer,
    tmp_path: Path,
    kind: Callable[[RedisServer], tuple[str, Callable[[], list[bytes]], dict[str, str]]],
) -> None:
    place, written, more = kind(redis_server)
    environment = {"GHCM_REDIS": redis_server.url, "GHCM_LIMITS_LEASE": "8s", **more}
    first, second = (folder_of(tmp_path / name, place, number) for name, number in (("first", 1), ("second", 20)))
    with running(first, **environment) as old, running(second, **environment) as new:
        job = old.submit("shared.istream")
        until(lambda: written() == [b'{"n":1}'], "the row of the first")
        refused = new.cli("submit", "shared.istream", "--wait")
        assert refused.returncode != 0 and "GHCM-729" in refused.stderr and str(old.state.path) in refused.stderr
        assert 'another daemon on this Redis runs program "shared"' in refused.stderr

        engine, daemon = old.pid(job), old.process
        assert engine is not None and daemon is not None
        others = [daemon.pid, *(each.pid for each in old.processes() if each.pid != engine)]
        tell([engine, *others], signal.SIGSTOP)
        try:
            feed(first, 2)  # which waits to be read
            until(lambda: new.cli("submit", "shared.istream").returncode == 0, "the lease to end")
            until(lambda: written() == [b'{"n":1}', b'{"n":20}'], "the row of the second")
            tell([engine], signal.SIGCONT)  # alone: nobody tells it that it has lost the program
            until(lambda: "without its lease" in old.log(job), "the first to want to write")
            assert [total(new) for _ in range(5)] == [20] * 5
        finally:
            tell([engine, *others], signal.SIGCONT)

        until(lambda: old.job(job)["state"] == "failed", "the first to notice")
        assert "another daemon" in old.job(job)["reason"] and str(new.state.path) in old.job(job)["reason"]
        feed(second, 300)
        until(lambda: len(written()) == 3, "the second to go on")
        assert written() == [b'{"n":1}', b'{"n":20}', b'{"n":300}']
        assert total(new) == 320
        assert "GHCM-729" in old.cli("submit", "shared.istream", "--resume").stderr
        assert new.cli("stop", "shared").returncode == 0
        until(lambda: old.cli("submit", "shared.istream", "--resume").returncode == 0, "the claim to be given up")
