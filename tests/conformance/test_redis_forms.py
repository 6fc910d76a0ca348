"""Both engines write every form of Redis alike."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ghcm.runtime.contract import Form
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.conformance.redis_forms import FOUND, TEXT, VISITS, found
from tests.conformance.spark_runs import run_on_spark
from tests.redis_server import connected

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
