"""`ghcm verify`: the units of a program on generated or given input, through the reference and every engine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED
from ghcm.cli.terminal import Json, Program
from ghcm.errors import GhcmError, suggest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ghcm.driver import Runs
    from ghcm.spg.graph import Program as Graph
    from ghcm.spg.graph import Unit
    from ghcm.verification.campaign import Report, Runner

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FILE", help="Records to run, JSON lines or CSV with the names of fields; else some are made."
    ),
]
Only = Annotated[list[str] | None, typer.Option("--unit", "-u", metavar="NAME", help="These units; else all of them.")]
On = Annotated[
    list[str] | None, typer.Option("--engine", metavar="NAME", help="These engines, native or spark; else all of them.")
]
Examples = Annotated[int, typer.Option("--examples", "-n", min=1, help="So many examples on the native engine.")]
Seed = Annotated[int, typer.Option("--seed", help="Another number makes other examples.")]

_ON_SPARK = 4
_ROWS, _ROWS_ON_SPARK = 12, 60
_TRIES, _TRIES_ON_SPARK = 400, 30


def verify(
    program: Program,
    data: Data = None,
    unit: Only = None,
    engine: On = None,
    examples: Examples = 60,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run a program on generated input everywhere and compare.

    Each unit runs in the reference, in both forms of the native engine and, where it ends, on Spark, optimised and as
    it is written. The first difference is made small and shown, and the exit code is 1.
    """
    from ghcm import driver

    graph = driver.check(program)
    units = _chosen([each.name for each in graph.units], unit, "unit")
    engines = _chosen(["native", "spark"], engine, "engine")
    sys.path.insert(0, str(program.resolve().parent))  # where the user's Python functions are
    runs = {(each.unit.name, each.engine): each for each in driver.engines(program)}
    found: list[tuple[str, str, Report | str]] = []
    with tempfile.TemporaryDirectory(prefix="ghcm-spark-") as folder, _session(Path(folder)) as session:
        for each in (graph.unit(name) for name in units):
            for name in engines:
                report = _on(name, graph, each, runs[each.name, name], session, data, examples, seed)
                found.append((each.name, name, report))
                _tell(each, name, report, json=json)
    if data is not None and not any(not isinstance(report, str) and report.records for _, _, report in found):
        raise GhcmError(f'no unit reads records as "{data}" has them', code="GHCM-605")
    if any(not isinstance(report, str) and report.difference for _, _, report in found):
        raise typer.Exit(FAILED)


def _chosen(known: Sequence[str], asked: Sequence[str] | None, what: str) -> Sequence[str]:
    for name in asked or ():
        if name not in known:
            hint = suggest(name, known) or f"there are {', '.join(known)}."
            raise GhcmError(f'there is no {what} "{name}"', code="GHCM-605", hint=hint)
    return asked or known


class _Spark:
    """A session that starts when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        from ghcm.runtime.settings import load_settings
        from ghcm.runtime.spark.session import Session

        self.session = Session(load_settings().spark, 2, folder)

    def get(self) -> SparkSession:
        """The session. GhcmError where Spark cannot start."""
        return self.session.get()


@contextmanager
def _session(folder: Path) -> Generator[_Spark]:
    spark = _Spark(folder)
    try:
        yield spark
    finally:
        spark.session.stop()


def _on(
    name: str, graph: Graph, unit: Unit, runs: Runs, spark: _Spark, data: Path | None, examples: int, seed: int
) -> Report | str:
    """What came of a unit on an engine, or why it was not run."""
    from ghcm.verification.campaign import verify
    from ghcm.verification.engines import Native, Spark
    from ghcm.verification.given import from_file, why_not

    if runs.refusals:
        return runs.refusals[0].message
    if why := why_not(unit):
        return why
    given = None
    if data is not None:
        try:
            given = from_file(unit, data)
        except GhcmError as error:
            if error.code != "GHCM-605" or "fit" in error.message:
                raise
            return error.message
    campaign = partial(verify, graph, unit, seed=seed, data=given)
    if name == "native":
        forms = [(form, optimised) for optimised in (False, True) for form in ("rows", "columns")]
        natives: list[Runner] = [Native(graph, unit, form, optimised) for form, optimised in forms]  # type: ignore[arg-type]
        return campaign(natives, examples=examples, most=_ROWS, tries=_TRIES)
    session = spark.get()
    jobs: list[Runner] = [Spark(graph, unit, optimised, session) for optimised in (False, True)]
    return campaign(jobs, examples=min(examples, _ON_SPARK), most=_ROWS_ON_SPARK, tries=_TRIES_ON_SPARK)


def _tell(unit: Unit, engine: str, report: Report | str, *, json: bool) -> None:
    if isinstance(report, str):
        document: dict[str, object] = {"unit": unit.name, "engine": engine, "left_out": report}
        terminal.answer(document, f"{unit.name}, {engine}: left out: {report}", json=json)
        return
    document = {"unit": unit.name, "engine": engine, "examples": report.examples, "records": report.records}
    counted = f"{report.examples:,} examples, {report.records:,} records"
    difference = report.difference
    if difference is None:
        terminal.answer(document | {"difference": None}, f"{unit.name}, {engine}: {counted}, the same", json=json)
        return
    given = list(difference.given.lines(unit))
    shown = {"engine": difference.engine, "given": given, "said": list(difference.said)}
    lines = [f"{unit.name}, {difference.engine}: differs from the reference after {counted}", "given:"]
    lines += [*(f"  {line}" for line in given), "then:", *(f"  {line}" for line in difference.said)]
    terminal.answer(document | {"difference": shown}, "\n".join(lines), json=json)
