"""What each of the optimiser's three techniques is worth on the native engine: programs as they are optimised, against
themselves with the passes of one technique left out, over the same batches in one process, in turn; what they leave is
compared. Beside them a chain by hand in Polars with the same checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from bench import chains, eager, expansion
from bench.table import Row
from ghcm import driver
from ghcm.runtime.data.batch import Batch
from ghcm.spg.graph import Program
from ghcm.spg.ops import ReadSink, Source
from tests.unit.runtime.operators.harness import Given, module_of, run_unit

__all__ = ["measure"]

SIZE = 16_384
RECORDS, EVENTS, ACCOUNTS = 2_000_000, 2_000_000, 200_000
COMPRESSION = ("remove-redundant-calls", "compress-tasks")
SOURCES = 4


def measure(runs: int) -> list[Row]:
    """The three ratios, and that to Polars by hand."""
    rows = _without("task compression", chains.PROGRAM, COMPRESSION, _readings(), runs)
    rows += _without("pre-aggregation", eager.PROGRAM, ("pre-aggregate",), _events(), runs)
    rows += _expansion(runs)
    return rows + chains.natively(chains.readings(RECORDS), SIZE, runs)


def _without(
    technique: str, path: Path, passes: tuple[str, ...], frames: Mapping[str, pl.DataFrame], runs: int
) -> list[Row]:
    names = {"optimised": (), f"without {technique}": passes}
    contestants = {
        name: _runs(driver.compile(path, without=without).optimised.program, frames) for name, without in names.items()
    }
    best = dict.fromkeys(names, float("inf"))
    left: dict[str, list[str]] = {}
    for _ in range(runs + 1):
        for name, run in contestants.items():
            start = time.process_time()
            given = run()
            best[name] = min(best[name], time.process_time() - start)
            left[name] = sorted(repr(row) for rows in given.sinks.values() for row in rows)
    one, other = left.values()
    if one != other or not one:
        raise SystemExit(f"{path.name} leaves something else without {technique}")
    count = sum(frame.height for frame in frames.values())
    how = f"{count:,} records in batches of {SIZE:,}, best of {runs}"
    return [
        _row(f"{path.stem}, {name}", f"{seconds:.2f} s of processors", seconds / best["optimised"], how)
        for name, seconds in best.items()
    ]


def _row(subject: str, figure: str, ratio: float, how: str) -> Row:
    return Row("techniques", subject, figure, f"{ratio:.2f} x its time", how)


def _runs(program: Program, frames: Mapping[str, pl.DataFrame]) -> Callable[[], Given]:
    """What runs the only unit of the program on the native engine, in columns."""
    (unit,) = program.units
    module = module_of(program, unit)
    inputs: dict[str, list[Batch]] = {}
    for task in unit.tasks:
        if isinstance(task.op, Source | ReadSink):
            frame = frames[task.id]
            parts = (frame.slice(start, SIZE) for start in range(0, frame.height, SIZE))
            inputs[task.id] = [Batch.from_frame(task.schema, part, partition=task.id) for part in parts]
    return lambda: run_unit(program, unit, "columns", size=SIZE, inputs=inputs, module=module)


def _readings() -> dict[str, pl.DataFrame]:
    frame = chains.readings(RECORDS)
    unit = driver.check(chains.PROGRAM).units[0]
    return {task.id: frame for task in unit.tasks if isinstance(task.op, ReadSink)}


def _events() -> dict[str, pl.DataFrame]:
    """By the tasks that read them."""
    number = pl.int_range(EVENTS // 3, dtype=pl.Int64)
    accounts = pl.select(
        key=pl.format("key-{}", pl.int_range(ACCOUNTS)),
        country=pl.int_range(ACCOUNTS).hash(3).mod(200).cast(pl.Int64),
        name=pl.int_range(ACCOUNTS).cast(pl.String),
    )
    unit = driver.check(eager.PROGRAM).units[0]
    found: dict[str, pl.DataFrame] = {}
    for place, task in enumerate(task for task in unit.tasks if isinstance(task.op, Source)):
        seed = number.hash(place)
        events = pl.select(
            key=pl.format("key-{}", seed % 2_000), value=(seed // 7 % 2**62).cast(pl.Int64), note=seed.cast(pl.String)
        )
        found[task.id] = accounts if "country" in task.schema.names else events
    return found


def _expansion(runs: int) -> list[Row]:
    planned, unplanned = expansion.of_sources(SOURCES, runs)
    how = f"{expansion.RECORDS:,} records of {SOURCES} sources, best of {runs}"
    return [
        _row("expansion, optimised", f"{planned:.2f} s", 1.0, how),
        _row("expansion, without task expansion", f"{unplanned:.2f} s", unplanned / planned, how),
    ]
