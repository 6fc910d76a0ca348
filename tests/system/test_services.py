"""`ghcm services`: a real Kafka and Redis with ports and data that stay, and what is said where they cannot start."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.kafka_server import services_folder
from tests.system.running import clean_environment, ghcm

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    services_folder()  # the jars are fetched
    yield tmp_path
    ghcm("services", "down", cwd=tmp_path)


def services(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    done = ghcm("services", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["services"]}


def test_services_keep_ports_and_data(folder: Path) -> None:
    assert {each["pid"] for each in services(folder, "status").values()} == {None}
    first = services(folder, "up")
    assert services(folder, "up")["kafka"]["pid"] == first["kafka"]["pid"]
    port = first["redis"]["address"].split(":")[-1].split("/")[0]
    with socket.create_connection(("127.0.0.1", int(port))) as redis:
        redis.sendall(b"SET kept 1\r\n")
        assert redis.recv(100) == b"+OK\r\n"
    down = services(folder, "down")
    assert {each["pid"] for each in down.values()} == {None}
    assert not any(psutil.pid_exists(each["pid"]) for each in first.values())
    again = services(folder, "up")
    assert [each["address"] for each in again.values()] == [each["address"] for each in first.values()]
    with socket.create_connection(("127.0.0.1", int(port))) as redis:
        redis.sendall(b"GET kept\r\n")
        assert b"1" in redis.recv(100)
    assert all(each["memory"] > 0 and each["size"] > 0 and Path(each["log"]).exists() for each in again.values())


def test_two_that_start_at_once_start_one_of_each(folder: Path) -> None:
    line = [sys.executable, "-m", "ghcm.cli", "services", "up", "--json"]
    both = [
        subprocess.Popen(line, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [json.loads(each.communicate(timeout=120)[0])["services"] for each in both]
    assert [each["pid"] for each in said[0]] == [each["pid"] for each in said[1]]
    assert None not in [each["pid"] for each in said[0]]


def test_what_keeps_services_from_starting_is_said(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    first = services(folder, "up")
    services(folder, "down")
    port = int(first["kafka"]["address"].split(":")[1])
    with socket.create_server(("127.0.0.1", port)):
        taken = ghcm("services", "up", cwd=folder)
        assert taken.returncode == 1
        assert f"port {port}, which kafka had so far, is taken" in taken.stderr
        assert services(folder, "up", "--other-ports")["kafka"]["address"] != first["kafka"]["address"]
    services(folder, "down")
    (folder / ".ghcm/services/kafka/data/meta.properties").write_text("version=1\ncluster.id=other\nnode.id=7\n")
    broken = ghcm("services", "up", cwd=folder)
    assert broken.returncode == 1
    assert "kafka ended while it started" in broken.stderr
    assert "kafka.log" in broken.stderr
    bare = tmp_path_factory.mktemp("bare")
    without = ghcm("services", "up", cwd=bare, PATH=str(bare), JAVA_HOME=str(bare))
    assert without.returncode == 1
    assert "Kafka needs Java 17 or newer" in without.stderr
    old = bare / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    aged = ghcm("services", "up", cwd=bare, JAVA_HOME=str(bare))
    assert "Kafka needs Java 17 or newer" in aged.stderr
    assert "11.0.2" in aged.stderr
    away = ghcm(
        "services",
        "up",
        cwd=bare,
        XDG_CACHE_HOME=str(bare / "cache"),
        HOME=str(bare),
        JAVA_TOOL_OPTIONS=" ".join(f"-D{kind}.proxyHost=127.0.0.1 -D{kind}.proxyPort=1" for kind in ("http", "https")),
    )
    assert away.returncode == 1
    assert "Kafka cannot be fetched" in away.stderr
    assert list((bare / "cache" / "ghcm").iterdir()) == []
