"""`ghcm check`: say all that is wrong with programs, at once and before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import INTERRUPTED, guarded
from ghcm.cli.options import Json

if TYPE_CHECKING:
    from ghcm.spg.graph import Program


Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM", help="Programs: .istream or .py files.")]


def command(programs: Programs, json: Json = False) -> None:
    """Say all that is wrong with programs.

    Ends with 2 if any is wrong, else with 1 if one could not be looked at.
    """
    worst = 0
    for path in programs:
        try:
            guarded(_check)(path, json)
        except typer.Exit as end:
            if end.exit_code == INTERRUPTED:
                raise
            worst = max(worst, end.exit_code)
    if worst:
        raise typer.Exit(worst)


def _check(path: Path, json: bool) -> None:
    from ghcm import driver

    program = driver.check(path)
    if json:
        terminal.json_line({"file": str(path), "program": program.name, "units": _units_json(program), "errors": []})
    else:
        terminal.say(f"{path}: ok, {_summary(program)}")


def _units_json(program: Program) -> list[dict[str, object]]:
    return [
        {
            "name": unit.name,
            "kind": unit.kind,
            "responsive": unit.responsive,
            "tasks": len(unit.tasks),
            "parameters": {parameter.name: str(parameter.type) for parameter in unit.parameters},
        }
        for unit in program.units
    ]


def _summary(program: Program) -> str:
    units = [f'{"responsive " if unit.responsive else ""}{unit.kind} "{unit.name}"' for unit in program.units]
    return f'program "{program.name}" with {", ".join(units) or "no units"}'
