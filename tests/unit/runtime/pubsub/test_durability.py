"""What is said of a Redis that others run, and that what the private one has answered is brought to disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.durability import weaknesses
from tests.redis_server import RedisServer, shared_server
from tests.system.private_redis import PrivateRedis
from tests.system.running import until


@pytest.fixture
def server() -> Iterator[RedisServer]:
    found = shared_server()
    with found.connect() as client:
        yield found
        client.config_set("appendonly", "yes")
        client.config_set("appendfsync", "everysec")


@pytest.mark.parametrize(
    ("appends", "syncs", "said"),
    [
        ("no", "always", "has no append-only file, so that a restart loses all that is in it"),
        ("yes", "everysec", "a loss of power takes the last two seconds"),
        ("yes", "no", "a loss of power takes the last half minute"),
        ("yes", "always", ""),
    ],
)
def test_a_server_that_may_lose_what_it_has_answered_is_named(
    server: RedisServer, appends: str, syncs: str, said: str
) -> None:
    with server.connect() as client:
        client.config_set("appendonly", appends)
        client.config_set("appendfsync", syncs)
    assert [said in each and server.url in each for each in weaknesses(server.url)] == [True] * bool(said)


def test_a_server_that_is_away_is_left_to_who_needs_it() -> None:
    assert weaknesses("redis://127.0.0.1:1/0") == []


def test_what_the_private_server_has_answered_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = PrivateRedis(tmp_path / "redis")
    private.directory.mkdir()
    connections, synced = Connections(tmp_path, private.start()), list[Path]()
    monkeypatch.setattr("ghcm.runtime.pubsub.durability.sync", synced.append)

    def written() -> tuple[bytes, list[Path]]:
        synced.clear()
        connections.sync()
        return b"".join(path.read_bytes() for path in synced if path.is_file()), [*filter(Path.is_dir, synced)]

    try:
        with redis.Redis.from_url(private.url) as client:
            client.set("staged", "rows")
            content, folders = written()
            assert b"staged" in content
            assert private.directory in folders
            client.set("later", "rows")
            content, folders = written()
            assert b"later" in content
            assert folders == []  # the files are those of before
            client.bgrewriteaof()
            until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0, "the file to be written anew")
            content, folders = written()
            assert b"later" in content
            assert folders != []
    finally:
        connections.close()
        private.stop()
