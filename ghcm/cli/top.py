"""`ghcm top`: how the units of all jobs get on, as long as somebody looks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json, State

if TYPE_CHECKING:
    from rich.table import Table

    from ghcm.runtime.daemon.protocol import Control

Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.2, help="How often to look.")]
Times = Annotated[int | None, typer.Option("--times", "-n", min=1, help="Look so often and end; else until Ctrl-C.")]

_COLUMNS = ("job", "unit", "task", "in/s", "out/s", "in", "out", "failed", "backlog", "behind")


def top(every: Every = 1.0, times: Times = None, state: State = None, json: Json = False) -> None:
    """Show how the tasks of all jobs get on, again and again.

    Records in and out, by the second and in all, those that failed, what waits, and how far event time is behind.
    """
    control = terminal.control(state)
    if json or not terminal.is_terminal():
        for rows in _looks(control, every, times):
            if json:
                terminal.json_line({"tasks": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
            else:
                terminal.table(_COLUMNS, rows, "no job runs")
        return
    from rich.live import Live

    with Live(console=terminal.console(), auto_refresh=False) as live:
        for rows in _looks(control, every, times):
            live.update(_table(rows), refresh=True)


def _table(rows: list[list[str]]) -> Table:
    from rich.table import Table

    grid = Table(*_COLUMNS, header_style="bold", box=None, pad_edge=False)
    for row in rows:
        grid.add_row(*row)
    return grid


def _looks(control: Control, every: float, times: int | None) -> Iterator[list[list[str]]]:
    """What is shown at each look: a row for each task. Rates are of the time since the one before."""
    before: dict[tuple[str, str, str], tuple[int, int]] = {}
    looked, count = time.monotonic(), 0
    while times is None or count < times:
        units = cast("Mapping[str, Mapping[str, Any]]", control.ask("status", units=True)["units"])
        now = time.monotonic()
        passed, looked, rows = now - looked, now, list[list[str]]()
        for job, unit, task, found in _tasks(units):
            taken, given = int(found["in"]), int(found["out"])
            old = before.get((job, unit, task))
            before[job, unit, task] = (taken, given)
            rates = ["-", "-"] if old is None else [_rate(taken - old[0], passed), _rate(given - old[1], passed)]
            totals = [f"{taken:,}", f"{given:,}", f"{int(found['dead']):,}", f"{int(found['backlog']):,}"]
            rows.append([job, unit, task, *rates, *totals, _behind(found["watermark"])])
        yield rows
        count += 1
        if count != times:
            time.sleep(every)


def _tasks(units: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for job, found in units.items():
        for unit, status in found.items():
            for task, counters in status.get("tasks", {}).items():
                yield job, unit, task, counters


def _rate(records: int, seconds: float) -> str:
    return f"{max(0, records) / max(seconds, 1e-9):,.0f}"


def _behind(watermark: int | None) -> str:
    """How far event time is behind the clock."""
    return "-" if watermark is None else f"{max(0.0, time.time() - watermark / 1e6):,.1f} s"
