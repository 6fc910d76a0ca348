"""The Spark driver as a process: `python -m ghcm.runtime.spark --state DIR [--no-wait]`.

Serves the batch units of all jobs in the store of the state directory. Requests are JSON objects, one a line, on
standard input: {"op": "refresh"} (jobs have come or gone), {"op": "status"}, {"op": "cancel", "id": call}, {"op":
"release", "job": id} (it is over: break off its calls), {"op": "stop"}, {"op": "beat"} (answered by {"event": "beat"}
once Java has answered, if it runs); its end means that the parent has ended. Events
are JSON objects, one a line, on standard output: {"event": "ready" | "call" | "status" | "released" | "trouble" |
"stopped", ...}; "released" says whether all calls of the job are "done". SIGTERM asks to stop: what runs is given a few
seconds. It exits with 1 when Spark ended by itself. Java ends with this process: it waits for the end of its input.
"""

import argparse
import json
import logging
import os
import signal
import stat
import sys
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from types import FrameType
from typing import cast

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.logs import start_logging
from ghcm.runtime.parent_death import end_with_parent
from ghcm.runtime.settings import load_settings
from ghcm.runtime.spark.driver import Driver

log = logging.getLogger("ghcm.spark")

_PATIENCE_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 1.0
"""A signal that comes just before a wait does not end it."""
_output = Lock()


def main(words: list[str]) -> int:
    """Run as a process; the exit code."""
    logging.getLogger("py4j").setLevel(logging.ERROR)
    options = _arguments(words)
    requests: SimpleQueue[dict[str, object]] = SimpleQueue()
    end_with_parent()

    def stop(_number: int, _frame: FrameType | None) -> None:
        requests.put({"op": "stop"})

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    beats: SimpleQueue[None] = SimpleQueue()
    _listen(requests, beats)
    try:
        return _serve(options, requests, beats)
    except GhcmError as error:
        log.error("%s", error)
        return 1


def _serve(options: argparse.Namespace, requests: SimpleQueue[dict[str, object]], beats: SimpleQueue[None]) -> int:
    settings = load_settings()
    start_logging(settings.log)
    store = open_store(options.state / "jobs.sqlite", settings.retry_of)
    driver = Driver(
        options.state, settings.redis_url, store, settings, _tell, leases=options.leases, waits=not options.no_wait
    )
    driver.on_gone = lambda: requests.put({"op": "gone"})
    driver.start()
    Thread(target=_beat, args=(beats, driver), name="ghcm-beat", daemon=True).start()
    while True:
        try:
            request = requests.get(timeout=_LONGEST_WAIT_SECONDS)
        except Empty:
            continue
        match request.get("op"):
            case "refresh":
                driver.refresh()
            case "status":
                _tell("status", driver.status())
            case "release":
                Thread(
                    target=_release, args=(driver, str(request.get("job"))), name="ghcm-release", daemon=True
                ).start()
            case "cancel":
                store.calls.cancel(str(request.get("id")))
            case "stop" | "abandoned":
                driver.stop(_PATIENCE_SECONDS if request["op"] == "stop" else 0.0)
                _tell("stopped", {})
                return 0
            case "gone":
                return 1
            case other:
                log.warning("a request that is not known: %s", other)


def _beat(beats: SimpleQueue[None], driver: Driver) -> None:
    """Say that the process is there, as often as it is asked; beside the requests, which may wait for the store."""
    while True:
        beats.get()
        driver.session.ask_java()
        _tell("beat", {"trouble": driver.trouble})


def _release(driver: Driver, job: str) -> None:
    _tell("released", {"job": job, "done": driver.release(job, _PATIENCE_SECONDS)})


def _tell(event: str, more: dict[str, object]) -> None:
    line = json.dumps({"event": event, **more}, ensure_ascii=False, separators=(",", ":"))
    with _output:
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # the parent has ended; standard input says so too
            log.debug("nobody hears: %s", line)


def _listen(requests: SimpleQueue[dict[str, object]], beats: SimpleQueue[None]) -> None:
    """Take requests from standard input, where it is a pipe or socket; `beats` is told each question whether the
    process is there.
    """
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def read() -> None:
        for line in sys.stdin:
            try:
                found = json.loads(line)
            except ValueError:
                found = None
            request: dict[str, object] = {"op": line.strip()[:200]}
            if isinstance(found, dict):
                request = cast("dict[str, object]", found)
            if request.get("op") == "beat":
                beats.put(None)
            else:
                requests.put(request)
        requests.put({"op": "abandoned"})

    Thread(target=read, name="ghcm-control", daemon=True).start()


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m ghcm.runtime.spark", description="Run the batch units of all jobs.")
    parser.add_argument("--state", type=Path, required=True, help="state directory")
    parser.add_argument(
        "--leases", type=Path, help="where the daemon notes its leases, without which nothing is written"
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="let calls fail that find no room, or a Redis that refuses"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # threads that wait for Spark or Redis are not to hold up the end
