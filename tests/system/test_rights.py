"""What another user of the same machine can read and start: nothing. And where a password is seen: nowhere."""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ghcm.driver import build
from ghcm.runtime.parent_death import ending_with_parent
from ghcm.runtime.pubsub.embedded import embedded_command
from tests.redis_server import await_redis
from tests.system.private_redis import PrivateRedis
from tests.system.running import Running, ghcm, running

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.getuid() != 0, reason="only root can ask as another user: rights are not tested"),
]

NOBODY = 65534
PASSWORD = "n0t-to-be-seen"

PROGRAM = """\
program guarded

stream copy {
  files("in.txt", format = text).filter(line => line.text == "a").to(lines)
}

sink lines = files("out", format = json, mode = append)

responsive batch on_spark() {
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


def nobody_gets(folder: Path) -> list[str]:
    """Which files, folders and sockets of a folder another user can list, read, add to or connect to."""
    paths = [str(path) for path in (folder, *folder.rglob("*"))]
    done = subprocess.run(
        [shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable, "-I", "-c", _ASK],
        input=json.dumps(paths),
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


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
    await_redis(url, directory / "redis.log")
    (open_folder / "in.txt").write_text("a\nb\n" * 10)
    (open_folder / "redis.url").write_text(f"{url}\n")
    (open_folder / "redis.url").chmod(0o600)
    (open_folder / "ghcm.toml").write_text('redis = "file:redis.url"\n')
    (open_folder / "guarded.istream").write_text(PROGRAM)
    with running(open_folder) as daemon:
        daemon.submit(build(open_folder / "guarded.istream"))
        answer = daemon.post("/programs/guarded/units/on_spark/calls?wait=60", {})
        assert answer.json["state"] == "done", answer.text + daemon.log("spark")
        yield daemon
    server.terminate()
    server.wait()


def test_nobody_reads_the_state_and_connects_to_no_socket_in_it(daemon: Running) -> None:
    there = {path.name for path in daemon.state.path.iterdir()}
    assert {"jobs.sqlite", "control.sock", "snapshots", "bundles", "logs", "spark"} <= there
    assert nobody_gets(daemon.state.path) == []
    private = [daemon.state.store, daemon.state.lock, *daemon.state.logs.glob("[!d]*.log")]  # ours is daemon.log
    assert [path for path in private if path.stat().st_mode & 0o077] == []


def test_what_is_open_already_is_closed_by_the_next_daemon(daemon: Running, open_folder: Path) -> None:
    state = open_folder / "before"
    (state / "logs").mkdir(parents=True)
    (state / "logs" / "http.log").write_text("of an earlier version")
    assert str(state) in nobody_gets(state)
    other = Running(open_folder, home=state)
    other.start()
    other.stop()
    assert nobody_gets(state) == []


def test_nobody_reads_the_private_redis(open_folder: Path) -> None:
    server = PrivateRedis(open_folder / "private")
    server.start()
    assert nobody_gets(server.directory) == []
    server.stop()


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
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while part := client.recv(4096):
                answer += part
        return answer
