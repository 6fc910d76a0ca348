"""Commands on what a program has written: `ghcm sinks`, `read` and `sql` on its sinks, `dead` on what it refused.

Sinks are asked what every kind of them answers; which kind one is makes no difference here.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Csv, Json, Profile, State
from ghcm.errors import GhcmError, listed, suggest

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection

    from ghcm.cli.known import LastRun
    from ghcm.runtime.data.columns import Row
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.sinks.backend import Commit
    from ghcm.spg.graph import Program, Sink

KNOWN = "A program that has run here, or its file or bundle."
Named = Annotated[str, typer.Argument(metavar="PROGRAM", help=KNOWN)]
MaybeNamed = Annotated[str | None, typer.Argument(metavar="PROGRAM", help=f"{KNOWN} By default the only one.")]
SinkName = Annotated[str, typer.Argument(metavar="SINK", help="One of its sinks.")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="CONDITION", help='On its columns, as in "bytes > 100 and dst != src".')
]
At = Annotated[str | None, typer.Option("--at", metavar="VERSION", help="The rows as of that version, or time.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="So many rows; a table has 1000 by default.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is committed, until Ctrl-C.")]

Query = Annotated[str, typer.Argument(metavar="QUERY", help='As in "select dst, sum(bytes) from flows group by 1".')]
OfUnit = Annotated[str | None, typer.Option("--unit", metavar="UNIT", help="Of this unit only.")]
OfReason = Annotated[str | None, typer.Option("--reason", metavar="REASON", help="Of this reason only.")]
Each = Annotated[bool, typer.Option("--all", "-a", help="Each record by itself, the latest first.")]
Replay = Annotated[bool, typer.Option("--replay", help="Have them run through the program as it is now.")]
Clear = Annotated[bool, typer.Option("--clear", help="Show no more those that are there now.")]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 1000
_WIDEST = 80
"""Rows of a table, and characters of a cell with a record in it, where nothing else is said."""


def sinks(program: Named, profile: Profile = None, state: State = None, json: Json = False) -> None:
    """List the sinks of a program: where they are, their rows and their latest commit.

    Ends with 1 if one could not be looked at.
    """
    from ghcm.cli.failure import FAILED
    from ghcm.cli.known import dead_letters, known
    from ghcm.runtime.sinks.kept_letters import counts

    found, connections, _ = known(program, state, profile)
    described = [_described(sink, connections) for sink in found.sinks]
    unseen = [(each["sink"], GhcmError.of(each["error"])) for each in described if "error" in each]
    dead, names = counts(dead_letters(found, state)), ("sink", "where", "mode", "rows", "version", "committed")
    if json:
        terminal.json_line({"program": found.name, "sinks": described, "dead_letters": dead})
    else:
        terminal.rows(names, described, "no sinks", json=False, csv=False)
        for sink, error in unseen:
            terminal.note(f"{sink}: {error.message}" + (f": {error.hint}" if error.hint else ""))
        for unit, count in dead.items():
            terminal.note(f"{unit}: {count:,} dead letters (ghcm dead {program})")
    if unseen:
        raise typer.Exit(FAILED)


def _described(sink: Sink, connections: Connections) -> dict[str, Any]:
    """What is said of a sink; of one whose store does not answer the error, beside what the program says."""
    from ghcm.cli.run_report import where
    from ghcm.runtime.sinks.sink import count, is_kept, is_readable, view
    from ghcm.values.timestamps import timestamp_text

    said: dict[str, Any] = {"sink": sink.name, "where": where(sink), "mode": sink.mode.value}
    if is_kept(sink):
        try:
            latest = view(sink, connections).latest()
            if is_readable(sink):
                said["rows"] = count(sink, connections)
        except GhcmError as problem:
            return said | {"error": problem.document()}
        said |= {"version": latest and latest.version, "committed": latest and timestamp_text(latest.time)}
    return said


def read(  # noqa: PLR0913, PLR0917 - the options of a look, by name
    program: Named,
    sink: SinkName,
    where: Where = None,
    at: At = None,
    limit: Limit = None,
    follow: Follow = False,
    csv: Csv = False,
    profile: Profile = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Print the rows of a sink.

    With --follow also those that come, as lines: of what is appended the new ones, else those that have changed.
    """
    from ghcm.cli.known import known
    from ghcm.runtime.sinks.sink import latest_version

    terminal.one_form(json=json, csv=csv)
    if follow and at is not None:
        raise GhcmError("a version that is there does not change", code="GHCM-605", hint="say --follow or --at.")
    looked_at, connections, run = known(program, state, profile)
    found, json = _sink_of(looked_at, sink), json or (follow and not csv)
    rows = _rows(found, connections, where, None if at is None else _version_at(found, connections, at), follow=follow)
    most = limit or (sys.maxsize if json or csv else _SHOWN)
    with _until_over(sink, run) if follow else nullcontext():
        terminal.rows(found.columns.names, islice(rows, most), "no rows", json=json, csv=csv)
        if most == _SHOWN and limit is None and next(rows, None):
            terminal.note(f"these are the first {_SHOWN}: --limit, --where, --json and --csv give others")
        if latest_version(found, connections) is None:
            terminal.note(f'no unit has committed to "{sink}" yet')


def _sink_of(program: Program, name: str) -> Sink:
    there = {each.name: each for each in program.sinks}
    if name not in there:
        message = f'program "{program.name}" has no sink "{name}"'
        raise GhcmError(message, code="GHCM-341", detail=f"It has {listed(there)}.", hint=suggest(name, there))
    return there[name]


def _rows(
    sink: Sink, connections: Connections, where: str | None, version: str | None, *, follow: bool
) -> Iterator[Mapping[str, object]]:
    """Those that are asked for, as they are written."""
    from ghcm.runtime.sinks.sink import read
    from ghcm.values import own_writer

    holds = _condition(where, sink)
    write = cast("Callable[[Row], Mapping[str, object]]", own_writer(sink.columns))
    portions = _followed(sink, connections) if follow else [read(sink, connections, version=version)]
    return (write(row) for portion in portions for row in portion if holds(row))


@contextmanager
def _until_over(sink: str, run: LastRun) -> Generator[None]:
    """Ends what follows rows in the private Redis of a daemon, where that is away since the daemon has ended."""
    try:
        yield
    except GhcmError as error:
        if error.code != "GHCM-720" or not run.private or run.control.listening():
            raise
        terminal.note(f'the run is over, and with it the private Redis that "{sink}" was in')


def _version_at(sink: Sink, connections: Connections, at: str) -> str:
    """The version of that name, or the newest of that time, which is in UTC where it says no zone."""
    from ghcm.runtime.sinks.sink import view

    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        return at
    micros = ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)
    commits = view(sink, connections).commits()
    found = [each.version for each in commits if each.time <= micros or each.version == at]
    if not found:
        hint = "a version of that time was never committed, or is no longer told apart; ghcm sinks shows the latest."
        raise GhcmError(f'sink "{sink.name}" has no version of {at}', code="GHCM-732", hint=hint)
    return at if at in found else found[-1]


def _condition(written: str | None, sink: Sink) -> Callable[[Row], bool]:
    """Whether a row is asked for."""
    if written is None:
        return lambda _: True
    from ghcm.lowering import lower_condition
    from ghcm.source import Source
    from ghcm.spg.reference.expressions import evaluate
    from ghcm.spg.reference.functions import Failed

    body, names = lower_condition(Source("--where", written), sink.columns), sink.columns.names

    def holds(row: Row) -> bool:
        try:
            return evaluate(body, dict(zip(names, row, strict=True)), {}) is True
        except Failed as failed:
            hint = 'the condition may say "try(...)" for what fails.'
            raise GhcmError("the condition fails for a row", code="GHCM-340", detail=failed.detail, hint=hint) from None

    return holds


_LOOK_SECONDS = 0.25


def _followed(sink: Sink, connections: Connections) -> Iterator[Iterable[Row]]:
    """What is there, and then what each commit adds or changes, without end."""
    from ghcm.runtime.sinks.sink import read, view
    from ghcm.spg.connectors import Mode
    from ghcm.values import compact, own_writer

    watched, write = view(sink, connections), own_writer(sink.columns)
    seen, before = set[str](), set[str]()
    while True:
        new = [each for each in watched.commits() if each.version not in seen]
        if new and sink.mode is not Mode.APPEND:
            rows = [(compact(write(row)), row) for row in read(sink, connections)]
            yield [row for text, row in rows if text not in before]
            before = {text for text, _ in rows}
        elif new and not seen:
            yield read(sink, connections, version=new[-1].version)
        else:
            for each in new:
                yield _added(sink, connections, each)
        seen.update(each.version for each in new)
        time.sleep(_LOOK_SECONDS)


def _added(sink: Sink, connections: Connections, commit: Commit) -> Iterable[Row]:
    """The rows that a commit added; where they can no longer be told from others none, and a note that says so."""
    from ghcm.cli.run_report import counted
    from ghcm.runtime.sinks.sink import rows_of_call

    version = commit.version
    try:
        return rows_of_call(sink, connections, call=version, version=version, limit=sys.maxsize).rows
    except GhcmError as error:
        if error.code != "GHCM-732":
            raise
        lacking = counted(commit.rows, "row")
        terminal.note(f"{lacking} came too fast to be told from others; without --follow all are read")
        return ()


def sql(
    query: Query,
    program: MaybeNamed = None,
    csv: Csv = False,
    profile: Profile = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Ask the sinks of a program in SQL, each a table of its name; and while it runs its live tables, as unit.name.

    DuckDB answers, in memory. It is not installed by default: pip install "ghcm[sql]".
    """
    terminal.one_form(json=json, csv=csv)
    try:
        import duckdb
    except ImportError:
        hint = 'pip install "ghcm[sql]" installs it.'
        raise GhcmError("ghcm sql needs DuckDB, which is not installed", code="GHCM-613", hint=hint) from None
    from ghcm.cli.known import known
    from ghcm.cli.live_tables import copies, tables_of
    from ghcm.runtime.sinks.sink import is_readable

    found, connections, run = known(program, state, profile)
    there, live = {sink.name.lower(): sink for sink in found.sinks if is_readable(sink)}, tables_of(found)
    try:
        with duckdb.connect(":memory:") as database:
            database.execute("SET TimeZone = 'UTC'")
            for name in there.keys() & set(re.findall(r"\w+", query.lower())):
                database.register(name, _frame(there[name], connections).to_arrow())
            asked = set(re.findall(r"\w+\.\w+", query.lower().replace('"', "")))
            _register(database, copies({name: live[name] for name in live if name in asked}, run))
            database.execute(query)
            names = [str(each[0]) for each in database.description or ()]
            columns = [f"{name}_{at + 1}" if name in names[:at] else name for at, name in enumerate(names)]
            answers = (dict(zip(columns, row, strict=True)) for row in iter(database.fetchone, None))
            terminal.rows(columns, answers, "no rows", json=json, csv=csv)
    except duckdb.Error as error:
        said = " ".join(str(error).split("\n\n")[0].split()).rstrip(".")
        tables = f" The live tables are {listed(live)}." if live else ""
        detail = f"DuckDB says: {said}. The sinks are {listed(there)}.{tables}"
        raise GhcmError("DuckDB cannot answer this question", code="GHCM-624", detail=detail) from None


def _register(database: DuckDBPyConnection, tables: Iterable[tuple[str, pl.DataFrame, int]]) -> None:
    """Give live tables the names that the query has for them, and say what they are as of."""
    from ghcm.values.timestamps import timestamp_text

    for name, rows, as_of in tables:
        unit, table = name.split(".")
        database.register(f"@{name}", rows.to_arrow())
        database.execute(f'create schema if not exists "{unit}"')
        database.execute(f'create view "{unit}"."{table}" as from "@{name}"')
        terminal.note(f"{name} is as of {timestamp_text(as_of)}")


def _frame(sink: Sink, connections: Connections) -> pl.DataFrame:
    """All rows; a view gives those of so many files at most."""
    from ghcm.runtime.data.columns import columns_of
    from ghcm.runtime.sinks.sink import read, view

    found = view(sink, connections).snapshot(sys.maxsize - 1)
    schema = [(field.name, field.type) for field in sink.columns.fields]
    return found.frame if found.whole else columns_of([*read(sink, connections)], schema)


def dead(  # noqa: PLR0913, PLR0917 - the options of a look, by name
    program: Named,
    unit: OfUnit = None,
    reason: OfReason = None,
    all: Each = False,
    limit: Limit = None,
    clear: Clear = False,
    replay: Replay = False,
    csv: Csv = False,
    profile: Profile = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Show the records of a program that failed, by reason and place, with the first of them.

    They stay until --clear, or --replay after a fix; those of ghcm run for a hundred runs that had any.
    """
    terminal.one_form(json=json, csv=csv)
    from ghcm.cli.known import dead_letters, known
    from ghcm.functions import Failure
    from ghcm.runtime.sinks import kept_letters

    found, connections, run = known(program, state, profile)
    _check("unit", unit, [each.name for each in found.units])
    _check("reason", reason, [each.value for each in Failure])
    if (clear or replay) and (reason is not None or (clear and replay)):
        what = "either cleared or replayed" if clear and replay else "cleared and replayed by unit"
        raise GhcmError(f"dead letters are {what}", code="GHCM-605", hint="leave one of the options out.")
    tables = dead_letters(found, state, unit)
    if clear:
        count = kept_letters.clear(tables)
        terminal.answer({"cleared": count}, f"cleared: {count:,}", json=json)
    elif replay:
        done, names = _replay(program, tables, connections, run, state), ("unit", "task", "replayed", "failed", "why")
        terminal.rows(names, done, "no records have failed", json=json, csv=csv)
    else:
        most = limit or (sys.maxsize if json or csv else _SHOWN)
        _show_letters(kept_letters.shown(tables, reason, each=all), most, json=json, csv=csv)


def _show_letters(rows: list[dict[str, object]], most: int, *, json: bool, csv: bool) -> None:
    """So many of them, cut to what a person reads where it is one."""
    shown = rows[:most]
    if not json and not csv:
        shown = [{name: str(value)[:_WIDEST] for name, value in row.items()} for row in shown]
    terminal.rows(list(rows[0]) if rows else (), shown, "no records have failed", json=json, csv=csv)
    if len(shown) < len(rows):
        terminal.note(f"there are {len(rows):,}: --limit shows more")


def _replay(
    program: str, tables: list[Path], connections: Connections, run: LastRun, state: Path | None
) -> list[dict[str, object]]:
    """Replay dead letters: what came of them, by unit and task."""
    from ghcm import driver
    from ghcm.cli.programs import is_bundle
    from ghcm.cli.replay import replay
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.settings import load_settings

    path = Path(program)
    with TemporaryDirectory(prefix="ghcm-") as folder:
        if path.suffix in (".istream", ".py"):
            path = driver.build(path, Path(folder, "fixed.ghcm"))
        elif not is_bundle(path) and run.bundle is not None:
            path = run.bundle
        root = load_settings({"state": state}).state
        return [asdict(each) for each in replay(Bundle.open(path), tables, connections, root)]


def _check(what: str, given: str | None, there: list[str]) -> None:
    if given is not None and given not in there:
        detail, hint = f"There are {listed(there)}.", suggest(given, there)
        raise GhcmError(f'there is no {what} "{given}"', code="GHCM-605", detail=detail, hint=hint)
