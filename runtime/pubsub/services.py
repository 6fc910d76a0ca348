"""The development services: a Kafka broker and a Redis on this machine, in one folder (`<state>/services`).

They outlive whoever has started them, keep data and ports from one start to the next, and are known by `services.json`:
process, time of its start, port, and the password that they ask for. The broker's jars are fetched once for each user,
by coordinates, through the Ivy in the pyspark package, from wherever that or `~/.ivy2/ivysettings.xml` looks for such.
"""

import fcntl
import importlib.util
import json
import os
import random
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import redis
from pydantic import SecretStr

from ghcm.errors import GhcmError, without_password
from ghcm.places import make_private, private_opener, write_private
from ghcm.runtime.pubsub.embedded import embedded_command
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.runtime.pubsub.redis_connection import commands, open_client

ADDRESSES = {"kafka": "127.0.0.1:{port}", "redis": "redis://:{password}@127.0.0.1:{port}/0"}
"""Where clients find them, in the order in which they are stopped."""

USER = "ghcm"
"""Who clients of Kafka are."""

_PROPERTIES = """\
bootstrap.servers=127.0.0.1:{port}
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
username="{user}" password="{password}";
"""
LOGINS = {"kafka": ("kafka.properties", _PROPERTIES), "redis": ("redis.url", f"{ADDRESSES['redis']}\n")}
"""The files beside their data that have their addresses and passwords, for other programs of this user."""

JARS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ghcm", "kafka-4.1.0")
"""The jars of the broker, for all projects of this user."""

JAR_COUNT = 46
"""How many they are: so many steps are told while they are fetched."""

_SETTINGS = Path(__file__).with_name("broker.properties")
_ROOM = 256 * 2**20
_START_SECONDS, _STOP_SECONDS, _FREE_SECONDS = 180.0, 20.0, 3.0
"""A machine that is busy takes long to start one; that one has ended is seen at once."""
_PORTS = range(20_000, 32_000)
"""Below those that clients get: one that tries a service that is away could be given its port, and meet itself."""

_JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.apache.logging.log4j.level=INFO")
OPTIONS = "KAFKA_OPTS"
"""The variable in which Kafka's own scripts, too, take more options of Java, which win."""

_NO_WAITING = ("-Dsun.net.client.defaultConnectTimeout=20000", "-Dsun.net.client.defaultReadTimeout=20000")

Told = Callable[[str], None]
Record = dict[str, Any]


def start_services(folder: Path, told: Told, *, other_ports: bool = False) -> None:
    """Start what does not run and return when both answer; `other_ports`: not on those of the last time. GhcmError with
    the end of its log where one cannot start. `told` hears the steps.
    """
    with _locked(folder) as known:
        for name, record in known.items():
            if _process(record) is None:
                known[name] = _started(folder, name, {**record, "port": 0} if other_ports else record, told)
                write_private(folder / "services.json", json.dumps(known).encode())
                file, text = LOGINS[name]
                write_private(folder / file, text.format(user=USER, **known[name]).encode())
        for name, record in known.items():
            _await(folder, name, record)


def stop_services(folder: Path, told: Told) -> None:
    """Stop what runs, one after the other: each is asked, and after a while made to."""
    with _locked(folder) as known:
        for name, process in [(name, _process(record)) for name, record in known.items()]:
            if process is not None:
                told(name)
                process.terminate()
                if not psutil.wait_procs([process], _STOP_SECONDS)[0]:
                    process.kill()
                    process.wait(_STOP_SECONDS)


def services(folder: Path) -> list[Record]:
    """Both as they are: name, address (None before the first start), pid (None where it does not run), memory and size
    of the data in bytes, seconds since the start, log.
    """
    found: list[Record] = []
    for name, record in _known(folder).items():
        process, memory, seconds = _process(record), 0, 0
        with suppress(psutil.Error):
            if process is not None:
                memory, seconds = process.memory_info().rss, int(time.time() - process.create_time())
        address = _address(name, record)
        each: Record = {"name": name, "address": address and without_password(address), "pid": process and process.pid}
        size = _disk_usage(folder / name)
        found.append(each | {"memory": memory, "seconds": seconds, "size": size, "log": str(_log(folder, name))})
    return found


def _disk_usage(folder: Path) -> int:
    """Bytes that its files take up (Kafka's indexes are longer than what they hold). The services go on meanwhile:
    what they delete in between no longer counts.
    """
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(parent, name)).st_blocks * 512
    return total


def service_logins(folder: Path) -> tuple[Kafka, str]:
    """How clients reach Kafka, and the URL of Redis, with their passwords. GhcmError where one does not run."""
    known = _known(folder)
    if stopped := " and ".join(name for name, record in known.items() if _process(record) is None):
        hint = "start both with ghcm services up, or take another profile."
        detail = f'The profile "services" stands for those in "{folder.absolute()}".'
        raise GhcmError(f"not running: {stopped}", code="GHCM-758", detail=detail, hint=hint)
    return _kafka(known["kafka"]), str(_address("redis", known["redis"]))


def _kafka(record: Record) -> Kafka:
    """How a broker is reached that runs; one that an earlier version has started asks for nothing."""
    address, password = str(_address("kafka", record)), record["password"]
    if not password:
        return Kafka(bootstrap=address)
    return Kafka(
        bootstrap=address,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        username=USER,
        password=SecretStr(password),
    )


def _started(folder: Path, name: str, known: Record, told: Told) -> Record:
    """Start it as it is known from the last time: who has its address goes on with that."""
    if shutil.disk_usage(folder).free < _ROOM:
        hint = "free some room, or keep the services elsewhere: --state, GHCM_STATE."
        raise GhcmError(f'no room for {name} on the disk of "{folder}"', code="GHCM-731", hint=hint)
    port = _bound(name, known.get("port", 0))
    password = known.get("password") or secrets.token_hex(16)
    with open(_log(folder, name), "ab", opener=private_opener) as file:
        data = folder.absolute() / name
        made = (data, port, password)
        command = _broker(*made, file.fileno(), told) if name == "kafka" else embedded_command(*made)
        told(name)
        files: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        files += [(os.POSIX_SPAWN_DUP2, file.fileno(), number) for number in (1, 2)]
        # Whatever this process has inherited, a lock maybe, is not to be held as long as the service runs.
        files += [(os.POSIX_SPAWN_CLOSE, int(each)) for each in os.listdir("/dev/fd") if int(each) > 2]
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=files, setsid=True)
    return {"port": port, "password": password, "pid": pid, "started": psutil.Process(pid).create_time()}


def _broker(folder: Path, port: int, password: str, log: int, told: Told) -> list[str]:
    """The command line of the broker, whose data and settings are made ready for it."""
    options = [*_JAVA, *os.environ.get(OPTIONS, "").split()]
    java = [_java(), *options, "-cp", f"{_fetched(told)}/*"]
    settings, data = folder / "server.properties", folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    said = {"port": port, "controller": _bound("kafka", 0, port), "user": USER, "password": password, "data": data}
    write_private(settings, _SETTINGS.read_text(encoding="utf-8").format(**said).encode())
    if not (data / "meta.properties").exists():  # the broker says in its log what is wrong where this fails
        words = ("kafka.tools.StorageTool", "format", "-t", "Z2hjbS1kZXZlbG9wbWVudA", "-c", str(settings))
        subprocess.run([*java, *words], stdout=log, stderr=log, check=False)
    return [*java, "kafka.Kafka", str(settings)]


def _fetched(told: Told) -> Path:
    """The folder of the jars, which are fetched unless they are there."""
    JARS.parent.mkdir(parents=True, exist_ok=True)
    if JARS.exists():
        return JARS
    spec, own = importlib.util.find_spec("pyspark"), Path.home() / ".ivy2" / "ivysettings.xml"
    ivy = Path(*(spec.submodule_search_locations or ())[:1] if spec is not None else (), "jars").glob("ivy-*.jar")
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=JARS.parent) as work:
        line = [
            _java(),
            *_NO_WAITING,
            "-jar",
            *map(str, ivy),
            *(("-settings", str(own)) if os.access(own, os.R_OK) else ()),
        ]
        line += ["-cache", f"{work}/ivy", "-ivy", str(_SETTINGS.with_suffix(".xml")), "-confs", "default"]
        line += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
        said: list[str] = []
        for _ in range(3):  # what has come once is not asked for again
            said.clear()
            with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
                for each in process.stdout or ():
                    said.append(each.strip())
                    if "[SUCCESSFUL ]" in each:
                        told(each.split("!")[-1].split("(")[0].strip())
            if process.returncode == 0 and any(Path(work, "jars").glob("kafka_*")):
                with suppress(OSError):  # another was faster
                    Path(work, "jars").rename(JARS)
                return JARS
        why = [each for each in said if re.search("error|problem|not found|no space", each, re.IGNORECASE)] or said
        hint = "see that the repository of packages is reached; a mirror is named in ~/.ivy2/ivysettings.xml."
        detail = "\n            ".join(why[:4])
        raise GhcmError("Kafka cannot be fetched", code="GHCM-758", detail=detail, hint=hint)


def _java() -> str:
    """The Java of JAVA_HOME, else the first on the path, as for Spark. GhcmError where it is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/java" if home else "java") or ""
    said = (
        subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr if found else "nothing"
    )
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None or int(version[1]) < 17:
        detail = f'Java of {home or "the path"}, "{found}", says: {said[:80].strip()}'
        hint = "install Java 17 or newer, or set JAVA_HOME to one."
        raise GhcmError("Kafka needs Java 17 or newer", code="GHCM-758", detail=detail, hint=hint)
    return found


def _await(folder: Path, name: str, record: Record) -> None:
    """Return when it answers."""
    end, address, log = time.monotonic() + _START_SECONDS, _address(name, record), _log(folder, name)
    while True:
        with suppress(redis.RedisError, GhcmError, OSError):
            socket.create_connection(("127.0.0.1", record["port"]), 1).close()
            if name == "kafka":
                with Brokers(_kafka(record), 0.5).admin():
                    return
            with open_client(str(address)) as client:
                commands(client).ping()
                return
        dead = _process(record) is None
        if dead or time.monotonic() > end:
            detail = "\n            ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
            what = "ended while it started" if dead else f"does not answer after {_START_SECONDS:.0f} seconds"
            hint = f"all of its log is {log}; without its data, {folder.absolute() / name}, it begins anew."
            raise GhcmError(f"{name} {what}", code="GHCM-758", detail=detail, hint=hint)
        time.sleep(0.05)  # a server that starts has no way to tell


def _bound(name: str, port: int, but: int = 0) -> int:
    """The port, or a free one for 0, which is not that other. GhcmError if it is taken and stays so: who was killed
    frees it within a second.
    """
    if port == 0:
        return next(free for free in random.sample(_PORTS, len(_PORTS)) if free != but and _taken(free) is None)
    end = time.monotonic() + _FREE_SECONDS
    while (error := _taken(port)) is not None:
        if time.monotonic() > end:
            hint = "end who has it, or take others: ghcm services up --other-ports."
            message = f"port {port}, which {name} had so far, is taken"
            raise GhcmError(message, code="GHCM-758", detail=f"{error.strerror}.", hint=hint)
        time.sleep(0.05)
    return port


def _taken(port: int) -> OSError | None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            return error
    return None


def _known(folder: Path) -> dict[str, Record]:
    with suppress(OSError, ValueError):
        return dict(json.loads((folder / "services.json").read_text(encoding="utf-8")))
    return {name: {} for name in ADDRESSES}


def _process(record: Record) -> psutil.Process | None:
    """The process that was started, if it runs: its number may be another's by now."""
    with suppress(psutil.Error, KeyError):
        process = psutil.Process(record["pid"])
        if process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - record["started"]) < 2:
            return process
    return None


def _address(name: str, record: Record) -> str | None:
    return ADDRESSES[name].format(**{"password": "", **record}) if record else None


def _log(folder: Path, name: str) -> Path:
    return folder.absolute() / f"{name}.log"


@contextmanager
def _locked(folder: Path) -> Generator[dict[str, Record]]:
    """What is known, alone in the folder, which is made: another that is at work is waited for."""
    make_private(folder)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield _known(folder)
