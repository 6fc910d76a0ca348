"""Live tables, for `ghcm sql`: named aggregations of stream units, as their engine has them while it runs.

The engine writes copies into a folder of this command: nothing of data passes through the control socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from ghcm.errors import GhcmError, listed
from ghcm.types import Shape

if TYPE_CHECKING:
    import polars as pl

    from ghcm.cli.known import LastRun
    from ghcm.spg.graph import Program


def tables_of(program: Program) -> dict[str, tuple[str, str]]:
    """The live tables that a program has when it runs, unit and name, by the name that SQL has for them: `unit.name`,
    in small letters.
    """
    units = [unit for unit in program.units if unit.kind == "stream" and not unit.responsive]
    tasks = ((unit.name, task) for unit in units for task in unit.tasks)
    tables = ((unit, task.id) for unit, task in tasks if task.named and task.collection.shape is Shape.TABLE)
    return {f"{unit}.{name}".lower(): (unit, name) for unit, name in tables if name.isidentifier()}


def copies(asked: Mapping[str, tuple[str, str]], run: LastRun) -> Iterable[tuple[str, pl.DataFrame, int]]:
    """These tables, all between the same two steps of the engine: name, pairs, and the time that they are as of
    (microseconds since 1970 UTC). GhcmError where the program does not run.
    """
    import polars as pl

    if not asked:
        return
    if run.job is None or not run.control.listening():
        message = f"{listed(asked)} {'is' if len(asked) == 1 else 'are'} there while the program runs"
        raise GhcmError(message, code="GHCM-747", hint="ask its sinks, or run it.")
    with TemporaryDirectory(prefix="ghcm-") as folder:
        answer = run.control.ask("tables", job=run.job, tables=list(asked.values()), folder=folder)
        for at, (name, time) in enumerate(zip(asked, cast("list[int]", answer["as_of"]), strict=True)):
            yield name, pl.read_ipc(Path(folder, f"{at}.arrow")), time
