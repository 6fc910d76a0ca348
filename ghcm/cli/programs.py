"""Commands on programs while none runs: `ghcm check`, `fmt` and `build`; and the server that editors start."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED, INTERRUPTED, guarded
from ghcm.cli.terminal import Engine, Json, Parallelism, Program, Without
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.spg import graph


Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM", help="Programs: .istream or .py files.")]


Laws = Annotated[
    bool, typer.Option("--laws", help="Say why reducers take values in any order, and try what is claimed.")
]


def check(programs: Programs, laws: Laws = False, json: Json = False) -> None:
    """Say all that is wrong with programs.

    What keeps every engine from running a unit is wrong, too. Ends with 2 if any is wrong, else with 1 if one could not
    be looked at.
    """
    if worst := _worst(programs, lambda path: _check_one(path, laws=laws, json=json)):
        raise typer.Exit(worst)


def _worst(programs: Sequence[Path], look: Callable[[Path], None]) -> int:
    """Look at each program whatever the others are; the greatest exit code among them."""
    worst = 0
    for path in programs:
        try:
            guarded(look)(path)
        except typer.Exit as end:
            if end.exit_code == INTERRUPTED:
                raise
            worst = max(worst, end.exit_code)
    return worst


def _check_one(path: Path, *, laws: bool, json: bool) -> None:
    from ghcm import driver

    program = driver.check_engines(path)
    document: dict[str, object] = {"file": str(path), "program": program.name, "units": _units_json(program)}
    said = _laws(program, path) if laws else []
    document |= {"errors": []} | ({"laws": said} if laws else {})
    terminal.answer(document, "\n".join([f"{path}: ok, {_summary(program)}", *said]), json=json)


def _laws(program: graph.Program, path: Path) -> list[str]:
    """What is known of each reducer; GhcmError with a case that contradicts a claim."""
    from ghcm.source import Source, SourceLine
    from ghcm.verification.laws import findings

    said: list[str] = []
    for each in findings(program):
        if each.wrong:
            text = Source(each.origin.file, path.read_text(encoding="utf-8")).line(each.origin.line)
            raise GhcmError(
                f'the reducer of "{each.task}" gives another result in another order',
                code="GHCM-415",
                detail=f"{each.wrong}.",
                hint="order = v => ... reduces values in an order; or leave the claims out, and see what is proven.",
                place=SourceLine(each.origin, text),
            )
        said.append(f"{each.unit}.{each.task}: {each.says}")
    return said


def _units_json(program: graph.Program) -> list[dict[str, object]]:
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


def _summary(program: graph.Program) -> str:
    units = [f'{"responsive " if unit.responsive else ""}{unit.kind} "{unit.name}"' for unit in program.units]
    return f'program "{program.name}" with {", ".join(units) or "no units"}'


Formatted = Annotated[list[Path], typer.Argument(metavar="PROGRAM", help='.istream files; "-" reads standard input.')]
Unchanged = Annotated[bool, typer.Option("--check", help="Change nothing; end with 1 if a file would change.")]


def fmt(programs: Formatted, check: Unchanged = False, json: Json = False) -> None:
    """Rewrite programs in canonical text.

    Goes on where one cannot be; ends with 2 if any is wrong, with 1 if one could not be written or, with --check,
    would change.
    """
    changed: list[Path] = []

    def note(path: Path) -> None:
        if _format(path, check):
            changed.append(path)

    worst = _worst(programs, note)
    _print(changed, check, json)
    if worst or (check and changed):
        raise typer.Exit(worst or FAILED)


def _print(changed: list[Path], check: bool, json: bool) -> None:
    if json:
        terminal.json_line({"changed": [str(path) for path in changed]})
        return
    for path in changed:
        if check:
            terminal.say(f"{path}: would be rewritten")
        else:
            terminal.note(f"{path}: rewritten")


def _format(path: Path, check: bool) -> bool:
    from ghcm.driver import readable
    from ghcm.language import format_text
    from ghcm.language.loading import decode_program, read_program

    if str(path) == "-":
        text = decode_program(sys.stdin.buffer.read(), "<stdin>")
        formatted = format_text(text, "<stdin>")
        if not check:
            sys.stdout.write(formatted)
        return check and formatted != text
    if path.suffix != ".istream":
        message = f'cannot format "{path}": only .istream files have a canonical text'
        raise GhcmError(message, code="GHCM-601", hint="a Python program is formatted by the tools of Python.")
    readable(path)
    text = read_program(path)
    formatted = format_text(text, str(path))
    if formatted != text and not check:
        _rewrite(path.resolve(), formatted)
    return formatted != text


def _rewrite(path: Path, text: str) -> None:
    """Put the text into the file, which keeps its mode and owner; whoever is interrupted leaves the old text
    or the new one. `path` leads through no link, so that links to the file stay what they are.
    """
    before = path.stat()
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(PermissionError):  # only root may give a file away
            os.chown(beside, before.st_uid, before.st_gid)
        beside.chmod(stat.S_IMODE(before.st_mode))
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> GhcmError:
    message = f'cannot rewrite "{path}": {(error.strerror or str(error)).lower()}'
    hint = "check that its folder can be written and has room."
    return GhcmError(message, code="GHCM-790", detail="The file is as it was.", hint=hint)


Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the bundle goes; by default PROGRAM.ghcm.")
]


Sign = Annotated[Path | None, typer.Option("--sign", metavar="KEY", help="Sign the bundle with the key in this file.")]


def build(
    program: Program,
    output: Output = None,
    sign: Sign = None,
    engine: Engine = None,
    parallelism: Parallelism = None,
    without: Without = None,
    json: Json = False,
) -> None:
    """Compile a program into a bundle."""
    from ghcm import driver

    if sign is not None:
        from ghcm.signing import read_key

        read_key(sign)  # what is wrong with it is said before the work
    begun = time.monotonic()
    with terminal.steps(len(driver.BUILD)) as step:
        path = driver.build(program, output, step, sign, engine, parallelism, without or ())
    seconds = time.monotonic() - begun
    size = path.stat().st_size if path.is_file() else sum(file.stat().st_size for file in path.rglob("*"))
    document = {"bundle": str(path), "bytes": size, "seconds": round(seconds, 3)}
    terminal.answer(document, f"{path}: {size:,} bytes, built in {seconds:.1f} s", json=json)


def is_bundle(path: Path) -> bool:
    """Whether the path is a bundle, a file or a folder, and no program."""
    return path.suffix == ".ghcm" or (path / "manifest.json").is_file()


def bundled(
    program: Path,
    folder: Path,
    engine: str | None = None,
    parallelism: int | None = None,
    without: Sequence[str] | None = None,
) -> Path:
    """The bundle itself, or that of a program, built into the folder for this engine and so many instances, and without
    these passes. GhcmError if they are said of a bundle.
    """
    if is_bundle(program):
        passes = " --without ".join(without) if without else None
        for option, value in (("--engine", engine), ("--parallelism", parallelism), ("--without", passes)):
            if value is not None:
                message = f'"{program}" is built already, so that {option} says nothing'
                raise GhcmError(message, code="GHCM-605", hint=f"ghcm build PROGRAM {option} {value}")
        return program
    from ghcm import driver

    with terminal.steps(len(driver.BUILD)) as step:
        output = folder / f"{program.stem}.ghcm"
        return driver.build(program, output, step, engine=engine, parallelism=parallelism, without=without or ())


Textmate = Annotated[bool, typer.Option("--textmate", help="Print the TextMate grammar (JSON) and end.")]


def language_server(textmate: Textmate = False) -> None:
    """Serve an editor: mistakes while typing, types, completion, definitions.

    Speaks the Language Server Protocol over standard input and output; an editor starts it.
    """
    if textmate:
        import json

        from ghcm.editor.textmate import textmate as grammar

        typer.echo(json.dumps(grammar(), indent=2))
        return
    from ghcm.editor.server import serve

    serve().start_io()
