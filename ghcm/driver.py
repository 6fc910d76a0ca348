"""The whole pipeline on one screen: from the file that a user wrote to the bundle that runs.

It only puts the stages in order. What a stage does stands in its own package, which is imported when the stage runs:
checking a program loads no code generator, and nothing here loads Spark or the web.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ghcm.errors import Diagnostic, GhcmError, ProgramError, suggest_file
from ghcm.source import Source, SourceLine, Span

if TYPE_CHECKING:
    from ghcm.language import ast
    from ghcm.optimizer import Optimised
    from ghcm.spg.graph import Program, Unit


T = TypeVar("T")

_NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A program on its way through the stages; each stage fills in one field."""

    path: Path
    output: Path | None = None
    key: Path | None = None
    engine: str | None = None
    parallelism: int | None = None
    without: tuple[str, ...] = ()
    until: str | None = None
    syntax: ast.Program | None = None
    lowered: Program | None = None
    optimised: Optimised | None = None
    code: Mapping[str, str] | None = None
    panels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pipeline. `name` is a verb for progress bars; `run` gives the draft with one field more."""

    name: str
    run: Callable[[Draft], Draft]


def _load(draft: Draft) -> Draft:
    from ghcm.language import load

    readable(draft.path)
    return replace(draft, syntax=load(draft.path))


def _lower(draft: Draft) -> Draft:
    from ghcm.lowering import lower

    lowered = lower(_made(draft.syntax))
    lowered = lowered if draft.engine is None else _on_engine(lowered, draft.engine)
    return replace(draft, lowered=lowered if draft.parallelism is None else _divided(lowered, draft.parallelism))


def _on_engine(program: Program, engine: str) -> Program:
    """The program with all its batch units on one engine, or on whichever suits their input ("auto")."""
    from ghcm.support import RUNS

    if engine not in ("auto", *RUNS["batch"]):
        known = ", ".join(("auto", *RUNS["batch"]))
        raise GhcmError(f'no batch unit runs on "{engine}"', code="GHCM-605", hint=f"there are {known}.")
    units = tuple(replace(each, engine=engine) if each.kind == "batch" else each for each in program.units)
    return replace(program, units=units)


def _divided(program: Program, count: int) -> Program:
    """The program with so many instances of each task that can be divided, in all streams that run by themselves."""
    runs = [unit.kind == "stream" and not unit.responsive for unit in program.units]
    units = zip(program.units, runs, strict=True)
    return replace(program, units=tuple(replace(unit, parallelism=count) if own else unit for unit, own in units))


def _verify(draft: Draft) -> Draft:
    from ghcm.spg.verify import verify

    broken = verify(_made(draft.lowered))
    if broken:
        raise GhcmError(
            "the compiler has made a graph that breaks its own laws",
            code="GHCM-290",
            detail="; ".join(broken[:3]) + ".",
            hint="this is a mistake of GHCM, not of the program: please report it with the program.",
        )
    return draft


def _panels(draft: Draft) -> Draft:
    from ghcm.panels import board_file, read_board

    lowered = _made(draft.lowered)
    file = board_file(draft.path, lowered.name)
    if file is None:
        return draft
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GhcmError(f'"{file}" cannot be read', code="GHCM-602", detail=f"{error}.") from error
    read_board(text, str(file), lowered)
    return replace(draft, panels={file.name: text})


def _optimise(draft: Draft) -> Draft:
    from ghcm.optimizer import chosen, optimise

    return replace(draft, optimised=optimise(_made(draft.lowered), chosen(draft.without, draft.until)))


def _place(draft: Draft) -> Draft:
    from ghcm.spg.graph import relative_to

    folder, optimised = draft.path.parent, _made(draft.optimised)
    steps = tuple(replace(step, program=relative_to(step.program, folder)) for step in optimised.steps)
    placed = replace(
        optimised,
        before=relative_to(optimised.before, folder),
        program=relative_to(optimised.program, folder),
        steps=steps,
    )
    return replace(draft, lowered=relative_to(_made(draft.lowered), folder), optimised=placed)


def _generate(draft: Draft) -> Draft:
    """The code; what an engine cannot do is shown with its line, which an SPG does not carry."""
    from ghcm.codegen.engines import generate

    try:
        generated = generate(_made(draft.optimised).program)
    except GhcmError as error:
        _cite(error, draft.path)
        raise
    engines = {unit.name: unit.engine for unit in generated.program.units}
    lowered = _made(draft.lowered)
    units = tuple(replace(unit, engine=engines[unit.name]) for unit in lowered.units)
    return replace(
        draft,
        lowered=replace(lowered, units=units),
        optimised=replace(_made(draft.optimised), program=generated.program),
        code=generated.files,
    )


def _cite(error: GhcmError, path: Path) -> None:
    """Give the error the text of its line, if that is one of the program."""
    if error.place is not None and error.place.origin.file == path.name:
        origin = error.place.origin
        text = Source(origin.file, path.read_text(encoding="utf-8")).line(origin.line)
        error.place = SourceLine(origin, text)


def _bundle(draft: Draft) -> Draft:
    write(_compiled(draft), _made(draft.output), draft.key)
    return draft


CHECK = (Stage("load", _load), Stage("lower", _lower), Stage("verify", _verify), Stage("panels", _panels))
COMPILE = (*CHECK, Stage("optimise", _optimise), Stage("place", _place), Stage("generate", _generate))
BUILD = (*COMPILE, Stage("bundle", _bundle))
_OPTIMISE = COMPILE[:-1]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled program. Files are texts by their path in the bundle: `sources` the program as written and
    its panels, `python` the
    user's modules that its `python(...)` calls name; `requirements` the packages that these need.
    """

    path: Path
    program: Program
    optimised: Optimised
    code: Mapping[str, str]
    sources: Mapping[str, str]
    python: Mapping[str, str]
    requirements: tuple[str, ...] = ()


Observe = Callable[[str], None]
"""Told the name of each stage before it runs."""


def _ignore(_stage: str) -> None:
    return


def check(path: Path) -> Program:
    """The SPG of the program at `path` (`.istream` or `.py`); ProgramError with all that is wrong with it."""
    return _made(_run(CHECK, Draft(path), _ignore).lowered)


def compile(
    path: Path,
    observe: Observe = _ignore,
    engine: str | None = None,
    parallelism: int | None = None,
    without: Sequence[str] = (),
    until: str | None = None,
) -> Compiled:
    """The program at `path`, checked, optimised and turned into code, with its batch units on the `engine` and with
    `parallelism` instances of the tasks of its streams, if that is given; ProgramError as `check` raises it. Passes of
    the optimiser are left out by name, and those behind the one of the name `until`.
    """
    draft = Draft(path, engine=engine, parallelism=parallelism, without=tuple(without), until=until)
    return _compiled(_run(COMPILE, draft, observe))


def check_engines(path: Path) -> Program:
    """The SPG of the program at `path` as `check` gives it, once the engines were asked: ProgramError with all that
    keeps one from running a unit that no other could run, too.
    """
    from ghcm.codegen.engines import unrunnable

    draft = _run(_OPTIMISE, Draft(path), _ignore)
    found = unrunnable(_made(draft.optimised).program)
    if found:
        source = Source(path.name, path.read_text(encoding="utf-8"))
        raise ProgramError(_diagnostic(each, source) for each in found)
    return _made(draft.lowered)


def _diagnostic(error: GhcmError, source: Source) -> Diagnostic:
    """The error as one of the program, at the name in its line that it is about, if it has a place there."""
    span = None
    if error.place is not None and error.place.origin.file == source.name:
        start = source.offset(error.place.origin.line, error.place.origin.column)
        name = _NAME.match(source.text, start)
        span = Span(source, start, name.end() if name else start + 1)
    return Diagnostic(error.code, error.message, span, error.detail, error.hint)


@dataclass(frozen=True, slots=True)
class Runs:
    """What an engine says to a unit: everything that keeps it from running that, each with its line; nothing: it runs
    it.
    """

    unit: Unit
    engine: str
    refusals: tuple[GhcmError, ...]


def engines(path: Path) -> list[Runs]:
    """Which engines can run the units of the program at `path`, whatever the units ask for; ProgramError as `check`
    raises it.
    """
    from ghcm.codegen.engines import BACKENDS, refusals
    from ghcm.support import RUNS

    program = _made(_run(_OPTIMISE, Draft(path), _ignore).optimised).program
    found: list[Runs] = []
    for unit in program.units:
        for backend in BACKENDS:
            never = GhcmError("it runs for ever, and this engine runs what ends", place=SourceLine(unit.origin))
            given = backend.name in RUNS[unit.kind]
            errors = refusals(backend, program, unit) if given else (never,)
            for error in errors:
                _cite(error, path)
            found.append(Runs(unit, backend.name, errors))
    return found


def build(
    path: Path,
    output: Path | None = None,
    observe: Observe = _ignore,
    key: Path | None = None,
    engine: str | None = None,
    parallelism: int | None = None,
    without: Sequence[str] = (),
) -> Path:
    """Write the bundle of the program at `path`, by default beside it as `<program>.ghcm`, signed with the `key` in a
    file if there is one, and return where it is. `engine`, `parallelism` and `without` as in `compile`.
    """
    given = Draft(path, output or path.with_suffix(".ghcm"), key, engine, parallelism, tuple(without))
    return _made(_run(BUILD, given, observe).output)


def write(compiled: Compiled, output: Path, key: Path | None = None) -> None:
    """Write the bundle of a compiled program, signed if there is a key: the last stage by itself."""
    from ghcm.codegen import bundle

    parts = (compiled.code, compiled.sources, compiled.python)
    bundle.write(compiled.program, compiled.optimised.program, *parts, output, compiled.requirements, key)


def _run(stages: Sequence[Stage], draft: Draft, observe: Observe) -> Draft:
    with _no_collection():
        for stage in stages:
            observe(stage.name)
            draft = stage.run(draft)
    return draft


@contextmanager
def _no_collection() -> Generator[None]:
    """Without the search for garbage: trees of a long program are many objects, all of them in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _compiled(draft: Draft) -> Compiled:
    from ghcm.codegen.user_code import python_files, requirements

    lowered = _made(draft.lowered)
    python = python_files(lowered, draft.path.parent)
    sources = {draft.path.name: draft.path.read_text(encoding="utf-8"), **draft.panels}
    return Compiled(
        path=draft.path,
        program=lowered,
        optimised=_made(draft.optimised),
        code=_made(draft.code),
        sources=sources,
        python=python,
        requirements=requirements(lowered, python),
    )


def _made(value: T | None) -> T:
    assert value is not None, "a stage ran before the stage that it needs"
    return value


def readable(path: Path) -> None:
    """GhcmError that says what there is, if there is no program at `path`."""
    if path.is_dir():
        inside = sorted(_programs_in(path))
        found = f"It has {_some(inside)}." if inside else "It has no program."
        raise GhcmError(f'"{path}" is a folder, a program is a file', code="GHCM-602", detail=found)
    if path.suffix not in (".istream", ".py"):
        raise GhcmError(
            f'"{path}" is no program: its name ends neither in .istream nor in .py',
            code="GHCM-601",
            hint='"ghcm init" writes a first program.',
        )
    if not path.is_file():
        near = sorted(_programs_in(path.parent))
        found = f"The folder has {_some(near)}." if near else "The folder has no program."
        likely = suggest_file(path.name, near)
        hint = f'did you mean "{likely}"?' if likely else "" if near else '"ghcm init" writes a first program.'
        raise GhcmError(f'there is no program "{path}"', code="GHCM-602", detail=found, hint=hint)


def _programs_in(folder: Path) -> Iterator[str]:
    return (each.name for each in folder.glob("*") if each.suffix in (".istream", ".py") and each.is_file())


def _some(names: Sequence[str], most: int = 8) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
