"""Both engines write every form of Redis alike, and read what is kept there."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.runtime.contract import Form
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import open_writer, read
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.conformance.redis_forms import FOUND, TEXT, VISITS, found
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import RedisServer, connected

EXPIRE = {"last:ann": 3600, "user:bob": 5400, "visits": 7200}


def lifetimes(client: Any) -> dict[str, int]:
    return {key: client.ttl(key) for key in FOUND if client.ttl(key) >= 0}


def notes(client: Any) -> set[str]:
    """What GHCM has left of its own."""
    return {key.decode().rpartition(":")[2] for key in client.scan_iter("ghcm:*")}


@pytest.mark.parametrize("form", ["row", "columnar"])
def test_the_native_engine_writes_what_others_read(form: Form, tmp_path: Path) -> None:
    (tmp_path / "visits.jsonl").write_text(VISITS)
    connections = connected(tmp_path)
    Engine(
        Compiled(checked(TEXT.replace("KIND", "stream"))), connections=connections, state=tmp_path / "state", form=form
    ).run()
    assert found(connections.redis()) == FOUND
    seconds = lifetimes(connections.redis())
    assert set(seconds) == {"last:ann", "last:bob", "user:ann", "user:bob", "visits"}
    assert all(most - 60 < seconds[key] <= most for key, most in EXPIRE.items())
    assert notes(connections.redis()) == {"@versions"}
    connections.close()


@pytest.mark.slow
def test_spark_writes_the_same(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "visits.jsonl").write_text(VISITS)
    program, connections = checked(TEXT.replace("KIND", "batch")), connected(tmp_path)
    run_on_spark(spark, program, "u", tmp_path, redis=connections.url)
    assert found(connections.redis()) == FOUND
    assert set(lifetimes(connections.redis())) == {"last:ann", "last:bob", "user:ann", "user:bob", "visits"}
    assert notes(connections.redis()) == {"@versions"}
    connections.close()


def test_a_version_whose_rows_are_gone_is_not_an_empty_one(
    spark: SparkSession, tmp_path: Path, redis_server: RedisServer
) -> None:
    made = checked(
        "program gone\nrecord N { n: int }\n"
        'sink numbers = redis("gone:numbers", key = n => n.n, mode = replace, record = N)\n'
        "responsive batch all() {\n  numbers.read().reply()\n}\n"
    )
    connections = Connections(tmp_path, redis_server.url)
    writer = open_writer(made.sink("numbers"), connections, writer="test", key=lambda row: row[0])
    for version, rows in (("v1", [(1,)]), ("v2", []), ("v3", [(3,)])):
        writer.write(rows)
        writer.prepare(version)
        writer.commit(version)
    writer.close()
    assert run_on_spark(spark, made, "all", tmp_path, redis=redis_server.url, versions={"numbers": "v2"}).reply == []
    kept = run_on_spark(spark, made, "all", tmp_path, redis=redis_server.url, versions={"numbers": "v1"}).reply
    assert [row["n"] for row in kept] == [1]  # type: ignore[index]
    connections.redis().delete("gone:numbers:v1")  # as its time does
    with pytest.raises(ValueError, match='version "v1"'):
        run_on_spark(spark, made, "all", tmp_path, redis=redis_server.url, versions={"numbers": "v1"})
    with pytest.raises(GhcmError, match='has no version "v1"'):
        list(read(made.sink("numbers"), connections, version="v1"))
