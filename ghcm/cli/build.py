"""`ghcm build`: compile a program into a bundle that runs where no compiler is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.options import Json, Program

Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the bundle goes; by default PROGRAM.ghcm.")
]


def command(program: Program, output: Output = None, json: Json = False) -> None:
    """Compile a program into a bundle."""
    from ghcm import driver

    begun = time.monotonic()
    with terminal.steps(len(driver.BUILD)) as step:
        path = driver.build(program, output, step)
    seconds = time.monotonic() - begun
    size = path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.rglob("*"))
    if json:
        terminal.json_line({"bundle": str(path), "bytes": size, "seconds": round(seconds, 3)})
    else:
        terminal.say(f"{path}: {size:,} bytes, built in {seconds:.1f} s")
