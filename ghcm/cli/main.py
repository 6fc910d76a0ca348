"""The entry point `ghcm`: finds the command, imports that one only, and ends with 0, 1 or 2.

0: fine. 1: the run failed. 2: the program or the arguments are wrong. 130: interrupted by Ctrl-C. 143: by SIGTERM.
"""

import importlib
import os
import sys
from collections.abc import Iterable
from typing import Annotated

import typer

import ghcm
from ghcm.cli.failure import guarded

COMMANDS = {
    "init": "init",
    "check": "programs",
    "fmt": "programs",
    "explain": "explain",
    "verify": "verify",
    "build": "programs",
    "run": "run",
    "submit": "jobs",
    "diff": "jobs",
    "ps": "jobs",
    "top": "top",
    "logs": "jobs",
    "call": "call",
    "sinks": "sinks",
    "read": "sinks",
    "sql": "sinks",
    "dead": "sinks",
    "stop": "jobs",
    "supervise": "jobs",
    "backup": "backup",
    "restore": "backup",
    "token": "token",
    "services": "services",
    "key": "keys",
    "schema": "schema",
    "language-server": "programs",
}
"""The commands in the order of their use: each is the function of its name in this module of `ghcm.cli`."""

GROUPS = {
    "token": ("What lets callers in over HTTP.", ("create", "list", "revoke")),
    "services": ("A Kafka and a Redis on this machine, for development.", ("up", "down", "status")),
    "key": ("Keys that bundles are signed with.", ("create",)),
    "schema": ("Types of data that is there already.", ("infer",)),
}
"""The commands that have commands of their own: their help, and the functions in their module."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ghcm {ghcm.__version__}")
        raise typer.Exit


def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """One typed program, compiled to streaming tasks, Spark jobs and a service that answers calls."""


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        name="ghcm",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_start)
    for name in names:
        if name in GROUPS:
            app.add_typer(_group(name))
        else:
            _add(app, name, COMMANDS[name])
    return app


def _group(name: str) -> typer.Typer:
    what, own = GROUPS[name]
    group = typer.Typer(name=name, help=what, no_args_is_help=True)
    group.callback()(lambda: None)
    for each in own:
        _add(group, each, COMMANDS[name])
    return group


def _add(app: typer.Typer, name: str, module: str) -> None:
    found = getattr(importlib.import_module(f"ghcm.cli.{module}"), name.replace("-", "_"))
    app.command(name)(guarded(found))


def main() -> None:
    """Run the command that the arguments name. Never returns."""
    arguments = sys.argv[1:]
    known = [arguments[0]] if arguments and arguments[0] in COMMANDS else COMMANDS
    try:
        application(known)(args=arguments, prog_name="ghcm")
    except BrokenPipeError:
        # Who read our output has gone (`ghcm ps | head`); what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
