"""`ghcm top`: how the units of all jobs get on, as long as somebody looks.

Rates, shares and percentiles are of the time since the look before; at the first, since the engine was started.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json, State

if TYPE_CHECKING:
    from rich.console import Group

    from ghcm.runtime.daemon.protocol import Control
    from ghcm.runtime.histogram import Histogram

Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.2, help="How often to look.")]
Times = Annotated[int | None, typer.Option("--times", "-n", min=1, help="Look so often and end; else until Ctrl-C.")]

_TASKS = (
    *("job", "unit", "task", "in/s", "out/s", "in MB/s", "out MB/s", "in", "out", "failed", "backlog", "behind"),
    *("busy", "batch", "p50", "p99"),
)
_UNITS = ("job", "unit", "state", "snapshots", "p50", "p99", "size", "written", "failed")

_Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """What is shown at a look: a row for each task, and one for each unit."""

    tasks: list[list[str]]
    units: list[list[str]]


def top(every: Every = 1.0, times: Times = None, state: State = None, json: Json = False) -> None:
    """Show how the tasks of all jobs get on, again and again.

    Records and bytes in and out, those that failed, what waits, how far event time is behind, the share of a core that
    a task takes, records in a batch, and how long a batch is there. Then, of each unit, its snapshots.
    """
    control = terminal.control(state)
    if json or not terminal.is_terminal():
        for look in _looks(control, every, times):
            if json:
                terminal.json_line({"tasks": _named(_TASKS, look.tasks), "units": _named(_UNITS, look.units)})
            else:
                terminal.table(_TASKS, look.tasks, "no job runs")
                if look.units:
                    terminal.table(_UNITS, look.units, "")
        return
    from rich.live import Live

    with Live(console=terminal.console(), auto_refresh=False) as live:
        for look in _looks(control, every, times):
            live.update(_drawn(look), refresh=True)


def _named(columns: tuple[str, ...], rows: list[list[str]]) -> list[dict[str, str]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _drawn(look: _Look) -> Group:
    from rich.console import Group
    from rich.table import Table

    grids: list[Table] = []
    for columns, rows in ((_TASKS, look.tasks), (_UNITS, look.units)):
        grid = Table(*columns, header_style="bold", box=None, pad_edge=False)
        for row in rows:
            grid.add_row(*row)
        grids.append(grid)
    return Group(*grids)


def _looks(control: Control, every: float, times: int | None) -> Iterator[_Look]:
    before, looked, count = dict[_Key, Any](), time.monotonic(), 0
    while times is None or count < times:
        found = dict(_parts(cast("Mapping[str, Any]", control.ask("status", units=True)["units"])))
        now = time.monotonic()
        passed, looked, look = now - looked, now, _Look([], [])
        for key, counters in found.items():
            old = before.get(key)
            if len(key) == 2:
                look.units.append([*key, *_of_unit(counters, old)])
            else:
                look.tasks.append([*key, *_of_task(counters, old, passed)])
        yield look
        before, count = found, count + 1
        if count != times:
            time.sleep(every)


def _parts(jobs: Mapping[str, Any]) -> Iterator[tuple[_Key, Any]]:
    """What is said of each unit, by job and unit, and of each task, by job, unit and task. Units that are only called
    have neither.
    """
    for job, units in jobs.items():
        for unit, status in units.items():
            if "tasks" in status:
                yield (job, unit), status
                yield from (((job, unit, task), counters) for task, counters in status["tasks"].items())


def _of_task(now: Any, old: Any, seconds: float) -> list[str]:
    def rate(name: str, scale: float = 1.0) -> float | None:
        return None if old is None else max(0.0, now[name] - old[name]) / scale / max(seconds, 1e-9)

    batches, latency = _since("batches", now, old), _since("latency_s", now, old)
    busy = rate("busy_s")
    return [
        *(_number(rate(name)) for name in ("in", "out")),
        *(_number(rate(f"{name}_bytes", 1e6), 1) for name in ("in", "out")),
        *(_number(now[name]) for name in ("in", "out", "dead", "backlog")),
        _behind(now["watermark"]),
        "-" if busy is None else f"{busy:.0%}",
        _number(batches.mean or None),
        *_percentiles(latency),
    ]


def _of_unit(now: Any, old: Any) -> list[str]:
    took, sizes = _since("snapshot_s", now, old), (now["snapshot_bytes"], now["snapshot_bytes_written"])
    return [
        now["state"],
        _number(now["snapshots"]),
        *_percentiles(took),
        *(f"{size / 1e6:,.1f} MB" for size in sizes),
        _number(now["dead"]),
    ]


def _since(name: str, now: Any, old: Any) -> Histogram:
    from ghcm.runtime.histogram import Histogram

    found = Histogram.read(now[name])
    return found if old is None else found.since(Histogram.read(old[name]))


def _percentiles(seconds: Histogram) -> list[str]:
    return [f"{seconds.quantile(share) * 1e3:,.1f} ms" if seconds.count else "-" for share in (0.5, 0.99)]


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _behind(watermark: int | None) -> str:
    """How far event time is behind the clock."""
    return "-" if watermark is None else f"{max(0.0, time.time() - watermark / 1e6):,.1f} s"
