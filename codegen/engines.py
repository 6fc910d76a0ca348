"""The engines that there are, and which of them runs a unit: what the unit says, else the first that takes its kind."""

from collections.abc import Iterator, Mapping

from ghcm.codegen.backend import Artifact, Backend
from ghcm.codegen.native import NATIVE
from ghcm.codegen.spark import SPARK
from ghcm.errors import GhcmError, suggest
from ghcm.source import SourceLine
from ghcm.spg.graph import Program, Task, Unit, step_unit
from ghcm.spg.ops import Iterate
from ghcm.support import Yes

BACKENDS: tuple[Backend, ...] = (NATIVE, SPARK)


def backend_of(unit: Unit) -> Backend:
    """Who runs a unit; GhcmError where it asks for an engine that there is not.

    >>> from ghcm.source import Origin
    >>> backend_of(Unit("u", "batch", False, (), None, (), Origin("p", 1, 1))).name
    'spark'
    """
    for each in BACKENDS:
        if unit.engine == each.name or (unit.engine == "auto" and unit.kind in each.kinds):
            return each
    hint = suggest(unit.engine, [each.name for each in BACKENDS])
    raise GhcmError(f'there is no engine "{unit.engine}" for unit "{unit.name}"', code="GHCM-501", hint=hint)


def module_path(unit: Unit) -> str:
    """Where the generated module of a unit stands in the bundle."""
    return f"{backend_of(unit).name}/{unit.name}.py"


def generate(program: Program) -> Mapping[str, str]:
    """The generated files of all units of an (optimised) program, by their path in the bundle; GhcmError where an
    engine does not support a task.
    """
    return {module_path(unit): emit(backend_of(unit), program, unit).module for unit in program.units}


def emit(backend: Backend, program: Program, unit: Unit) -> Artifact:
    """What a back end makes of a unit; GhcmError where it does not support a task."""
    for task, step in _tasks(unit):
        answer = backend.supports(program, step, task)
        if not isinstance(answer, Yes):
            raise GhcmError(answer.reason, code=answer.code, hint=answer.hint, place=SourceLine(task.origin))
    return backend.emit(program, unit)


def _tasks(unit: Unit) -> Iterator[tuple[Task, Unit]]:
    """The tasks of a unit and those of its iterations, each with what it stands in."""
    for task in unit.tasks:
        if isinstance(task.op, Iterate):
            yield from _tasks(step_unit(unit, task, task.op))
        yield task, unit
