"""The options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Json", "Program", "State"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

Program = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program: an .istream or a .py file.")]

State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="The state directory of the daemon; by default .ghcm in this folder."),
]
