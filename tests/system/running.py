"""A daemon with all its processes for tests: started in a folder, called over HTTP, ended without a trace."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from ghcm.places import make_private, private_opener
from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory

PATIENCE = 120.0


def ghcm(
    *words: str | Path, cwd: Path, python: str = sys.executable, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command line, to its end."""
    return subprocess.run(
        [python, "-m", "ghcm.cli", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE * 2,
        env=clean_environment(**environment),
    )


def clean_environment(**more: str) -> dict[str, str]:
    """Our environment without settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GHCM_")}
    return {**kept, "COLUMNS": "120", **more}


@dataclass(frozen=True, slots=True)
class Answer:
    """What HTTP answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def request(
    method: str, url: str, body: object = None, *, timeout: float = PATIENCE, headers: Mapping[str, str] | None = None
) -> Answer:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as found:
            return Answer(found.status, dict(found.headers), found.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers), error.read().decode())


@dataclass
class Running:
    """A daemon that runs in `folder`, with its state beside the programs."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    process: subprocess.Popen[bytes] | None = None
    url: str = ""
    python: str = sys.executable
    home: Path | None = None

    @property
    def state(self) -> StateDirectory:
        return StateDirectory(self.home or self.folder / ".ghcm")

    def seen_from(self, folder: Path) -> "Running":
        """The same daemon for programs of another folder."""
        state = self.state.path
        return replace(self, folder=folder, home=state, environment={**self.environment, "GHCM_STATE": str(state)})

    @property
    def control(self) -> Control:
        return Control(self.state.control)

    def start(self) -> None:
        """Start the daemon and wait until HTTP answers."""
        make_private(self.state.path)
        self.state.logs.mkdir(exist_ok=True)
        line = [self.python, "-m", "ghcm.runtime.daemon", "--state", str(self.state.path)]
        port = self.url.rpartition(":")[2] or "0"
        with open(self.state.logs / "daemon.log", "ab", opener=private_opener) as log:
            self.process = subprocess.Popen(
                [*line, "--port", port],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=log,
                env=clean_environment(**self.environment),
            )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, self.log("daemon")
        self.process.stdout.close()
        self.url = json.loads(said)["url"]
        until(lambda: "redis" not in self.get("/ready").json.get("message", ""), "Redis to answer")

    def stop(self) -> None:
        """End the daemon as a user would, and see that nothing of it is left."""
        assert self.process is not None
        left = self.processes()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.log("daemon")
        assert gone(left), left

    def kill(self) -> None:
        """End the daemon by force, and see that nothing of it is left."""
        assert self.process is not None
        left = self.processes()
        self.process.kill()
        self.process.wait(PATIENCE)
        assert gone(left), left

    def runs(self) -> bool:
        """Whether the daemon itself is there."""
        return self.process is not None and self.process.poll() is None

    def processes(self) -> list[psutil.Process]:
        """All processes below the daemon."""
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def pid(self, name: str) -> int | None:
        """The process of that name (http, redis, spark, a job), if it runs."""
        listed: Any = self.control.ask("status")["processes"]
        return next((each["pid"] for each in listed if each["name"] == name), None)

    def cli(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return ghcm(*words, cwd=self.folder, python=self.python, **self.environment)

    def submit(self, program: str | Path) -> str:
        """Submit a program and wait until it runs; the job's id."""
        done = self.cli("submit", program, "--wait", "--json")
        assert done.returncode == 0, done.stdout + done.stderr + self.log("daemon")
        return str(json.loads(done.stdout)["id"])

    def job(self, id: str) -> Any:
        listed: Any = self.control.ask("list")["jobs"]
        return next(job for job in listed if job["id"] == id)

    def get(self, path: str, **headers: str) -> Answer:
        return request("GET", self.url + path, headers=headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return request("POST", self.url + path, {} if body is None else body, headers=named)

    def log(self, name: str) -> str:
        path = self.state.logs / f"{name}.log"
        return f"\n--- {path}\n{path.read_text(errors='replace')[-4000:]}" if path.exists() else f"no {path}"


@contextmanager
def running(folder: Path, python: str = sys.executable, **environment: str) -> Generator[Running]:
    """A daemon for the time of the block."""
    daemon = Running(folder, environment, python=python)
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.runs():
            daemon.stop()


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of these end within the patience."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return not [each for each in alive if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def until(holds: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait for something that nobody tells."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, f"waited {patience:.0f} s for {what}"
        time.sleep(0.05)
