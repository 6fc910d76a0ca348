"""`ghcm diff`: what a submission would keep, add, swap and drop, and whether the running program could take it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import changes, terminal
from ghcm.cli.options import Json
from ghcm.cli.submit import is_bundle

_WHAT = "A program (.istream, .py) or a bundle (.ghcm or its folder)."

Old = Annotated[Path, typer.Argument(metavar="OLD", help=_WHAT)]
New = Annotated[Path, typer.Argument(metavar="NEW", help=_WHAT)]


def command(old: Old, new: New, json: Json = False) -> None:
    """Compare two versions of a program."""
    from ghcm import driver
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.upgrade.compare import compare, version_of

    with tempfile.TemporaryDirectory(prefix="ghcm-") as folder:
        before, after = (
            version_of(Bundle.open(path if is_bundle(path) else driver.build(path, Path(folder, f"{name}.ghcm"))))
            for name, path in (("old", old), ("new", new))
        )
        upgrade = compare(before, after)
    if json:
        terminal.json_line({**upgrade.document(), "while_running": not upgrade.obstacles})
        return
    changes.show(upgrade.document())
    for obstacle in upgrade.obstacles:
        terminal.say(f"needs a stop: {obstacle}")
