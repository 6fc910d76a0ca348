"""Puts a job together: the tasks of a unit as functions, and the steps that connect them."""

import ast
import builtins
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ghcm.codegen.formatting import WIDTH, format_python
from ghcm.codegen.spark.expressions import Scope
from ghcm.codegen.spark.group_checks import NO_CHECKS, GroupChecks, group_checks
from ghcm.codegen.spark.groups import ungrouped_body
from ghcm.codegen.spark.names import Names, fresh_names
from ghcm.codegen.spark.packing import library_names
from ghcm.codegen.spark.placing import hidden_of_sessions
from ghcm.codegen.spark.schemas import Schemas, record_text
from ghcm.codegen.spark.tasks import task_body
from ghcm.codegen.spark.text import identifier, local_name, quote
from ghcm.codegen.templating import render
from ghcm.errors import GhcmError
from ghcm.expr import fresh
from ghcm.reducers import Aggregate, Phase
from ghcm.source import SourceLine
from ghcm.spg.connectors import Kafka
from ghcm.spg.graph import Forward, Input, Program, Task, Unit, entry_of, leading_to, step_unit
from ghcm.spg.ops import (
    AggregateByKey,
    ChainOp,
    Fused,
    Iterate,
    Join,
    Op,
    Phased,
    Publish,
    Reply,
    Sessions,
    Source,
    To,
    Union,
)
from ghcm.spg.stages import unites
from ghcm.spg.traits import TIME, WATERMARK, hidden_before, traits_of
from ghcm.types import Struct

_OWN = frozenset({"job", "rows", "beside", "state", "step", "known", "steps", "run", "UNIT", "F", "DataFrame"})
"""Names that stand in every job."""

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Function:
    """A task as a function of the job, and the statement of `steps` that calls it."""

    head: str
    words: str
    body: list[str]
    step: str = ""

    def lines(self) -> list[str]:
        """The text of the function."""
        return ["", "", self.head, f'    """{self.words}"""', *(f"    {line}".rstrip() for line in self.body)]


def generate(program: Program, unit: Unit) -> str:
    """The text of the Spark job of a batch unit. GhcmError where the unit does what Spark cannot do yet."""
    schemas, unit = Schemas(taken=_OWN | library_names().keys()), _with_one_writer_each(program, unit)
    functions = _functions(program, unit, schemas)
    parameters = record_text({each.name: schemas.parameter(each) for each in unit.parameters})
    known = _known_functions(functions, schemas)
    lines = [line for each in functions for line in each.lines()]
    lines += ["", "", "def steps(job: Job) -> None:", '    """All steps of the unit, in order."""']
    lines += [f"    {line}" for line in [*known, *(each.step for each in functions if each.step)]]
    values = {
        "program": program.name,
        "unit": unit.name,
        "origin": str(unit.origin).replace("\\", "/"),
        "topics": any(_has_topic(program, task.op) for task in unit.tasks),
        "body": "\n".join([*schemas.definitions(), *lines]),
        "arguments": f"{quote(program.name)}, {quote(unit.name)}, {parameters}, steps, __file__",
    }
    draft = render("spark_job.py.j2", **values, imports="")
    return format_python(render("spark_job.py.j2", **values, imports=_imports(draft)), texts=True)


def _with_one_writer_each(program: Program, unit: Unit) -> Unit:
    """A unit of the same meaning in which one task writes to each sink that has versions: a call is one of them.
    GhcmError where pipelines give such a sink records of several types.
    """
    tasks = list(unit.tasks)
    found: dict[str, list[Task]] = {}
    for task in tasks:
        if isinstance(task.op, To):
            found.setdefault(task.op.sink, []).append(task)
    for name, writers in found.items():
        if len(writers) == 1 or isinstance(program.sink(name).connector, Kafka):
            continue
        given = [unit.task(each.inputs[0].producer).collection for each in writers]
        if any(each.element != given[0].element for each in given):
            reason = f'Spark cannot write records of several types to the sink "{name}" in one unit yet'
            hint = "map(...) makes them alike: of the same fields, which may be null in all of them or in none."
            raise GhcmError(reason, code="GHCM-523", hint=hint, place=SourceLine(writers[-1].origin))
        first, last = writers[0], writers[-1]
        together = Task(f"{first.id}/all", Union(), tuple(each.inputs[0] for each in writers), given[0], first.origin)
        writer = replace(first, inputs=(Input(together.id, Forward()),))
        at = tasks.index(last) + 1
        tasks[at:at] = [together, writer]
        tasks = [each for each in tasks if each not in writers]
    return replace(unit, tasks=tuple(tasks))


def _has_topic(program: Program, op: Op) -> bool:
    match op:
        case Source(connector=Kafka()):
            return True
        case To(sink=name):
            return isinstance(program.sink(name).connector, Kafka)
        case _:  # no other speaks to servers of its own
            return False


def _known_functions(functions: list[_Function], schemas: Schemas) -> list[str]:
    """The statements that make Spark know what SQL calls in Python."""
    body = "\n".join(line for each in functions for line in each.body)
    calls = {"float_repr(": "float_repr", "json_at(": "json_at", "clocks_at(": "zones", "moment_of_clocks(": "zones"}
    known = dict.fromkeys(f"know_{name}(job)" for call, name in calls.items() if call in body)
    return [*known, *schemas.json_functions.values()]


def _imports(draft: str) -> str:
    """The statements that import what a job names: pyspark's, then the library's."""
    used = {each.id for each in ast.walk(ast.parse(draft)) if isinstance(each, ast.Name)}
    lines = ["from decimal import Decimal", ""] if "Decimal" in used else []
    lines += ["from pyspark.sql import DataFrame"] if "DataFrame" in used else []
    lines += ["from pyspark.sql import functions as F"] if "F" in used else []
    modules: dict[str, list[str]] = {}
    for name in sorted(used & library_names().keys(), key=_import_order):
        modules.setdefault(library_names()[name], []).append(name)
    lines += [""] if lines and lines[-1] else []
    lines += [_import(module, ", ".join(names)) for module, names in sorted(modules.items())]
    return "\n".join(lines) + "\n"


def _import_order(name: str) -> tuple[int, str]:
    """As import sorters have it: constants, classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _import(module: str, names: str) -> str:
    """An import, with brackets where it is longer than a line may be."""
    plain = f"from {module} import {names}"
    return plain if len(plain) <= WIDTH else f"from {module} import ({names})"


def _functions(program: Program, unit: Unit, schemas: Schemas) -> list[_Function]:
    """The functions of the tasks, those of a step before the one that calls them."""
    tasks, hidden, beside = live_tasks(unit), hidden_columns(unit), _beside(unit)
    tasks = _behind(tasks, beside)
    names = _function_names(_with_steps(unit, tasks), schemas)
    maker = _Maker(program, schemas, names, beside, group_checks(unit))
    shared = _shared(tasks)
    functions: list[_Function] = []
    for task in tasks:
        made = maker.functions(unit, task, hidden)
        call = _call(names, task, further=[beside[task.id]] if task.id in beside else [])
        held = f"job.keep({call})" if task.id in shared else call
        ends = isinstance(task.op, To | Publish | Reply)
        last = replace(made[-1], step=call if ends else f"{_variable(names, task.id)} = {held}")
        functions += [*made[:-1], last]
    return functions


def _is_united(unit: Unit, task: Task) -> bool:
    """Whether a union follows a task of single records, with only such between."""
    if not isinstance(task.op, ChainOp | Fused):
        return False
    return any(unites(each.op) or _is_united(unit, each) for each in unit.consumers(task.id))


def _beside(unit: Unit) -> dict[str, str]:
    """What partial groups that only a join reads are joined with: whether they are worth making depends on its size."""
    read = [edge.producer for task in unit.tasks for edge in task.inputs]
    joined = {task.inputs[0].producer: task.inputs[1].producer for task in unit.tasks if isinstance(task.op, Join)}
    parts = {task.id for task in unit.tasks if isinstance(task.op, Phased) and task.op.phase is Phase.PARTIAL}
    return {id: right for id, right in joined.items() if id in parts and read.count(id) == 1}


def _behind(tasks: tuple[Task, ...], beside: Mapping[str, str]) -> tuple[Task, ...]:
    """The tasks in an order in which such partial groups stand right before the join, behind both of its sides."""
    placed: list[Task] = []
    for task in tasks:
        read = [edge.producer for edge in task.inputs]
        placed += [each for each in tasks if each.id in beside and each.id in read]
        placed += [] if task.id in beside else [task]
    return tuple(placed)


def _with_steps(unit: Unit, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The tasks and those of their steps, but for what is not needed."""
    found: list[Task] = []
    for task in tasks:
        found.append(task)
        if isinstance(task.op, Iterate):
            inner = step_unit(unit, task, task.op)
            needed = [each for id in _results(task.op).values() for each in leading_to(task.op.tasks, id)]
            found += _with_steps(inner, tuple(each for each in task.op.tasks if each in needed))
    return tuple(found)


def _results(op: Iterate) -> dict[str, str]:
    """The tasks of a step whose records the next round takes, by what the job calls the function that gives them."""
    return {"step": op.result} | ({} if op.known is None else {"known": op.known})


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the functions of tasks; `names` are those of all functions of the job, `beside` what some are told of that
    is not their input, `checks` what is checked of groups.
    """

    program: Program
    schemas: Schemas
    names: dict[str, str]
    beside: Mapping[str, str]
    checks: Mapping[str, GroupChecks]

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
            _is_united(unit, task),
            self.checks.get(task.id, NO_CHECKS),
        )
        inside, rounds = self._rounds(unit, task, task.op, inputs) if isinstance(task.op, Iterate) else ([], None)
        ends = isinstance(task.op, To | Publish | Reply)
        told = ["beside"] if task.id in self.beside else []
        arguments = ", ".join(["job: Job", *(f"{name}: DataFrame" for name in [*inputs, *told])])
        own = _Function(
            head=f"def {self.names[task.id]}({arguments}) -> {'None' if ends else 'DataFrame'}:",
            words=f"{type(task.op).__name__} {task.id}, {task.origin}".replace("\\", "/"),
            body=_body(scope, task, rounds, ungrouped=bool(told)),
        )
        return [*inside, own]

    def _rounds(
        self, unit: Unit, task: Task, op: Iterate, inputs: list[str]
    ) -> tuple[list[_Function], dict[str, list[str]]]:
        """The functions of the tasks of a step, and the statements of each result of a round."""
        inner = step_unit(unit, task, op)
        given = {entry_of(index): name for index, name in enumerate(["state", *inputs[1:]])}
        functions: dict[str, list[_Function]] = {}
        rounds: dict[str, list[str]] = {}
        for name, id in _results(op).items():
            hidden, tasks = hidden_columns(inner, id), leading_to(op.tasks, id)
            functions = {each.id: self.functions(inner, each, hidden) for each in tasks} | functions
            lines = [f"{_variable(self.names, each.id)} = {_call(self.names, each, given)}" for each in tasks]
            rounds[name] = [*lines, f"return {given.get(id) or _variable(self.names, id)}"]
        return [each for several in functions.values() for each in several], rounds


def _body(scope: Scope, task: Task, rounds: Mapping[str, list[str]] | None, *, ungrouped: bool) -> list[str]:
    """The statements of a task's function, behind those that take the unit's parameters. `ungrouped`: partial groups
    are not made where what they are joined with comes to them.
    """
    with fresh_names(_columns(scope, task)) as names:
        try:
            lines = task_body(scope, task, rounds)
            if ungrouped and isinstance(task.op, Phased):
                lines = [
                    "if is_broadcast(beside):",
                    *(f"    {line}" for line in ungrouped_body(scope, task.op)),
                    *lines,
                ]
        except GhcmError as error:  # what Spark cannot do stands somewhere in the program
            error.place = error.place or SourceLine(task.origin)
            raise
    if lines[-1] == "return rows" and len(lines) > 1 and lines[-2].startswith("rows = "):
        lines = [*lines[:-2], f"return {lines[-2].removeprefix('rows = ')}"]
    return [*_parameters(names), *lines]


def _columns(scope: Scope, task: Task) -> set[str]:
    """The columns around the expressions of a task, and those between its stages."""
    elements = [side.columns for side in scope.sides]
    if isinstance(task.op, Fused):
        elements += [stage.element for stage in task.op.stages if isinstance(stage.element, Struct)]
    return {"key", "value", "window", "left", "right", "before", "after", *(n for each in elements for n in each.names)}


def _parameters(names: Names) -> list[str]:
    return [f"{local_name(name)} = job.given[{quote(name)}]" for name in sorted(names.parameters)]


def _call(names: dict[str, str], task: Task, known: Mapping[str, str] = _NOTHING, further: Iterable[str] = ()) -> str:
    given = [known.get(id) or _variable(names, id) for id in [*(edge.producer for edge in task.inputs), *further]]
    return f"{names[task.id]}({', '.join(['job', *given])})"


def _function_names(tasks: tuple[Task, ...], schemas: Schemas) -> dict[str, str]:
    """A function for each task; nothing else in the job has such a name."""
    names: dict[str, str] = {}
    others = schemas.taken | set(keyword.kwlist) | set(dir(builtins))
    for task in tasks:
        plain = identifier(task.id)
        odd = plain in others or plain.startswith("rows_") or plain.isupper()
        names[task.id] = fresh(f"{plain}_task" if odd else plain, names.values())
    return names


def _variable(names: dict[str, str], id: str) -> str:
    return f"{names[id]}_rows"


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


# --- hidden columns --------------------------------------------------------------------------------------------------
# Event time is carried only where a later task asks for it, so that a job without windows has none of it. Watermarks
# are not: nothing is late in a batch unit.

_TIME = frozenset({TIME})


def live_tasks(unit: Unit, result: str | None = None) -> tuple[Task, ...]:
    """The tasks whose records reach an end, or the result of a step, in order."""
    live: set[str] = set()
    for task in reversed(unit.tasks):
        if traits_of(task.op).role.ends or task.id in live or task.id == result:
            live |= {task.id, *(edge.producer for edge in task.inputs)}
    return tuple(task for task in unit.tasks if task.id in live)


def hidden_columns(unit: Unit, result: str | None = None) -> dict[str, frozenset[str]]:
    """By task the hidden columns that its consumers need from it; `result` is the end of a step."""
    needed: dict[str, frozenset[str]] = {task.id: frozenset() for task in unit.tasks}
    for task in reversed(live_tasks(unit, result)):
        for edge, taken in zip(task.inputs, _from_inputs(unit, task, needed[task.id]), strict=True):
            timeless = not unit.task(edge.producer).collection.timed
            needed[edge.producer] |= frozenset[str]() if timeless else taken - {WATERMARK}
    return needed


def _from_inputs(unit: Unit, task: Task, given: frozenset[str]) -> list[frozenset[str]]:
    """What a task needs from each of its inputs to give those columns."""
    if isinstance(task.op, Iterate):
        inner = hidden_columns(step_unit(unit, task, task.op), task.op.result)
        return [frozenset(), *(inner[entry_of(index)] for index in range(1, len(task.inputs)))]
    return [_taken(task.op, given) | hidden_of_sessions(unit, task)] * len(task.inputs)


def _taken(op: Op, given: frozenset[str]) -> frozenset[str]:
    """What a task needs from its inputs to give those columns."""
    match op:
        case Sessions():  # which makes the others
            return traits_of(op).hidden
        case Fused(stages=stages):
            for stage in reversed(stages):
                given = hidden_before(stage.op, given) - {WATERMARK}
            return given
        case Join():
            return _TIME if op.by_time else given
        case AggregateByKey(aggregates=aggregates):
            return _placing(aggregates)
        case Publish(call=call):
            return _placing(each for _, each in call.arguments if isinstance(each, Aggregate))
        case _:  # the others read the same columns whatever their arguments are: their traits say it
            return hidden_before(op, given)


def _placing(aggregates: Iterable[Aggregate]) -> frozenset[str]:
    """What aggregates read that go by event time."""
    return _TIME if any(each.by_time for each in aggregates) else frozenset()
