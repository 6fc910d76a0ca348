"""Which texts of Parquet files are checked as UTF-8 once for each group, instead of once for each row.

Keys are equal where their bytes are. So a text in a key is the same in all rows of a group, and either all of them are
records or none is. Who looks at groups alone misses nothing where nothing on the way from the files drops a row, fails,
or does more with the text than to hand it on, and where nothing else comes to these groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ghcm.codegen.blocks import Bind, Step, block_of, is_guard, steps_of
from ghcm.codegen.spark.aggregate_inputs import read_columns
from ghcm.codegen.spark.library.sql import quoted
from ghcm.expr import Expr, Get, MakeStruct, Var, free_names, substitute
from ghcm.failing import can_fail
from ghcm.folding import applied, folded
from ghcm.spg.connectors import Files
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Fused, GroupOp, RowOp, Source, Union
from ghcm.types import Shape, String, Struct, strip


@dataclass(frozen=True, slots=True)
class GroupChecks:
    """The `texts` in the key of a group that are checked there, as SQL, and by source the columns that they are."""

    texts: Sequence[str]
    columns: Mapping[str, Sequence[str]]


NO_CHECKS = GroupChecks((), {})


def group_checks(unit: Unit) -> dict[str, GroupChecks]:
    """What is checked of groups, by the tasks that make them and by the sources of their rows."""
    found: dict[str, GroupChecks] = {}
    for task in unit.tasks:
        if isinstance(task.op, GroupOp) and unit.task(task.inputs[0].producer).collection.shape is not Shape.STREAM:
            checks = _of_group(unit, task, task.op)
            found |= dict.fromkeys([task.id, *checks.columns], checks) if checks.texts else {}
    return found


def _of_group(unit: Unit, task: Task, op: GroupOp) -> GroupChecks:
    given: dict[str, dict[str, str]] = {}
    for source, steps in _ways(unit, task.inputs[0].producer):
        if source is None:
            return NO_CHECKS
        given[source.id] = _texts_of_key(source, steps, op)
    first, *others = given.values()
    texts = [text for text in first if all(text in each for each in others)]
    return GroupChecks(texts, {source: [columns[text] for text in texts] for source, columns in given.items()})


def _ways(unit: Unit, id: str, steps: tuple[Step, ...] = ()) -> Iterator[tuple[Task | None, tuple[Step, ...]]]:
    """The Parquet files from which rows of a task come to one reader alone, and the steps that they take up to it; None
    for rows that come from elsewhere.
    """
    task, op = unit.task(id), unit.task(id).op
    if len(unit.consumers(id)) > 1:
        yield None, steps
    elif isinstance(op, Source) and isinstance(op.connector, Files) and op.connector.format.name == "parquet":
        yield task, steps
    elif isinstance(op, RowOp | Fused | Union):
        for edge in task.inputs:
            own = steps_of(task, unit.task(edge.producer).collection.element)
            yield from _ways(unit, edge.producer, (*own, *steps))
    else:  # it has rows of its own, or sees them together
        yield None, steps


def _texts_of_key(source: Task, steps: Sequence[Step], op: GroupOp) -> dict[str, str]:
    """The columns of a source that are texts of the key behind these steps, by where they stand in it, as SQL."""
    element = source.collection.element
    gives = _handed_on(steps)
    if gives is None or not isinstance(element, Struct) or element.cases or element.needs:
        return {}
    reads = [gives["key"], gives["value"]]
    if isinstance(op, AggregateByKey):
        functions = [function for each in op.aggregates for _, function in read_columns(each)]
        reads += [applied(function, gives["value"]) for function in functions]
    if any(map(can_fail, reads)):
        return {}
    worked_on = frozenset[str]().union(*map(_worked_on, reads))
    texts = {each.name for each in element.fields if strip(each.type) == String()} - worked_on
    return {place: column for place, column in _places(gives["key"], "key") if column in texts}


def _handed_on(steps: Sequence[Step]) -> Mapping[str, Expr] | None:
    """What steps give by the columns of what they take; None where they drop records, or may fail."""
    if not steps:
        return None
    block, known = block_of(steps), dict[str, Expr]()
    for line in block.lines:
        if not isinstance(line, Bind) or is_guard(line):
            return None
        known[line.name] = substitute(line.value, known)
    return {name: folded(substitute(value, known)) for name, value in block.gives.items()}


def _worked_on(expr: Expr) -> frozenset[str]:
    """The columns with which an expression does more than to hand them on."""
    match expr:
        case Var():
            return frozenset()
        case Get(of=of):
            return _worked_on(of)
        case MakeStruct(values=values):
            return frozenset[str]().union(*map(_worked_on, values))
        case _:  # whatever it makes of them
            return free_names(expr)


def _places(expr: Expr, place: str) -> Iterator[tuple[str, str]]:
    """Where columns stand in a value, as SQL, and their names."""
    of = strip(expr.type)
    if isinstance(expr, Var):
        yield place, expr.name
    elif isinstance(expr, MakeStruct) and isinstance(of, Struct):
        for name, value in zip(of.names, expr.values, strict=True):
            yield from _places(value, f"{place}.{quoted(name)}")
