"""The options and arguments that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

Program = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program: an .istream or a .py file.")]

State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="The state directory of the daemon; by default .ghcm in this folder."),
]

Runnable = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="A program (.istream, .py) or a bundle (.ghcm or its folder).")
]

Beside = Annotated[bool, typer.Option("--beside", help="Append to sinks even if another job appends to them.")]

Directory = Annotated[
    Path,
    typer.Option(
        "--directory",
        "-C",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Where relative paths start.",
    ),
]
