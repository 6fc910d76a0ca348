"""The faults of a storm, as a table: what is struck, how, for how long, and how that ends.

A fault is a function that returns when the fault is over. Filling a disk needs one of its own, which root may mount.
"""

import os
import random
import signal
import sqlite3
import struct
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import redis

from ghcm.runtime.pubsub.embedded import embedded_url
from ghcm.runtime.pubsub.redis_connection import commands, open_client
from ghcm.runtime.pubsub.services import service_logins, services, start_services
from tests.kafka_server import quiet
from tests.system.running import Running, gone, until

LONGEST = 9.0
"""Seconds of a fault: longer than `/ready` has to notice it, shorter than a process may say nothing."""
_DISK = 1 << 30


@dataclass(frozen=True)
class Place:
    """What can be struck: a daemon that runs a job, its services, its disks and its clock."""

    daemon: Running
    random: random.Random
    job: str
    spark: bool
    services: Path | None
    disks: bool
    clock: Path

    def pid(self, name: str) -> int | None:
        """The process of that name, if it runs."""
        if name == "daemon":
            assert self.daemon.process is not None
            return self.daemon.process.pid
        if self.services is None or name not in ("kafka", "redis"):
            return self.daemon.pid(self.job if name == "engine" else name)
        found: dict[str, int | None] = {each["name"]: each["pid"] for each in services(self.services)}
        return found[name]

    def process(self, name: str) -> psutil.Process:
        """The process of that name, once it runs."""
        found: list[psutil.Process] = []

        def runs() -> bool:
            with suppress(psutil.NoSuchProcess):
                found.extend(psutil.Process(pid) for pid in [self.pid(name)] if pid is not None)
            return bool(found)

        until(runs, f"{name} to run")
        return found[0]

    def redis(self) -> Any:
        """A client of the Redis, once it answers, with one connection that goes through what others are refused."""
        url = embedded_url(self.daemon.state.redis) if self.services is None else service_logins(self.services)[1]
        client: Any = commands(open_client(url)).client()

        def answers() -> bool:
            with suppress(redis.RedisError):
                return bool(client.ping())
            return False

        until(answers, "Redis to answer")
        return client

    def ports(self, name: str) -> list[str]:
        """The ports on which this is reached over TCP."""
        if name == "http" or self.services is None:
            return [self.daemon.url.rpartition(":")[2]]
        kafka, served = service_logins(self.services)
        return [
            (kafka.bootstrap if name == "kafka" else served.partition("/0")[0]).rpartition(":")[2].partition("/")[0]
        ]


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: its kind, what is struck, and how, for so many seconds. Calls go on under one that
    `serves`.
    """

    kind: str
    what: str
    strike: Callable[[Place, str, float], None]
    serves: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind} {self.what}"


def faults(place: Place) -> list[Fault]:
    """The table: all faults that this place can have."""
    processes = ["http", "redis", "engine", *(["spark"] if place.spark else [])]
    processes += [] if place.services is None else ["kafka", "daemon"]
    reached = ["http", *(["kafka"] if place.services is not None else [])]
    return [
        *(Fault("kill", name, _killed) for name in processes),
        *(Fault("stop", name, _stopped) for name in processes),
        *(Fault("disk full", name, _full) for name in (("state", "output") if place.disks else ())),
        Fault("locked", "store", _locked),
        *(Fault("redis refuses", name, _refused) for name in _REFUSALS),
        Fault("cut", "redis", _cut_redis),
        *(Fault("cut", name, _cut) for name in reached),
        *(Fault("clock", way, _jumped, serves=True) for way in ("forwards", "backwards")),
    ]


# --- processes -------------------------------------------------------------------------------------------------------


def _killed(place: Place, name: str, _seconds: float) -> None:
    process = place.process(name)
    with suppress(psutil.NoSuchProcess):
        process.kill()
    gone([process])
    _raise_up(place, name)


def _raise_up(place: Place, name: str) -> None:
    """Start again what nobody else would."""
    if place.services is not None and name in ("kafka", "redis"):
        start_services(place.services, quiet)
    if name == "daemon":
        assert place.daemon.process is not None
        place.daemon.process.wait()
        place.daemon.start()


def _stopped(place: Place, name: str, seconds: float) -> None:
    process = place.process(name)
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGCONT)


# --- disks -----------------------------------------------------------------------------------------------------------


@contextmanager
def mounted(folder: Path) -> Generator[bool]:
    """A disk of its own for this folder; whether it has one, which needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    line = ["mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=700", "ghcm-storm", str(folder)]
    mine = subprocess.run(line, check=False, capture_output=True).returncode == 0
    try:
        yield mine
    finally:
        if mine:
            subprocess.run(["umount", "-l", folder], check=True)


def _full(place: Place, which: str, seconds: float) -> None:
    folder = place.daemon.state.path if which == "state" else place.daemon.folder / "out"
    filler, end = folder / ".filler", time.monotonic() + seconds
    try:
        with open(filler, "wb") as file:
            while time.monotonic() < end:
                _fill(file.fileno())
                time.sleep(0.1)
    finally:
        filler.unlink()


def _fill(file: int) -> None:
    """Take every block that is free; how many there are is only nearly known."""
    blocks = os.fstatvfs(file).f_bavail
    while blocks := blocks or 1:
        try:
            os.posix_fallocate(file, os.fstat(file).st_size, blocks * os.fstatvfs(file).f_bsize)
        except OSError:
            if blocks == 1:
                return
            blocks //= 2


# --- the store and Redis ---------------------------------------------------------------------------------------------


def _locked(place: Place, _what: str, seconds: float) -> None:
    other = sqlite3.connect(place.daemon.state.store, timeout=60, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        other.execute("ROLLBACK")
    finally:
        other.close()


def _of_setting(name: str, value: str) -> Callable[[Any, float], None]:
    """Redis with another setting for a while, and connections that are new."""

    def refused(client: Any, seconds: float) -> None:
        before = client.config_get(name)[name]
        client.config_set(name, value)
        try:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            time.sleep(seconds)
        finally:
            client.config_set(name, before)

    return refused


def _paused(client: Any, seconds: float, which: str) -> None:
    client.execute_command("CLIENT", "PAUSE", int(seconds * 1000), which)
    time.sleep(seconds)


_REFUSALS: dict[str, Callable[[Any, float], None]] = {
    "the password": _of_setting("requirepass", "another"),
    "for want of memory": _of_setting("maxmemory", "1"),
    "more clients": _of_setting("maxclients", "1"),
    "to answer": partial(_paused, which="ALL"),
    "to write": partial(_paused, which="WRITE"),
}


def _refused(place: Place, how: str, seconds: float) -> None:
    with place.redis() as client:
        _REFUSALS[how](client, seconds)


# --- connections and the clock ---------------------------------------------------------------------------------------


def _cut_redis(place: Place, _what: str, _seconds: float) -> None:
    with place.redis() as client:
        for kind in ("normal", "pubsub"):
            client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def _cut(place: Place, name: str, _seconds: float) -> None:
    for port in place.ports(name):
        line = ["ss", "-K", "state", "established", f"( sport = :{port} or dport = :{port} )"]
        subprocess.run(line, check=True, capture_output=True)


def _jumped(place: Place, way: str, seconds: float) -> None:
    """The wall clock is wrong by minutes or hours for a while, then jumps back."""
    far = place.random.choice((90, 3600, 6 * 3600)) * (1 if way == "forwards" else -1)
    set_clock(place.clock, far)
    time.sleep(seconds)
    set_clock(place.clock, 0)


def set_clock(file: Path, ahead: int) -> None:
    """Have the clock of all processes that use this file be ahead by so many seconds."""
    with open(file, "r+b" if file.exists() else "wb") as clock:
        clock.write(struct.pack("q", ahead))


def clock_layer(folder: Path) -> dict[str, str]:
    """The environment of processes whose clock jumps, as the file "clock" in this folder says."""
    layer, source = folder / "clock_layer.so", Path(__file__).with_name("clock_layer.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", layer, source, "-ldl"], check=True)
    set_clock(folder / "clock", 0)
    return {"LD_PRELOAD": str(layer), "CLOCK_FILE": str(folder / "clock")}
