"""What another user of the same machine can read and start: nothing. And where a password is seen: nowhere."""

import json
import os
import pwd
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from kafka.errors import KafkaError

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.parent_death import ending_with_parent
from ghcm.runtime.pubsub.embedded import embedded_command
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from tests.kafka_server import as_user, kafka, new_topic, records, services_folder
from tests.redis_server import await_redis
from tests.system.private_redis import PrivateRedis
from tests.system.running import PATIENCE, Running, clean_environment, ghcm, running, until
from tests.system.storm.calls import FINAL

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.getuid() != 0, reason="only root can ask as another user: rights are not tested"),
]

NOBODY = 65534
PASSWORD = "n0t-to-be-seen"

PROGRAM = """\
program guarded

record Number { n: int }

stream copy {
  lines = files("in.txt", format = text)
  lines.filter(line => line.text == "a").to(out)
  counts = lines.map_to_pair(line => (line.text, 1)).reduce_by_key((a, b) => a + b)
  files("in.json", format = json).as(Number).to(table)
}

sink out   = files("out", format = json, mode = append)
sink table = parquet("table", mode = append)
sink again = files("again", format = json, mode = append)

responsive batch on_spark() engine = spark {
  numbers = files("in.json", format = json).as(Number)
  numbers.to(again)
  numbers.reply()
}

responsive stream count(of: string) { copy.counts.read(of).reply() }
"""

ASKED = """\
program asked

responsive batch all() engine = spark {
  files("in.txt", format = text).reply()
}
"""

_ASK = """\
import json, os, socket, sys
got = []
for path in json.load(sys.stdin):
    try:
        if os.path.exists(path) and not os.path.isdir(path):
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            got.append(path)
    except OSError:
        pass
    for look in (os.listdir, lambda path: open(path, "rb").read(), lambda path: open(path, "ab")):
        try:
            look(path)
            got.append(path)
        except OSError:
            pass
print(json.dumps(sorted(set(got))))
"""


_ASK_HTTP = """\
import json, sys, urllib.error, urllib.request
got = []
for method, url in json.load(sys.stdin):
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"}, method=method)
    try:
        got.append([method, url, urllib.request.urlopen(request, timeout=20).status])
    except urllib.error.HTTPError as error:
        got.append([method, url, error.code])
print(json.dumps(got))
"""

_ASK_KAFKA = """\
import json, socket, struct, sys
got = []
request = struct.pack(">hhih", 60, 0, 1, -1) + bytes(3)  # which cluster this is, and who belongs to it
for port in json.load(sys.stdin):
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.sendall(struct.pack(">i", len(request)) + request)
        if client.recv(1):
            got.append(port)
print(json.dumps(got))
"""


def nobody_gets(folder: Path) -> list[str]:
    """Which files, folders and sockets of a folder another user can list, read, add to or connect to."""
    return list(nobody_runs(_ASK, [str(path) for path in (folder, *folder.rglob("*"))]))


def nobody_runs(program: str, given: object) -> Any:
    """What a program of another user prints who is given this."""
    done = subprocess.run(
        [shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable, "-I", "-c", program],
        input=json.dumps(given),
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, as homes often are: those of pytest nobody may."""
    folder = Path(tempfile.mkdtemp(prefix="ghcm-rights-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def daemon(open_folder: Path) -> Iterator[Running]:
    """A daemon whose Redis wants a password, with a program on both engines that has been called."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory, url = open_folder / "server", f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
    line = ending_with_parent(embedded_command(directory, port, PASSWORD))
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    try:
        await_redis(url, directory / "redis.log")
        yield from served(open_folder, url)
    finally:
        server.terminate()
        server.wait()


def is_over(daemon: Running, call: str) -> bool:
    return bool(daemon.get(f"{call}?wait=20").json["state"] in FINAL)


def served(open_folder: Path, url: str) -> Iterator[Running]:
    (open_folder / "in.txt").write_text("a\nb\n" * 10)
    (open_folder / "in.json").write_text('{"n": 1}\njunk\n')
    (open_folder / "redis.url").write_text(f"{url}\n")
    (open_folder / "redis.url").chmod(0o600)
    (open_folder / "ghcm.toml").write_text('redis = "file:redis.url"\n')
    (open_folder / "guarded.istream").write_text(PROGRAM)
    before = os.umask(0)  # nothing is left to the umask of who has started it
    with running(open_folder) as daemon:
        os.umask(before)
        daemon.submit(build(open_folder / "guarded.istream"))
        for unit, given in (("on_spark", {}), ("count", {"of": "a"})):
            call = daemon.post(f"/programs/guarded/units/{unit}/calls", given).json["links"]["self"]
            over = partial(is_over, daemon, call)
            until(over, f"{unit} to be done" + daemon.log("spark"), 3 * PATIENCE)
            assert daemon.get(call).json["state"] == "done", daemon.get(call).text + daemon.log("spark")
        drawn = daemon.get(f"{call}/chart?kind=bar&x=key&y=value")
        assert drawn.status == 200, drawn.text
        yield daemon


def test_nobody_reads_the_state_and_connects_to_no_socket_in_it(daemon: Running, open_folder: Path) -> None:
    there = {path.name for path in daemon.state.path.iterdir()}
    assert {"jobs.sqlite", "control.sock", "snapshots", "bundles", "logs", "spark"} <= there
    assert nobody_gets(daemon.state.path) == []
    assert daemon.cli("backup", open_folder / "backup").returncode == 0
    for state in (daemon.state.path, open_folder / "backup"):
        found = [path for path in (state, *state.rglob("*")) if path.exists()]
        assert {"manifest.json", "guarded", "copy", "on_spark", "audit.jsonl"} <= {path.name for path in found}
        assert [path for path in found if path.stat().st_mode & 0o077] == []
    assert {oct(path.stat().st_mode & 0o777) for path in (open_folder / "out").glob("part-*")} == {"0o666"}


def test_what_is_open_already_is_closed_by_the_next_daemon_and_http_answers_nobody(open_folder: Path) -> None:
    state = open_folder / "before"
    (state / "logs").mkdir(parents=True)
    (state / "logs" / "http.log").write_text("of an earlier version")
    assert str(state) in nobody_gets(state)
    (open_folder / "asked.istream").write_text(ASKED)
    other = Running(open_folder, {"GHCM_STATE": str(state), "GHCM_ACCESS_REQUIRED": "true"}, home=state)
    other.start()
    other.submit(build(open_folder / "asked.istream"))
    here = f"{other.url}/programs/asked"
    read = ("/programs", "/openapi.json", "/metrics", "/programs/asked/units/all/calls", "/programs/asked/dead")
    asked = [("GET", f"{other.url}{path}") for path in read]
    asked += [("GET", here), ("POST", f"{here}/units/all/calls"), ("DELETE", f"{here}/units/all/calls/1")]
    assert [each for each in nobody_runs(_ASK_HTTP, asked) if each[-1] != 401] == []
    assert other.control.ask("calls")["calls"] == []
    assert nobody_gets(state) == []
    other.stop()
    ended = json.loads(other.state.audit.read_text().splitlines()[-1])
    assert (ended["action"], ended["from"]) == ("shutdown", "signal SIGTERM")


def test_who_ends_the_daemon_is_noted(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        assert daemon.process is not None
        line = [sys.executable, "-m", "ghcm.cli", "stop", "--daemon"]
        with subprocess.Popen(line, cwd=tmp_path, env=clean_environment(), stdout=subprocess.DEVNULL) as stopping:
            assert stopping.wait(PATIENCE) == 0
        assert daemon.process.wait(PATIENCE) == 0
        ended = json.loads(daemon.state.audit.read_text().splitlines()[-1])
    me = pwd.getpwuid(os.getuid()).pw_name
    assert (ended["action"], ended["caller"], ended["from"]) == ("shutdown", me, f"process {stopping.pid}")


def test_nobody_reads_the_private_redis(open_folder: Path) -> None:
    server = PrivateRedis(open_folder / "private")
    server.start()
    assert nobody_gets(server.directory) == []
    server.stop()


def test_the_kafka_of_the_services_lets_in_nobody_without_its_password() -> None:
    settings, topic = kafka(), new_topic([b"private"])
    written = (services_folder() / "kafka" / "server.properties").read_text()
    ports = {int(port) for port in re.findall(r"://127.0.0.1:(\d+)", written)}
    assert len(ports) == 2  # clients come to one, brokers to that of the controller
    assert nobody_runs(_ASK_KAFKA, list(ports)) == []
    for stranger in (Kafka(bootstrap=settings.bootstrap), as_user(settings, str(settings.username), "guessed")):
        brokers = Brokers(stranger, 1.0, made={topic})
        with pytest.raises(GhcmError), brokers.admin() as admin:
            admin.list_topics()
        with pytest.raises(GhcmError):
            brokers.send(topic, (1, 60), b"of a stranger")
        with pytest.raises(KafkaError):
            records(topic, stranger, 1.0)
        brokers.close()
    assert [each.value for each in records(topic)] == [b"private"]


def family(daemon: Running) -> list[psutil.Process]:
    assert daemon.process is not None
    return [psutil.Process(daemon.process.pid), *daemon.processes()]


def arguments(process: psutil.Process) -> str:
    with suppress(psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""


def test_a_password_is_in_no_argument_answer_or_log(daemon: Running) -> None:
    assert not [each for each in family(daemon) if PASSWORD in arguments(each)]
    listed = daemon.cli("ps", "--json")
    assert listed.returncode == 0 and "redis://127.0.0.1:" in listed.stdout
    said = listed.stdout + daemon.cli("ps").stdout + json.dumps(daemon.control.ask("status"))
    said += "".join(daemon.get(path).text for path in ("/programs", "/ready", "/openapi.json"))
    said += "".join(log.read_text(errors="replace") for log in daemon.state.logs.iterdir())
    assert PASSWORD not in said
    assert PASSWORD in str(daemon.control.ask("redis")["url"])  # for commands of this user


def test_a_password_in_an_argument_is_refused(open_folder: Path) -> None:
    done = ghcm("supervise", "--redis", f"redis://me:{PASSWORD}@localhost:1/0", cwd=open_folder)
    assert done.returncode == 2 and "--redis file:PATH" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr


def test_spark_takes_nothing_from_who_does_not_know_its_secret(daemon: Running) -> None:
    ports = {
        connection.laddr.port
        for process in family(daemon)
        if "java" in process.name()
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    body = struct.pack(">BQI", 3, 1, 4) + b"ghcm"
    remote = [asked(port, struct.pack(">Q", 8 + len(body)) + body) for port in ports]
    python = [asked(port, b"r\nu\njava.lang.System\nrj\ne\n") for port in ports]
    assert sum(b"Expected SaslMessage" in answer for answer in remote) == 2, remote  # of calls, and of blocks
    assert sum(b"Authentication error" in answer for answer in python) == len(ports) - 2, python


def asked(port: int, words: bytes) -> bytes:
    """What a port answers to a call in Spark's protocol, or in that of its gateway to Python, from a stranger."""
    with socket.create_connection(("localhost", port), 10) as client:
        answer = b""
        with suppress(OSError):  # it may answer and hang up before all is said
            client.sendall(words)
            client.shutdown(socket.SHUT_WR)
        with suppress(OSError):  # it may hang up with a reset
            while part := client.recv(4096):
                answer += part
        return answer
