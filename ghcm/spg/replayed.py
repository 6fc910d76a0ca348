"""The part of a stream unit through which records run again that a task of it had refused: the task and what is behind.

Only what takes each record by itself is such a part. What keeps state, or goes by time, belongs to the unit that runs.
"""

from collections.abc import Iterator
from dataclasses import replace

from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Files, Format, Kafka, Mode, Socket, SqlQuery, Table
from ghcm.spg.graph import Forward, Input, Program, Sink, Task, Unit
from ghcm.spg.ops import EventTime, Publish, ReadSink, ReadTable, Source, To, Window
from ghcm.spg.traits import State, Time, traits_of
from ghcm.types import Shape

LETTERS = "letters~0"
"""The sink that what comes from within a unit is read from; no program has one of that name."""

_JSON = ("json", "parquet", "arrow")


def obstacle(program: Program, unit: str, task: str) -> str:
    """Why what a task has refused cannot run through it again, as a clause; empty where it can."""
    found = next((each for each in program.units if each.name == unit), None)
    if found is None or task not in [each.id for each in found.tasks]:
        return "the program has no such task any more"
    if found.kind == "batch" or found.responsive:
        return "it is called, and a call takes its input as a whole: call it again"
    refused = found.task(task)
    if isinstance(refused.op, Source) and not _is_json(refused.op.connector):
        return "a text of what it reads is not all of the record"
    return next((why for each in _behind(found, task) if (why := _keeps(found, each))), "")


def replayed(program: Program, unit: str, task: str, connector: Connector) -> Program:
    """The program of what a task of a unit has refused and of all that is behind it. A source reads the `connector`;
    what any other task takes is read from the sink `LETTERS`, which is the connector. `obstacle` says where that cannot
    be.
    """
    old = program.unit(unit)
    behind = {each.id: each for each in _behind(old, task)}
    made = dict[str, Task]()
    sinks = [sink for sink in program.sinks if any(_writes(each, sink) for each in behind.values())]
    if isinstance(old.task(task).op, Source):
        behind[task] = replace(behind[task], op=Source(connector))
    else:
        takes = old.task(old.task(task).inputs[0].producer).collection
        gives = replace(takes, bounded=True, timed=False)
        made[LETTERS] = Task(LETTERS, ReadSink(LETTERS), (), gives, behind[task].origin)
        sinks.append(Sink(LETTERS, connector, Mode.APPEND, None, takes.element, Origin("", 0, 0)))
    for each in behind.values():
        producers = [edge.producer for edge in each.inputs if edge.producer in made] or [*made][:1]
        inputs = tuple(Input(name, Forward()) for name in producers)
        timed = traits_of(each.op).time is Time.DECLARES or any(made[name].collection.timed for name in producers)
        gives = replace(each.collection, bounded=True, timed=timed)
        made[each.id] = replace(each, inputs=inputs, collection=gives, parallelism=1)
    return Program(program.name, (), tuple(sinks), (replace(old, tasks=tuple(made.values())),))


def _behind(unit: Unit, first: str) -> Iterator[Task]:
    """A task and all that take what comes of it, in order."""
    reached = {first}
    for task in unit.tasks:
        if task.id == first or any(edge.producer in reached for edge in task.inputs):
            reached.add(task.id)
            yield task


def _keeps(unit: Unit, task: Task) -> str:
    """Why a task takes records in the unit that runs alone, as a clause; empty where it does not."""
    takes = [unit.task(edge.producer).collection for edge in task.inputs]
    match task.op:
        case Window():
            return f'"{task.id}" puts records into windows, which are closed'
        case Publish():
            return f'"{task.id}" counts records until it calls "{task.op.call.unit}"'
        case ReadSink() | ReadTable():
            return f'"{task.id}" reads what is stored, and stays there'
        case EventTime():
            return ""
        case op if traits_of(op).state is not State.NONE or traits_of(op).time is Time.DECLARES:
            return f'"{task.id}" keeps state, which is in the unit that runs'
        case _ if any(each.shape is Shape.TABLE or each.windowed for each in takes):
            return f'"{task.id}" takes results, which have changed since'
        case _:  # each record by itself
            return ""


def _writes(task: Task, sink: Sink) -> bool:
    return isinstance(task.op, To) and task.op.sink == sink.name


def _is_json(connector: Connector) -> bool:
    """Whether the letters of a source are the text of one JSON object each."""
    match connector:
        case Files(format=Format(name=name)):
            return name in _JSON
        case Kafka(format=Format(name=name), fields=()) | Socket(format=Format(name=name)):
            return name == "json"
        case _:
            return isinstance(connector, Table | SqlQuery)
