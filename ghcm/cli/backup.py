"""`ghcm backup` and `ghcm restore`: the state of a daemon, copied and brought back."""

from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import State

To = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the backup goes; not there yet.")]
From = Annotated[Path, typer.Argument(metavar="FOLDER", help="A backup.")]


def backup(folder: To, state: State = None) -> None:
    """Copy the state of a daemon, also while it runs.

    That is jobs, calls, snapshots, dead letters and the private Redis; sinks in folders are no part of it.
    """
    from ghcm.runtime.daemon.backup import back_up

    at, control = terminal.state_directory(state), terminal.control(state)
    if control.listening():
        control.ask("backup", folder=str(folder.absolute()))
    else:
        back_up(at, folder.absolute())
    terminal.say(f"backup:  {folder}")


def restore(folder: From, state: State = None) -> None:
    """Make a state directory of a backup. The next daemon goes on with its jobs."""
    from ghcm.runtime.daemon.backup import restore as bring_back

    at = terminal.state_directory(state)
    bring_back(folder, at)
    terminal.say(f"state:   {at.path}")
