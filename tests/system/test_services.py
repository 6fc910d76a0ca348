"""`ghcm services` and the profile `services`: a real Kafka and Redis, and a program that is called through them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ghcm.runtime.pubsub.kafka_connection import Brokers, topic_name
from ghcm.runtime.pubsub.redis_connection import open_client
from ghcm.runtime.pubsub.services import JAR_COUNT, JARS, service_logins
from tests.kafka_server import records, services_folder
from tests.system.running import clean_environment, ghcm, running, until

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

PROGRAM = """\
program shop

record Sale { who: string, cents: int }

cache questions = kafka("shop.questions")
cache jobs = redis("shop-jobs")

stream watch {
  sales = files("sales.jsonl", format = json).as(Sale)
  totals = sales.map_to_pair(s => (s.who, s.cents)).reduce_by_key((a, b) => a + b)
}

responsive stream best(n: int = 1) on questions {
  watch.totals.read().top(n, by = p => p.value).reply()
}

responsive stream worst(n: int = 1) {
  watch.totals.read().top(n, by = p => 0 - p.value).reply()
}

responsive stream every() on jobs {
  watch.totals.read().reply()
}
"""


def lay_out(folder: Path) -> None:
    (folder / "shop.istream").write_text(PROGRAM)
    (folder / "sales.jsonl").write_text(
        "".join(json.dumps({"who": who, "cents": cents}) + "\n" for who, cents in (("ann", 5), ("bob", 3), ("ann", 4)))
    )
    services_folder()  # the jars are fetched


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where services are started, and ended at last."""
    lay_out(tmp_path)
    yield tmp_path
    ghcm("services", "down", cwd=tmp_path)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Any]]]:
    """A folder with services that run, and what each of the two said that started them at once."""
    folder = tmp_path_factory.mktemp("started")
    lay_out(folder)
    line = [sys.executable, "-m", "ghcm.cli", "services", "up", "--json"]
    both = [
        subprocess.Popen(line, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        yield folder, [json.loads(each.communicate(timeout=300)[0])["services"] for each in both]
    finally:
        ghcm("services", "down", cwd=folder)


def services(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    done = ghcm("services", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {each["name"]: each for each in json.loads(done.stdout)["services"]}


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """What the command has shown on the terminal where its standard error is, to its end, which is a good one."""
    terminal, side = os.openpty()
    line, seen = [sys.executable, "-m", "ghcm.cli", *words], bytearray()
    with (
        open(terminal, "rb", buffering=0) as screen,
        subprocess.Popen(
            line, cwd=folder, env=clean_environment(TERM="xterm", **environment), stdout=subprocess.DEVNULL, stderr=side
        ) as process,
    ):
        os.close(side)
        with suppress(OSError):  # so a terminal ends that nobody has any more
            while part := screen.read(4096):
                seen += part
    assert process.returncode == 0, seen
    return seen.decode()


def repository_of(jars: Path, home: Path) -> list[str]:
    """Have the user of this home fetch by Ivy from a repository that holds these jars; their file names."""
    names, module = sorted(each.name for each in jars.iterdir()), "org.apache.kafka"
    found = [re.fullmatch(r"(.+?)-(\d[^/]*)\.jar", name) for name in names]
    needed = "".join(
        f'<dependency org="jars" name="{each[1]}" rev="{each[2]}" conf="default"/>'
        for each in found
        if each is not None and each[1] not in ("kafka_2.13", "log4j-slf4j-impl")
    )
    (home / "kafka_2.13.xml").write_text(
        f'<ivy-module version="2.0"><info organisation="{module}" module="kafka_2.13" revision="4.1.0"/>'
        f"<dependencies>{needed}</dependencies></ivy-module>"
    )
    (home / ".ivy2").mkdir()
    (home / ".ivy2" / "ivysettings.xml").write_text(
        f'<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<ivy pattern="{home}/[module].xml"/><artifact pattern="{jars}/[artifact]-[revision].[ext]"/>'
        f"</filesystem></resolvers></ivysettings>"
    )
    return names


def test_services_keep_ports_and_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_OPTS", f"{os.environ['KAFKA_OPTS']} -Xmx200m")
    assert {each["pid"] for each in services(folder, "status").values()} == {None}
    jars = repository_of(JARS, folder)  # for one who has fetched nothing yet
    screen = on_a_terminal(folder, "services", "up", HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"))
    own = folder / "cache" / "ghcm" / JARS.name
    assert sorted(path.name for path in own.iterdir()) == jars
    assert len(jars) == JAR_COUNT
    assert "43 MB" in screen
    assert any(re.sub(r"-\d[^/]*\.jar", ".jar", name) in screen for name in jars)
    assert "redis" in screen
    started = json.loads((folder / ".ghcm" / "services" / "services.json").read_text())
    first = services(folder, "up")
    assert {name: each["pid"] for name, each in first.items()} == {name: each["pid"] for name, each in started.items()}
    said = psutil.Process(first["kafka"]["pid"]).cmdline()
    assert said.index("-Xmx200m") > said.index("-Xmx256m")  # of two, Java takes the later
    port = first["redis"]["address"].split(":")[-1].split("/")[0]
    with socket.create_connection(("127.0.0.1", int(port))) as stranger:
        stranger.sendall(b"SET kept 1\r\n")
        assert stranger.recv(100).startswith(b"-NOAUTH")
    private = folder / ".ghcm" / "services"
    kafka, url = service_logins(private)
    seen = json.dumps(first) + "".join((private / f"{name}.log").read_text() for name in first)
    seen += " ".join(word for each in first.values() for word in psutil.Process(each["pid"]).cmdline())
    logins = (kafka.password.get_secret_value(), "kafka.properties"), (url[9:].partition("@")[0], "redis.url")
    for password, file in logins:
        assert password and password in (private / file).read_text() and password not in seen
    names = ("", "kafka.properties", "kafka.log", "kafka/server.properties", "redis.url", "redis.log")
    assert [name for name in names if (private / name).stat().st_mode & 0o077] == []
    with closing(Brokers(kafka, 30.0)) as before, open_client((private / "redis.url").read_text().strip()) as client:
        client.set("kept", 1)
        before.send("kept", (1, 3600), b"1")
        down = services(folder, "down")
        assert {each["pid"] for each in down.values()} == {None}
        assert not any(psutil.pid_exists(each["pid"]) for each in first.values())
        again = services(folder, "up")
        assert [each["address"] for each in again.values()] == [each["address"] for each in first.values()]
        assert client.get("kept") == b"1"  # who was there before is let in again
        before.send("kept", (1, 3600), b"2")
    assert [each.value for each in records("kept", kafka)] == [b"1", b"2"]
    assert all(each["memory"] > 0 and each["size"] > 0 and Path(each["log"]).exists() for each in again.values())


def test_two_that_start_at_once_start_one_of_each(started: tuple[Path, list[Any]]) -> None:
    _, said = started
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


def test_a_program_runs_on_services_without_a_change(started: tuple[Path, list[Any]], tmp_path: Path) -> None:
    lay_out(tmp_path)
    stopped = ghcm("run", "shop.istream", "--profile", "services", cwd=tmp_path)
    assert stopped.returncode == 1
    assert "ghcm services up" in stopped.stderr
    folder, _ = started
    with running(folder, GHCM_PROFILE="services") as daemon:
        job = daemon.submit(folder / "shop.istream")
        for unit, expected in (("best", "ann"), ("worst", "bob")):
            answer = daemon.post(f"/programs/shop/units/{unit}/calls?wait=30", {"n": 1}).json
            assert (answer["state"], answer["data"][0]["key"]) == ("done", expected)
        assert len(daemon.post("/programs/shop/units/every/calls?wait=30", {}).json["data"]) == 2
        engine = daemon.pid(job)
        assert engine is not None
        os.kill(engine, signal.SIGKILL)
        until(lambda: daemon.post("/programs/shop/units/best/calls?wait=30", {}).json["state"] == "done", "an answer")
        settings, _ = service_logins(folder / ".ghcm/services")
        sent = records("shop.questions", settings)
        assert len(sent) >= 2
        assert all("parameters" in json.loads(each.value) for each in sent)
        poison = [b"junk", sent[0].value.replace(b'"best"', b'"worst"'), b""]
        with closing(Brokers(settings, 30.0)) as brokers:
            for data in poison:
                brokers.send("shop.questions", (4, 3600), data)
        assert daemon.post("/programs/shop/units/best/calls?wait=30", {}).json["state"] == "done"
    assert {each.value for each in records("shop.questions.refused", settings)} == {b"junk", b""}
    told = records(topic_name("ghcm:feedback:supervisor"), settings)
    assert len(records(topic_name("ghcm:cache:shop:worst"), settings)) == 1
    assert not any(b"ann" in each.value or b"bob" in each.value for each in [*sent, *told])


def test_a_run_has_its_calls_on_kafka(started: tuple[Path, list[Any]]) -> None:
    folder, _ = started
    (folder / "ghcm.toml").write_text('profile = "services"\n')
    line = [sys.executable, "-m", "ghcm.cli", "run", "shop.istream", "--keep", "--json"]
    with subprocess.Popen(
        line, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        begun = json.loads(run.stdout.readline())
        assert begun["redis"].startswith("redis://127.0.0.1:")
        for said in run.stdout:
            if json.loads(said)["event"] == "complete":
                break
        called = ghcm("call", "shop.best", "n=1", "--wait", "--json", cwd=folder, GHCM_STATE=begun["state"])
        assert '"ann"' in called.stdout, called.stdout + called.stderr
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
