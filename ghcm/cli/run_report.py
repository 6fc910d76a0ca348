"""How a run looks: the sinks as they fill, dead letters and calls; lines as results come, and a summary at the end."""

from __future__ import annotations

import json as json_text
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.pubsub.connections import Connections
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program, Sink
from ghcm.spg.ops import To
from ghcm.spg.sinks import SINKS
from ghcm.types import Struct
from ghcm.values import own_writer

if TYPE_CHECKING:
    from ghcm.runtime.sinks.backend import Commit, SinkView


_FAR_SECONDS = 1.0
"""How often to ask how far calls are."""


class Report:
    """Of one run. What was in the sinks before it is not shown."""

    def __init__(self, bundle: Path, state: StateDirectory, base: Path, sql: Mapping[str, str], *, json: bool) -> None:
        opened = Bundle.open(bundle)
        self.program = opened.program
        self._edited = opened.edited
        self._state = state
        self._base = base
        self._sql = sql
        self._json = json
        self._sinks: Sinks | None = None
        self._waiting: set[str] = set()
        self._url = ""
        self._begun = time.monotonic()
        self._shown = 0.0

    @property
    def endless(self) -> bool:
        """Whether the program never ends by itself: some input has no end, or it does nothing unless it is called."""
        active = [unit for unit in self.program.units if not unit.responsive]
        inputs = [task for unit in active for task in unit.tasks if not task.inputs]
        return not active or not all(task.collection.bounded for task in inputs)

    def begin(self, status: dict[str, Any], standing: str) -> None:
        """Say what runs where."""
        self._url = status["url"]
        redis = str(Control(self._state.control).ask("redis")["url"])
        self._sinks = Sinks(self.program, Connections(self._base, redis, patience=1.0, sql=self._sql))
        kept = self._sinks.skip_tables()
        if self._json:
            terminal.json_line({"event": "start", "program": self.program.name, **status})
            return
        if standing:
            terminal.note(standing)
        terminal.note(f"state:   {self._state.path}")
        terminal.note(f"http:    {self._url}/docs")
        for warning in status["warnings"]:
            terminal.note(f"warning: {warning}")
        for sink, rows in kept.items():
            terminal.note(f"note:    {sink} has {counted(rows, 'row')} of earlier runs; this one appends to it")
        for path in self._edited:
            terminal.note(f"warning: {path} was edited since the bundle was built; it is used as it is")

    def prepare(self) -> None:
        """Get ready for the first results while there are none."""
        assert self._sinks is not None
        self._sinks.prepare()

    def look(self) -> None:
        """Show what is new in the sinks."""
        assert self._sinks is not None
        for news in self._sinks.look():
            self._show(news)

    def heard(self, event: dict[str, Any]) -> None:
        """Show an event that people want to know of."""
        match event.get("event"):
            case "job.progress":
                for name, unit in event["status"]["units"].items():
                    if (unit.get("trouble") is not None) != (name in self._waiting):
                        self._waiting ^= {name}
                        terminal.note(f"{name} waits: {unit['trouble']}" if unit["trouble"] else f"{name} goes on")
            case "job" if self._json:
                terminal.json_line(event)
            case "job" if event["job"]["state"] == "starting" and event["job"]["restarts"]:
                terminal.note(f"restart {event['job']['restarts']} of {event['job']['id']}")
            case _:
                pass

    def far(self, control: Control) -> None:
        """Show how far batch units are, in a line that gives way to the next; where a person looks."""
        now = time.monotonic()
        if self._json or not terminal.shows_passing() or now - self._shown < _FAR_SECONDS:
            return
        self._shown = now
        running = [
            f"{call['unit']}: {call['feedback']['progress']:.0%} {call['feedback']['detail']}".rstrip()
            for call in cast("list[Any]", control.ask("calls", program=self.program.name, limit=20)["calls"])
            if call["feedback"]["state"] == "progress"
        ]
        if running:
            terminal.passing(f"{'; '.join(running)}, {now - self._begun:.0f} s")

    def complete(self) -> None:
        """Say that everything is read and the run only serves now."""
        if self._json:
            terminal.json_line({"event": "complete"})
        else:
            terminal.note(f"all inputs are read; serving at {self._url}/docs until Ctrl-C")

    @property
    def logs(self) -> Path:
        """Where the logs of the run are."""
        return self._state.logs

    def so_far(self) -> None:
        """What there is of a run that does not come to its end, if there is anything."""
        dead = dead_letters(self._state.dead)
        totals = self._totals()
        if self._json:
            terminal.json_line({"event": "end", "complete": False, "sinks": totals, "dead_letters": dead})
        elif totals or dead:
            self._sums(dead)

    def end(self, control: Control, *, strict: bool) -> None:
        """The summary. Ends with 1 if a call has failed; if it is `strict`, also if a record has."""
        calls = cast("list[dict[str, Any]]", control.ask("calls", program=self.program.name, limit=10_000)["calls"])
        failed = [call for call in calls if call["state"] in ("failed", "expired") and not _stopped(call)]
        counted = Counter(str(call["state"]) for call in calls)
        engines = _engines(calls)
        dead = dead_letters(self._state.dead)
        if self._json:
            summary = {"sinks": self._totals(), "dead_letters": dead, "calls": counted, "engines": engines}
            terminal.json_line({"event": "end", **summary})
        else:
            self._sums(dead)
            if calls:
                terminal.note(f"calls:   {', '.join(f'{n} {state}' for state, n in counted.items())}")
            for unit, names in engines.items():
                terminal.note(f"engine:  {unit}: {', '.join(names)}")
            for call in failed[:10]:
                terminal.note(f"call {call['id']} of {call['unit']} {call['state']}:")
                terminal.error(GhcmError.of(call["feedback"]["error"] or {"message": call["state"]}))
        if failed or (strict and dead):
            raise typer.Exit(FAILED)

    def _sums(self, dead: dict[str, int]) -> None:
        """The rows of each sink, and what has failed."""
        totals = self._totals()
        rows = [(sink.name, where(sink), _shown(sink, totals.get(sink.name))) for sink in self.program.sinks]
        terminal.table(("sink", "where", "rows"), rows, "no sinks")
        if dead and self.program.sinks and self._sinks is not None and self._sinks.untouched():
            terminal.warn("warning: records have failed, and nothing was written to any sink (--strict: end with 1)")
        for unit, count in dead.items():
            folder = self._state.dead / self.program.name / unit
            terminal.warn(f"{counted(count, 'record')} of {unit} failed: see {folder}")
            if reason := first_reason(folder):
                terminal.note(f"    the first: {reason}")

    def _totals(self) -> dict[str, int]:
        return {} if self._sinks is None else self._sinks.totals()

    def _show(self, news: News) -> None:
        if self._json:
            terminal.json_line({"event": "commit", **asdict(news)})
            return
        count = f"+{news.rows} rows" if news.rows is not None else "changed"
        terminal.say(f"{news.sink}: {count}")
        for row in news.sample:
            terminal.say(f"    {json_text.dumps(row, ensure_ascii=False)}")


def _shown(sink: Sink, rows: int | None) -> str:
    """How many rows a sink got; empty where that is not known."""
    return str(rows or 0) if sink.connector.address[0] == "files" else "" if rows is None else str(rows)


def _engines(calls: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The engines that have answered calls, by unit."""
    found: dict[str, set[str]] = {}
    for call in calls:
        if engine := call["feedback"]["engine"]:
            found.setdefault(str(call["unit"]), set()).add(engine)
    return {unit: sorted(names) for unit, names in sorted(found.items())}


def _stopped(call: dict[str, Any]) -> bool:
    """Whether it has failed because whoever ran the program has stopped it."""
    error = call["feedback"]["error"]
    return bool(error and error["code"] == "GHCM-748")


def counted(number: int, what: str) -> str:
    """So many of what is named by one of them.

    >>> counted(1, "row"), counted(1000, "row")
    ('1 row', '1,000 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class News:
    """A new version of a sink: some of its rows as JSON, and how many it has, where that is known."""

    sink: str
    version: str
    rows: int | None
    sample: Sequence[object]


@dataclass(slots=True)
class Sinks:
    """The sinks that a program writes, looked at from outside."""

    program: Program
    connections: Connections
    _earlier: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _rows: dict[str, dict[str, int | None]] = field(default_factory=dict[str, "dict[str, int | None]"])
    _views: dict[str, SinkView] = field(default_factory=dict[str, "SinkView"])

    def look(self) -> Iterator[News]:
        """The versions of sinks that came since the last look; of a keyed sink only the latest."""
        written = self._written()
        for sink in self.program.sinks:
            if sink.name in written:
                with suppress(GhcmError, OSError):  # it is away for a moment; the next look tells more
                    yield from self._look(sink)

    def totals(self) -> dict[str, int]:
        """The rows of each sink, where they are known: all that were appended, those of the newest version, or those
        that a table keeps by key.
        """
        from ghcm.runtime.sinks.sink import count

        totals: dict[str, int] = {}
        for name, versions in self._rows.items():
            sink = self.program.sink(name)
            if known := [rows for rows in versions.values() if rows is not None]:
                totals[name] = sum(known) if sink.mode is Mode.APPEND else known[-1]
            elif versions and sink.connector.address[0] == "files":
                with suppress(GhcmError, OSError):
                    totals[name] = count(sink, self.connections)
        return totals

    def untouched(self) -> bool:
        """Whether no sink has got a row; what a topic has got is not known."""
        from ghcm.runtime.sinks.sink import is_kept

        versions = [rows for each in self._rows.values() for rows in each.values()]
        return all(map(is_kept, self.program.sinks)) and all(rows == 0 for rows in versions)

    def prepare(self) -> None:
        """Load what reading rows takes, while there are none to be read."""
        import_module("ghcm.runtime.sinks.sink")

    def skip_tables(self) -> dict[str, int]:
        """Take as seen what earlier runs have left in tables; the rows in those that the program appends to."""
        kept: dict[str, int] = {}
        for sink in self.program.sinks:
            kind, path = sink.connector.address
            with suppress(GhcmError, OSError):  # the unit that writes there says more
                if kind == "sql" or (kind == "files" and self.connections.path(path).is_dir()):
                    from ghcm.runtime.sinks.sink import view

                    found = view(sink, self.connections)
                    self._earlier[sink.name] = {each.version for each in found.commits()}
                    latest = found.latest() if kind == "files" else None  # which alone counts all
                    if latest and latest.rows and sink.mode is Mode.APPEND and sink.name in self._written():
                        kept[sink.name] = latest.rows
        return kept

    def _written(self) -> set[str]:
        return {task.op.sink for unit in self.program.units for task in unit.tasks if isinstance(task.op, To)}

    def _look(self, sink: Sink) -> Iterator[News]:
        from ghcm.runtime.sinks.sink import is_kept, view

        if not is_kept(sink):
            return
        if sink.name not in self._views:
            self._views[sink.name] = view(sink, self.connections)
        earlier, rows = self._earlier.get(sink.name, set()), self._rows.setdefault(sink.name, {})
        for commit in self._views[sink.name].commits():
            if commit.version in earlier or commit.version in rows:
                continue
            with suppress(GhcmError, OSError):
                news = self._news(sink, commit)
                rows[commit.version] = news.rows  # only now: a reading that Ctrl-C or a fault cuts off is done again
                yield news

    def _news(self, sink: Sink, commit: Commit) -> News:
        from ghcm.runtime.sinks.sink import is_readable, read, rows_of_call

        version = commit.version
        if not is_readable(sink):
            return News(sink.name, version, None, ())
        if sink.mode in SINKS[sink.connector.word].keyed:
            return News(sink.name, version, None, _json(islice(read(sink, self.connections), _SAMPLE), sink.columns))
        if not commit.kept:  # the next one came too fast: how many rows it has is known
            return News(sink.name, version, commit.rows, ())
        page = rows_of_call(sink, self.connections, call=version, version=version, limit=_SAMPLE)
        return News(sink.name, version, page.total, _json(page.rows, sink.columns))


def _json(rows: Iterable[tuple[object, ...]], columns: Struct) -> list[object]:
    write = own_writer(columns)  # as sinks of JSON have them: of a union the fields of the record that it is
    return [write(tuple(row)) for row in rows]


def where(sink: Sink) -> str:
    """Where the rows of a sink are, for people."""
    kind, name = sink.connector.address
    versions = ":<version>" if kind == "redis" and sink.mode is Mode.REPLACE else ""
    return name if kind == "files" else f"{kind} {name}{versions}"


def first_reason(folder: Path) -> str:
    """Why the first dead letter of this table failed; empty where that cannot be read."""
    from ghcm.runtime.sinks.kept_letters import letters

    try:
        return next((str(letter["detail"]) for letter in letters(folder)), "")
    except GhcmError:
        return ""


def dead_letters(folder: Path) -> dict[str, int]:
    """Dead letters by unit."""
    from ghcm.runtime.sinks.kept_letters import counts, tables

    return counts(tables([folder]))
