"""An engine as a process of its own:

    python -m ghcm.runtime.slot.process --bundle FILE --job ID --state DIR [--base DIR] [--leases DIR]

GHCM_REDIS names its Redis by URL; without one there are no calls and no Redis sinks. Reports are JSON objects, one a
line, on standard output:

    {"event": "running"}                     all units have opened their sources and sinks
    {"event": "commit", "commits": n}        at most once per second
    {"event": "progress", "status": {...}}   about once per second while something changes: rates, backlogs,
                                             watermarks, dead letters
    {"event": "spark_wanted"}                once: a batch call was left to Spark
    {"event": "done"}                        all bounded inputs are read and committed, and their calls sent
    {"event": "failed", "error": {...}}      the job cannot go on
    {"event": "stopped", "saved": b}         it was asked to stop; whether all was answered and saved in time

Requests are JSON objects, one a line, on standard input:

    {"op": "beat"}                           answered at once by {"event": "beat", "trouble": "...", "serves": b},
                                             beside the loop: a process that takes long over one step lives
    {"op": "status"}                         answered by {"event": "status", "status": {...}}
    {"op": "savepoint"}                      answered by {"event": "savepoint", "done": b}
    {"op": "stop"}, {"op": "drain"}          answer the calls at hand, take a savepoint, end
    {"op": "tables", "tables": [["unit", "table"]], "folder": DIR}
                                             writes named tables as DIR/0.arrow and so on, answered by
                                             {"event": "tables", "folder": DIR, "as_of": [n]}, or with "error"
    {"op": "grow", "version": n, "bundle": FILE, "since": {...}}
                                             become another version of the program, answered by
                                             {"event": "grown", "version": n} or
                                             {"event": "not_grown", "version": n, "error": {...}}

From "grown" on the job store has that version, and a process that starts takes the version that the store has. SIGTERM
asks to stop as well. It exits with 0 when it was asked to stop or is done, with 1 when it failed. It ends with its
parent.
"""

import argparse
import json
import logging
import os
import signal
import stat
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, cast

from ghcm.collector import end_at_once
from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.data.columns import columns_of
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.logs import start_logging
from ghcm.runtime.parent_death import end_with_parent
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.settings import load_settings
from ghcm.runtime.slot.engine import Engine
from ghcm.runtime.slot.rest import Rest
from ghcm.runtime.upgrade import Since

_log = logging.getLogger(__name__)

_REPORT_S = 1.0
"""No wait is longer, even where nothing is to be reported: a signal that comes just before a wait does not end it."""
_SWITCH_S = 0.001
_LONG_STEP_S = 5.0


@dataclass(frozen=True, slots=True)
class _Upgrade:
    """The request to become another version of the program."""

    version: int
    bundle: Path
    since: Since


@dataclass(frozen=True, slots=True)
class _Look:
    """The request to write named tables, by unit and name, into a folder."""

    tables: Sequence[tuple[str, str]]
    folder: Path


class _Process:
    """The control of one engine from the main thread; `events` wakes it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.events: SimpleQueue[str | _Upgrade | _Look] = SimpleQueue()
        self._arguments = arguments
        self._commits = 0
        self._last: object = None
        self._said: set[str] = set()
        self._output = Lock()
        self._engine: Engine | None = None
        self._turn: tuple[int | None, float] = (None, 0.0)
        self._rest = Rest()

    def run(self) -> int:
        """Run the engine until it is done, failed or asked to stop; the exit code."""
        options = self._arguments
        settings = load_settings()
        store = open_store(options.state / "jobs.sqlite", settings.retry_of)
        job = store.jobs.get(options.job)
        bundle = Bundle.open(options.bundle if job is None else job.bundle)
        if bundle.edited:
            _log.warning("edited since the build: %s", ", ".join(bundle.edited))
        connections = Connections(options.base, settings.redis_url, settings.kafka, settings.patience, settings.sql)
        connections.kept_s = settings.keep.answers
        if options.leases:
            connections.fence = Fence(bundle.plan.name, options.leases)
        engine = Engine(
            bundle,
            connections=connections,
            state=options.state,
            snapshots=settings.snapshots_at(options.state),
            job=options.job,
            form=options.form,
            commit_s=settings.commit_interval,
            calls=store.calls,
            serve=True,
            tame_collector=True,
            changed=lambda: self.events.put("changed"),
            since=None if job is None else job.since,
            kept_snapshots=settings.keep.snapshots,
            waits=not options.no_wait,
            spark_wanted=lambda: self._say_once("spark_wanted"),
        )
        engine.start()
        self._engine = engine
        try:
            return self._control(engine, store)
        finally:
            engine.close()
            connections.close()
            store.close()

    def _control(self, engine: Engine, store: Store) -> int:
        next_report = time.monotonic()
        while True:
            changing = not engine.ended
            try:
                event = self.events.get(timeout=max(0.0, next_report - time.monotonic()) if changing else _REPORT_S)
            except Empty:
                event = "report"
            if time.monotonic() >= next_report:
                self._report(engine)
                next_report = time.monotonic() + _REPORT_S
            ended = engine.ended  # asked before the error, which is there whenever a failure has ended it
            if (error := engine.error) is not None:
                self.fail(error)
                return 1
            if not engine.starting:
                self._say_once("running")
            if ended:
                self._report(engine)
                self._say_once("done")
                if not (engine.serves or self._arguments.linger):
                    return 0
            match event:
                case "status":
                    self._say("status", status=engine.status())
                case "savepoint":
                    self._say("savepoint", done=engine.savepoint(timeout=60))
                case "stop" | "drain":
                    saved = engine.stop(timeout=20)
                    self._say("stopped", saved=saved)
                    return 0
                case _Upgrade():
                    self._upgrade(engine, store, event)
                case _Look():
                    self._look(engine, event)
                case "abandoned":
                    _log.warning("the parent has ended: ending too")
                    return 1
                case _:
                    pass

    def _upgrade(self, engine: Engine, store: Store, request: _Upgrade) -> None:
        """Become another version, or say why not."""

        def commit() -> None:
            store.jobs.upgrade(self._arguments.job, request.version, str(request.bundle), request.since)

        try:
            engine.upgrade(Bundle.open(request.bundle), request.since, commit)
        except GhcmError as error:
            _log.error("not version %d: %s", request.version, error)
            self._say("not_grown", version=request.version, error=error.document())
        else:
            _log.info("version %d from now on", request.version)
            self._say("grown", version=request.version)

    def _look(self, engine: Engine, request: _Look) -> None:
        """Write tables, or say why not."""
        folder = str(request.folder)
        try:
            found = engine.tables(request.tables)
            for at, table in enumerate(found):
                types = [(field.name, field.type) for field in table.columns.fields]
                columns_of(table.rows, types).write_ipc(request.folder / f"{at}.arrow")
        except Exception as error:  # whoever asked is told; the engine goes on
            refused = GhcmError("live tables cannot be written", code="GHCM-790", detail=f"{error}.")
            refused = error if isinstance(error, GhcmError) else refused
            self._say("tables", folder=folder, error=refused.document())
        else:
            self._say("tables", folder=folder, as_of=[table.as_of for table in found])

    def _report(self, engine: Engine) -> None:
        """Say what has changed since the last report."""
        if engine.commits != self._commits:
            self._commits = engine.commits
            self._say("commit", commits=self._commits)
        status = engine.status()
        moves = status["units"] != self._last
        self._rest.look(moves=moves)
        if moves:
            self._last = status["units"]
            self._say("progress", status=status)

    def fail(self, error: GhcmError) -> None:
        """Say that the job cannot go on, and why."""
        self._say("failed", error=error.document())

    def _say_once(self, event: str) -> None:
        if event not in self._said:
            self._said.add(event)
            self._say(event)

    def _say(self, event: str, **more: object) -> None:
        line = json.dumps({"event": event, **more}, ensure_ascii=False, separators=(",", ":"), default=str)
        with self._output:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def _beat(self) -> None:
        """Say that the process is there, whether its loop gets on, and whether calls come to it."""
        unheard = "" if self._engine is None else self._engine.unheard
        now, turn = time.monotonic(), None if self._engine is None else self._engine.turn
        if turn is None or turn != self._turn[0]:
            self._turn = (turn, now)
        held = now - self._turn[1]
        trouble = f"one step has taken {held:.0f} s so far" if held > _LONG_STEP_S else ""
        trouble = trouble or (unheard and f'calls of "{unheard}" do not come to it yet')
        self._say("beat", trouble=trouble, serves=not unheard)

    def asked_to_stop(self, _number: int, _frame: object) -> None:
        """The handler of SIGTERM and SIGINT."""
        self.events.put("stop")

    def listen(self) -> None:
        """Take requests from standard input, where it is a pipe or socket; its end means that the parent has ended."""
        mode = os.fstat(0).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return

        def read() -> None:
            for line in sys.stdin:
                request = _request(line)
                if request == "beat":
                    self._beat()
                elif request is not None:
                    self.events.put(request)
            self.events.put("abandoned")

        Thread(target=read, name="ghcm-control", daemon=True).start()


def _request(line: str) -> str | _Upgrade | _Look | None:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    request = cast("dict[str, Any]", found if isinstance(found, dict) else {})
    op = request.get("op")
    if op == "grow":
        return _Upgrade(int(request["version"]), Path(request["bundle"]), cast("Since", request["since"]))
    if op == "tables":
        return _Look([(str(unit), str(name)) for unit, name in request["tables"]], Path(request["folder"]))
    if op in ("beat", "status", "savepoint", "stop", "drain"):
        return str(op)
    _log.warning("a request that is not known: %s", line.strip()[:200])
    return None


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m ghcm.runtime.slot.process", description="Run the units of a bundle that the native engine can."
    )
    parser.add_argument("--bundle", type=Path, required=True, help="bundle file or directory")
    parser.add_argument("--job", required=True, help="name of the run across restarts")
    parser.add_argument("--state", type=Path, required=True, help="state directory")
    parser.add_argument(
        "--leases", type=Path, help="where the daemon notes its leases, without which nothing is written"
    )
    parser.add_argument("--base", type=Path, default=Path.cwd(), help="directory that relative paths start from")
    parser.add_argument("--form", choices=("auto", "rows", "columns"), default="auto", help="form of the operators")
    parser.add_argument("--linger", action="store_true", help="stay when all inputs are read")
    parser.add_argument(
        "--no-wait", action="store_true", help="let calls fail that find no room, or a Redis that refuses"
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run as a process; the exit code."""
    process = _Process(_arguments(words))
    end_with_parent()
    end_at_once()
    sys.setswitchinterval(_SWITCH_S)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, process.asked_to_stop)
    process.listen()
    try:
        start_logging(load_settings().log)
        return process.run()
    except GhcmError as error:
        process.fail(error)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
