"""The engines that there are, and which of them can run a unit: the one that the unit names, or all that run its kind.

What is left to "auto" here is decided when the unit runs, by whoever runs it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ghcm.codegen.backend import Artifact, Backend
from ghcm.codegen.native import NATIVE
from ghcm.codegen.spark import SPARK
from ghcm.errors import GhcmError, suggest
from ghcm.source import SourceLine
from ghcm.spg.graph import Program, Task, Unit, step_unit
from ghcm.spg.ops import Iterate
from ghcm.support import Yes

BACKENDS: tuple[Backend, ...] = (NATIVE, SPARK)


@dataclass(frozen=True, slots=True)
class Generated:
    """The code of a program: `files` are texts by path in the bundle; `program` is what they were made of, where each
    unit names its engine, unless several have a form of it.
    """

    program: Program
    files: Mapping[str, str]


def backends_of(unit: Unit) -> tuple[Backend, ...]:
    """Who may run a unit, in the order in which they are asked; GhcmError where it names an engine that there is not.

    >>> from ghcm.source import Origin
    >>> [each.name for each in backends_of(Unit("u", "batch", False, (), None, (), Origin("p", 1, 1)))]
    ['native', 'spark']
    """
    found = tuple(each for each in BACKENDS if each.name in unit.engines)
    if not found:
        hint = suggest(unit.engine, [each.name for each in BACKENDS])
        raise GhcmError(f'there is no engine "{unit.engine}" for unit "{unit.name}"', code="GHCM-502", hint=hint)
    return found


def module_path(backend: Backend, unit: Unit) -> str:
    """Where the module that a back end makes of a unit stands in the bundle."""
    return f"{backend.name}/{unit.name}.py"


def generate(program: Program) -> Generated:
    """The code of all units of an (optimised) program, for each engine that can run them. GhcmError where none can run
    one of them: what the last that was asked lacks.
    """
    units, files = list[Unit](), dict[str, str]()
    for unit in program.units:
        modules, refusal = dict[Backend, str](), None
        for backend in backends_of(unit):
            try:
                modules[backend] = emit(backend, program, unit).module
            except GhcmError as error:
                refusal = error
        if not modules:
            assert refusal is not None, "a unit has an engine"
            raise refusal
        files |= {module_path(backend, unit): text for backend, text in modules.items()}
        (first, *more) = modules
        units.append(unit if more or unit.kind == "stream" else replace(unit, engine=first.name))
    return Generated(replace(program, units=tuple(units)), files)


def emit(backend: Backend, program: Program, unit: Unit) -> Artifact:
    """What a back end makes of a unit; GhcmError where it does not support a task."""
    for refusal in _unsupported(backend, program, unit):
        raise refusal
    return backend.emit(program, unit)


def refusals(backend: Backend, program: Program, unit: Unit) -> tuple[GhcmError, ...]:
    """Everything that keeps an engine from running a unit, each with its place in the program."""
    found = tuple(_unsupported(backend, program, unit))
    if not found:
        try:
            backend.emit(program, unit)
        except GhcmError as error:
            return (error,)
    return found


def unrunnable(program: Program) -> list[GhcmError]:
    """Of each unit of an (optimised) program that no engine can run: what keeps the last one that was asked from it."""
    found = list[GhcmError]()
    for unit in program.units:
        refused = list[tuple[GhcmError, ...]]()
        for backend in backends_of(unit):
            refused.append(refusals(backend, program, unit))
            if not refused[-1]:
                break
        found += refused[-1]
    return found


def _unsupported(backend: Backend, program: Program, unit: Unit) -> Iterator[GhcmError]:
    for task, step in _tasks(unit):
        answer = backend.supports(program, step, task)
        if not isinstance(answer, Yes):
            yield GhcmError(answer.reason, code=answer.code, hint=answer.hint, place=SourceLine(task.origin))


def _tasks(unit: Unit) -> Iterator[tuple[Task, Unit]]:
    """The tasks of a unit and those of its iterations, each with what it stands in."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from _tasks(step_unit(unit, task, task.op))
        yield task, unit
