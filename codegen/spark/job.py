"""Puts a job together: the tasks of a unit as functions, the run that connects them, and the helpers they call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ghcm.codegen.formatting import format_python
from ghcm.codegen.spark.hidden import hidden_columns, live_tasks
from ghcm.codegen.spark.library import library_for, names_taken
from ghcm.codegen.spark.schemas import Schemas, identifier
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.tasks import task_body
from ghcm.codegen.spark.text import quote
from ghcm.codegen.templating import render
from ghcm.errors import GhcmError
from ghcm.source import SourceLine
from ghcm.spg.graph import Parameter, Program, Task, Unit
from ghcm.spg.ops import Iterate, Publish, Reply, To
from ghcm.spg.traversal import entry_of, step_unit
from ghcm.types import is_nullable
from ghcm.values import to_json

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.files.maxPartitionBytes": "134217728",
    "spark.sql.files.openCostInBytes": "134217728",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PropagateEmptyRelation", "PruneFilters")
    ),
    "spark.sql.adaptive.optimizer.excludedRules": ("org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"),
}
"""What the helpers count on. The excluded rules would drop the counts of failing records with what they make empty."""


_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Function:
    """A task as the template lays it out."""

    function: str
    arguments: str
    gives: str
    words: str
    body: list[str]
    step: str = ""


def generate(program: Program, unit: Unit) -> str:
    """The text of the Spark job of a batch unit. GhcmError where the unit does what Spark cannot do yet."""
    schemas = Schemas(taken=names_taken())
    functions = _functions(program, unit, schemas)
    body = "\n".join(line for each in functions for line in each.body)
    replies = any(isinstance(task.op, Reply) for task in unit.tasks)
    parts = [_parameter(schemas, each) for each in unit.parameters]
    constants = schemas.definitions()
    values: dict[str, object] = {
        "title": f'The Spark job of the unit "{unit.name}" of the program "{program.name}".',
        "origin": str(unit.origin),
        "unit": unit.name,
        "program": quote(program.name),
        "name": quote(unit.name),
        "settings": list(SETTINGS.items()),
        "types": render("spark/enum_type.py.j2") if "EnumType(" in f"{constants} {parts} {body}" else "",
        "constants": constants,
        "parameters": f"StructType([{', '.join(parts)}])",
        "tasks": functions,
        "steps": [
            *(["know_float_repr(job)"] if "float_text(" in body else []),
            *(["know_json_at(job)"] if re.search(r"\bjson_\w+\(", body) else []),
            *(["know_json_written(job)"] if "written_as_json(" in body else []),
            *(["know_zones(job)"] if "zone=" in body else []),
            *(each.step for each in functions if each.step),
            *(["keep_reply(job)"] if replies else []),
        ],
    }
    draft = render("spark/job_module.py.j2", **values, imports="", helpers="")
    library = library_for(draft)
    text = render("spark/job_module.py.j2", **values, imports=library.imports, helpers=library.helpers)
    return _formatted(text, library.helpers)


def _formatted(text: str, helpers: str) -> str:
    """The helpers are laid out already; the rest is broken where lines are long."""
    before, after = text.split(helpers, 1)
    return f"{format_python(before)}{helpers}{after}"


def _functions(program: Program, unit: Unit, schemas: Schemas) -> list[_Function]:
    """The functions of the tasks, those of a step before the one that calls them."""
    tasks, hidden = live_tasks(unit), hidden_columns(unit)
    names = _function_names(_with_steps(unit, tasks))
    maker = _Maker(program, schemas, names)
    shared = _shared(tasks)
    functions: list[_Function] = []
    for task in tasks:
        made = maker.functions(unit, task, hidden)
        call = _call(names, task)
        held = f"job.keep({call})" if task.id in shared else call
        ends = isinstance(task.op, To | Publish | Reply)
        last = replace(made[-1], step=call if ends else f"{_variable(names, task.id)} = {held}")
        functions += [*made[:-1], last]
    return functions


def _with_steps(unit: Unit, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The tasks and those of their steps, but for what is not needed."""
    found: list[Task] = []
    for task in tasks:
        found.append(task)
        if isinstance(task.op, Iterate):
            inner = step_unit(unit, task, task.op)
            found += _with_steps(inner, _own(task, inner))
    return tuple(found)


def _own(task: Task, inner: Unit) -> tuple[Task, ...]:
    """The needed tasks of a step without those that stand for its inputs."""
    assert isinstance(task.op, Iterate)
    entries = {entry_of(place) for place in range(len(task.inputs))}
    return tuple(each for each in live_tasks(inner, task.op.result) if each.id not in entries)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the functions of tasks; `names` are those of all functions of the job."""

    program: Program
    schemas: Schemas
    names: dict[str, str]

    def functions(self, unit: Unit, task: Task, hidden: dict[str, frozenset[str]]) -> list[_Function]:
        """The function of a task behind those that it calls."""
        producers = [edge.producer for edge in task.inputs]
        inputs = ["rows"] if len(producers) == 1 else [f"rows_{number}" for number in range(1, len(producers) + 1)]
        sides = tuple(unit.task(producer).collection for producer in producers)
        scope = Scope(
            self.program,
            unit,
            self.schemas,
            task.id,
            str(task.origin),
            sides[0] if sides else task.collection,
            task.collection,
            sides,
            tuple(inputs),
            hidden[task.id],
        )
        inside, step = self._step(unit, task, inputs) if isinstance(task.op, Iterate) else ([], None)
        ends = isinstance(task.op, To | Publish | Reply)
        own = _Function(
            function=self.names[task.id],
            arguments=", ".join(["job: Job", *(f"{name}: DataFrame" for name in inputs)]),
            gives="None" if ends else "DataFrame",
            words=f"{type(task.op).__name__} {task.id}: {task.collection}; {task.origin}".replace("\\", "/"),
            body=_placed_body(scope, task, step),
        )
        return [*inside, own]

    def _step(self, unit: Unit, task: Task, inputs: list[str]) -> tuple[list[_Function], list[str]]:
        """The functions of the tasks of a step, and the statements of one round."""
        assert isinstance(task.op, Iterate)
        inner = step_unit(unit, task, task.op)
        hidden, tasks = hidden_columns(inner, task.op.result), _own(task, inner)
        functions = [each for own in tasks for each in self.functions(inner, own, hidden)]
        known = {entry_of(place): name for place, name in enumerate(["state", *inputs[1:]])}
        lines = [f"{_variable(self.names, own.id)} = {_call(self.names, own, known)}" for own in tasks]
        result = known.get(task.op.result) or _variable(self.names, task.op.result)
        return functions, [*lines, f"return {result}"]


def _placed_body(scope: Scope, task: Task, step: list[str] | None) -> list[str]:
    try:
        return task_body(scope, task, step)
    except GhcmError as error:  # what Spark cannot do stands somewhere in the program
        error.place = error.place or SourceLine(task.origin)
        raise


def _call(names: dict[str, str], task: Task, known: Mapping[str, str] = _NOTHING) -> str:
    given = [known.get(edge.producer) or _variable(names, edge.producer) for edge in task.inputs]
    return f"{names[task.id]}({', '.join(['job', *given])})"


def _function_names(tasks: tuple[Task, ...]) -> dict[str, str]:
    """A function for each task; no helper has such a name."""
    names: dict[str, str] = {}
    for task in tasks:
        wanted = f"task_{identifier(task.id)}"
        name, number = wanted, 2
        while name in names.values():
            name, number = f"{wanted}_{number}", number + 1
        names[task.id] = name
    return names


def _variable(names: dict[str, str], id: str) -> str:
    return f"{names[id].removeprefix('task_')}_rows"


def _shared(tasks: tuple[Task, ...]) -> set[str]:
    """The tasks that several ends need: Spark would make their rows once for each."""
    ends: dict[str, set[str]] = {task.id: set() for task in tasks}
    for task in reversed(tasks):
        if isinstance(task.op, To | Publish | Reply):
            ends[task.id] = {task.id}
        for edge in task.inputs:
            ends[edge.producer] |= ends[task.id]
    consumers = {
        task.id: [other for other in tasks if any(edge.producer == task.id for edge in other.inputs)] for task in tasks
    }
    return {id for id, reached in ends.items() if len(reached) > 1 and len(consumers[id]) > 1}


def _parameter(schemas: Schemas, parameter: Parameter) -> str:
    metadata = "" if parameter.required else f', {{"default": {to_json(parameter.default, parameter.type)!r}}}'
    type_ = schemas.text(parameter.type, parameter.name)
    return f"StructField({quote(parameter.name)}, {type_}, {is_nullable(parameter.type)}{metadata})"
