"""How commands speak: text for people, JSON lines for machines, tables and progress bars on terminals only; and the
options that several commands share.

Results go to standard output, everything about how it goes to standard error. Rich is loaded when a terminal asks for
it.
"""

from __future__ import annotations

import atexit
import json as json_text
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from csv import writer
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.errors import GhcmError, fitting, printable
from ghcm.support import MOST_INSTANCES

if TYPE_CHECKING:
    from rich.console import Console

    from ghcm.runtime.daemon.protocol import Control
    from ghcm.runtime.daemon.state import StateDirectory


def is_terminal() -> bool:
    """Whether a person looks at the results."""
    return sys.stdout.isatty()


def console(*, stderr: bool = False) -> Console:
    """A rich console on standard output or error."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


_passing = False
"""Whether the last line on the terminal is about to go."""


def passing(text: str) -> None:
    """A line about how far it is, which gives way to whatever comes next; on a terminal only."""
    global _passing  # noqa: PLW0603 - the terminal is one
    if sys.stderr.isatty():
        width = console(stderr=True).width - 1
        print(f"\r\x1b[K{printable(text)[:width]}", end="", file=sys.stderr, flush=True)
        _passing = True


def shows_passing() -> bool:
    """Whether a person looks at how it goes."""
    return sys.stderr.isatty()


def _cleared() -> None:
    """Take away the line that gives way."""
    global _passing  # noqa: PLW0603 - the terminal is one
    if _passing:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        _passing = False


def say(text: str) -> None:
    """A line of the result; what it holds of data steers no terminal."""
    _cleared()
    print(printable(text) if is_terminal() else text, flush=True)


def note(text: str) -> None:
    """A line about how it goes, which is no part of the result."""
    _cleared()
    print(printable(text) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A line that nobody should overlook: yellow where a person looks."""
    _cleared()
    if sys.stderr.isatty():
        from rich.text import Text

        console(stderr=True).print(Text(printable(text), style="bold yellow"), soft_wrap=True)
    else:
        note(text)


def json_line(document: object) -> None:
    """A result for a machine: one JSON document on one line."""
    print(json_text.dumps(document, ensure_ascii=False, default=str), flush=True)


def answer(document: object, text: str, *, json: bool) -> None:
    """A result for a machine or for a person."""
    if json:
        json_line(document)
    else:
        say(text)


def error(problem: GhcmError) -> None:
    """The message of an error; its headline is red where a person looks."""
    _cleared()
    if sys.stderr.isatty():
        from rich.text import Text

        with fitting(console(stderr=True).width):
            styled = Text(printable(str(problem)))
        styled.highlight_regex(r"(?m)^error\[[^\]]*\]", "bold red")
        styled.highlight_regex(r"(?m)^\s*= (detail|hint):", "cyan")
        styled.highlight_regex(r"(?m)^\s+\|\s+\^+$", "bold red")
        console(stderr=True).print(styled, soft_wrap=True)
    else:
        note(str(problem))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Rows under their columns: ruled on a terminal, aligned text elsewhere, `empty` where there are none."""
    _cleared()
    if not rows:
        note(empty)
        return
    if is_terminal():
        from rich.table import Table
        from rich.text import Text

        grid = Table(*columns, header_style="bold", box=None, pad_edge=False)
        for row in rows:
            grid.add_row(*(Text(printable(cell)) for cell in row))
        console().print(grid)
        return
    widths = [max(len(line[index]) for line in (columns, *rows)) for index in range(len(columns))]
    for line in (columns, *rows):
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def one_form(*, json: bool, csv: bool) -> None:
    """GhcmError where rows are asked for in two forms at once."""
    if json and csv:
        raise GhcmError("--json and --csv are two forms of the same rows", code="GHCM-605", hint="say one of them.")


def rows(names: Sequence[str], found: Iterable[Mapping[str, object]], empty: str, *, json: bool, csv: bool) -> None:
    """Rows in their JSON form: as they come as lines of JSON or CSV (RFC 4180, no cell a formula), else as a table."""
    from ghcm.values import cell, inert

    lines, listed = writer(sys.stdout), list[list[str]]()
    if csv:
        lines.writerow(map(inert, names))
    for row in found:
        if json:
            json_line(row)
            continue
        cells = [cell(row.get(name)) for name in names]
        if csv:
            lines.writerow(map(inert, cells))
            sys.stdout.flush()
        else:
            listed.append(cells)
    if not json and not csv:
        table(names, listed, empty)


@contextmanager
def steps(total: int) -> Generator[Callable[[str], None]]:
    """A progress bar over `total` steps on a terminal, nothing elsewhere; to be told the name of each step before it is
    taken."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:12}"), BarColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task, begun = bar.add_task("", total=total), count()
        yield lambda name: bar.update(task, description=name, completed=next(begun))


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]

Csv = Annotated[bool, typer.Option("--csv", help="Print the rows as CSV.")]

Program = Annotated[Path, typer.Argument(metavar="PROGRAM", help="A program: an .istream or a .py file.")]

State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="The state directory of the daemon; by default .ghcm in this folder."),
]


def control(state: Path | None) -> Control:
    """The control socket of the daemon whose state directory the option names, else the settings."""
    from ghcm.runtime.daemon.protocol import Control

    return Control(state_directory(state).control)


def state_directory(state: Path | None) -> StateDirectory:
    """The state directory that the option names, else the settings."""
    from ghcm.runtime.daemon.state import StateDirectory
    from ghcm.runtime.settings import load_settings

    return StateDirectory(load_settings({"state": state}).state)


RUNNABLE = "A program (.istream, .py) or a bundle (.ghcm or its folder; s3://… is fetched)."


Runnable = Annotated[str, typer.Argument(metavar="PROGRAM", help=RUNNABLE)]


def fetched(program: str) -> Path:
    """A program by its path; a bundle in a store as a copy that lasts as long as this process. GhcmError where it
    cannot be had.
    """
    if "://" not in program:
        return Path(program)
    from ghcm.places import Remote
    from ghcm.runtime.settings import load_settings
    from ghcm.stores import no_place
    from ghcm.tables.versions import explained

    if (why := no_place(program, "read")) is not None:
        raise GhcmError(why[0], code="GHCM-610", detail=why[1])
    load_settings()  # says where the store is
    folder, remote = TemporaryDirectory(prefix="ghcm-"), Remote(program)
    atexit.register(folder.cleanup)
    copy = Path(folder.name, remote.name)
    with explained(remote, "open the bundle"):
        copy.write_bytes(remote.read_bytes())
    return copy


Redis = Annotated[
    str | None, typer.Option("--redis", metavar="URL", help='A Redis, file:PATH of its URL, or "embedded".')
]

Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help='"embedded", or "services" for those of ghcm services up.'),
]

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs all batch units: native, spark, or auto, which goes by the size of the input.",
    ),
]

Parallelism = Annotated[
    int | None,
    typer.Option(
        "--parallelism",
        metavar="N",
        min=1,
        max=MOST_INSTANCES,
        help="How many instances each task has that can be divided, in all streams, whatever they say; a later run "
        "may have others.",
    ),
]

Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PASS", help="Leave out a pass of the optimiser, by its name; may be repeated."),
]

Beside = Annotated[bool, typer.Option("--beside", help="Append to sinks even if another job appends to them.")]

Directory = Annotated[
    Path,
    typer.Option("--directory", "-C", metavar="DIR", exists=True, file_okay=False, help="Where relative paths start."),
]

Certificate = Annotated[
    Path | None, typer.Option("--certificate", metavar="FILE", help="The certificate for TLS over HTTP, as PEM.")
]

Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="The private key of the certificate, as PEM.")]
