"""Live upgrade: what an edit of a program comes to, part by part, and what keeps a program that runs from taking it.

A version is what a bundle holds: graphs, generated code, Python modules; where in the file a thing stands plays no
part. Responsive units and the publish policies of the others can change. A unit that runs by itself keeps its state and
its positions only as long as every other task of it, and every sink that it uses, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import cast

from ghcm.errors import GhcmError
from ghcm.expr import Expr, Lambda, numbered, numbered_function
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.pubsub.connections import topic_of
from ghcm.source import Origin
from ghcm.spg.connectors import Kafka, Mode, Table
from ghcm.spg.graph import Program, Sink, Task, Unit
from ghcm.spg.labels import summary
from ghcm.spg.ops import Join, Publish, PythonOp, ReadSink, Source, To
from ghcm.spg.sequences import Process
from ghcm.types import Type

Since = Mapping[str, Mapping[str, int]]
"""By unit and policy the version of the program in which the policy began; what is not named began with the first."""


FRESH = "reads everything again, and appends it to what is there"
"""What beginning anew does, as messages have it: who is advised to do so has to know."""


class Kind(Enum):
    """What becomes of a part."""

    KEPT = "kept"
    ADDED = "added"
    SWAPPED = "swapped"
    DROPPED = "dropped"


class Part(Enum):
    """What a program consists of, as far as it is kept, added, swapped or dropped as a whole."""

    UNIT = "unit"
    POLICY = "policy"
    SINK = "sink"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one part. `unit`: the unit of a policy, else empty; `note`: what a user should know of it."""

    kind: Kind
    part: Part
    name: str
    note: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that cannot be changed while the program runs, and where it stands. `resumable`: it can be once the
    program has stopped, and no state is lost.
    """

    message: str
    origin: Origin | None = None
    resumable: bool = False

    def __str__(self) -> str:
        return self.message if self.origin is None else f"{self.message} ({self.origin})"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The changes from one version of a program to another, and the obstacles to making them while it runs."""

    changes: tuple[Change, ...]
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether the versions are the same."""
        return not self.obstacles and all(change.kind is Kind.KEPT for change in self.changes)

    def since(self, before: Since, version: int) -> dict[str, dict[str, int]]:
        """In which version each policy began, given that before: one that is not kept as it was begins with this
        version.
        """
        found: dict[str, dict[str, int]] = {}
        for change in self.changes:
            if change.part is not Part.POLICY or change.kind is Kind.DROPPED:
                continue
            began = before.get(change.unit, {}).get(change.name, 1) if change.kind is Kind.KEPT else version
            if began > 1:
                found.setdefault(change.unit, {})[change.name] = began
        return found

    def document(self) -> dict[str, object]:
        """As JSON."""
        changes = [
            {
                "change": each.kind.value,
                "part": each.part.value,
                "unit": each.unit,
                "name": each.name,
                "note": each.note,
            }
            for each in self.changes
        ]
        obstacles = [
            {"message": each.message, "place": each.origin and str(each.origin), "resumable": each.resumable}
            for each in self.obstacles
        ]
        return {"changes": changes, "obstacles": obstacles}

    def refusal(self, program: str, job: str) -> GhcmError:
        """The error that says why the edit cannot be taken while the job runs."""
        told = "; ".join(str(each) for each in self.obstacles)
        resumable = all(each.resumable for each in self.obstacles)
        way = (
            f"ghcm stop {program}, then ghcm submit --resume goes on from its last snapshot."
            if resumable
            else f"undo that part of the edit; or ghcm stop {program}, then ghcm submit --fresh {FRESH}."
        )
        return GhcmError(
            f'program "{program}" runs as job "{job}", and this edit needs more than it can take while it runs',
            code="GHCM-608",
            detail=f"{told[:1].upper()}{told[1:]}.",
            hint=f"responsive units and publish policies can be changed in a running program; for the rest, {way}",
        )


Found = Iterator[Change | Obstacle]


def compare(before: Version, after: Version) -> Upgrade:
    """What becomes of every unit, policy, sink and cache, in the order of the program; and every obstacle."""
    found = [*_units(before, after), *_sinks(before.program, after.program), *_caches(before.program, after.program)]
    return Upgrade(
        tuple(each for each in found if isinstance(each, Change)),
        tuple(each for each in found if isinstance(each, Obstacle)),
    )


def policies(unit: Unit) -> dict[str, Task]:
    """The publish policies of a unit by id."""
    return {task.id: task for task in unit.tasks if isinstance(task.op, Publish)}


def without_policies(unit: Unit) -> dict[str, Task]:
    """The other tasks of a unit by id."""
    return {task.id: task for task in unit.tasks if not isinstance(task.op, Publish)}


def alike(before: object, after: object) -> bool:
    """Whether two parts of programs are the same, whatever the parameters of their functions are called."""
    return before == after or _numbered(before) == _numbered(after)


def _numbered(part: object) -> object:
    match part:
        case Lambda():
            return numbered_function(part)
        case tuple():
            return tuple(map(_numbered, cast("tuple[object, ...]", part)))
        case dict():
            return {key: _numbered(value) for key, value in cast("dict[object, object]", part).items()}
        case _ if isinstance(part, Expr):
            return numbered(part)
        case _ if is_dataclass(part) and not isinstance(part, type):
            parts = {each.name: _numbered(getattr(part, each.name)) for each in fields(part) if each.init}
            return replace(part, **parts)
        case _:
            return part


def _units(before: Version, after: Version) -> Found:
    old = {unit.name: unit for unit in before.program.units}
    new = {unit.name: unit for unit in after.program.units}
    for name, unit in new.items():
        if name not in old and unit.responsive:
            yield Change(Kind.ADDED, Part.UNIT, name, f"responsive {unit.kind}, can be called now")
        elif name not in old:
            yield Obstacle(f'unit "{name}" is new, and it is {_nature(unit)}', unit.origin)
        elif _nature(old[name]) != _nature(unit):
            yield Obstacle(f'unit "{name}" was {_nature(old[name])} and is {_nature(unit)}', unit.origin)
        else:
            yield from (_responsive if unit.responsive else _standing)(before, after, name)
    for name, unit in old.items():
        if name not in new and unit.responsive:
            yield Change(Kind.DROPPED, Part.UNIT, name, "calls under way are finished, those that wait are failed")
        elif name not in new:
            yield Obstacle(f'unit "{name}" is gone, and it was {_nature(unit)}', unit.origin)


def _nature(unit: Unit) -> str:
    return f"a responsive {unit.kind} unit" if unit.responsive else f"a {unit.kind} unit that runs by itself"


def _responsive(before: Version, after: Version, name: str) -> Found:
    old, new = before.program.unit(name), after.program.unit(name)
    if topic_of(before.program, old) != topic_of(after.program, new):
        yield Obstacle(f'unit "{name}" listens to another cache', new.origin)
    elif (
        not alike(old, new)
        or not alike(before.plan.unit(name), after.plan.unit(name))
        or _code_differs(before, after, name)
    ):
        parameters = "" if old.parameters == new.parameters else ", other parameters"
        yield Change(
            Kind.SWAPPED, Part.UNIT, name, f"responsive {new.kind}{parameters}; calls under way finish as they were"
        )
    else:
        yield Change(Kind.KEPT, Part.UNIT, name, f"responsive {new.kind}")


def _code_differs(before: Version, after: Version, name: str) -> bool:
    python = before.python != after.python and _has_python(after.program.unit(name))
    return python or before.code[name] != after.code[name]


def _has_python(unit: Unit) -> bool:
    return any(isinstance(task.op, PythonOp | Process) for task in unit.tasks)


def _standing(before: Version, after: Version, name: str) -> Found:
    """A unit that runs by itself: batch units have run already, stream units may change their policies."""
    old, new = before.program.unit(name), after.program.unit(name)
    obstacles = [*_tasks(old, new), *_code(before, after, name)]
    if new.kind == "batch":
        if obstacles or not alike(old, new):
            yield Obstacle(f'unit "{name}" has changed, and it has been started by itself', new.origin)
        else:
            yield Change(Kind.KEPT, Part.UNIT, name, new.kind)
        return
    yield Change(Kind.KEPT, Part.UNIT, name, new.kind)
    yield from _policies(old, new)
    yield from obstacles or _layout(before.plan.unit(name), after.plan.unit(name))


def _tasks(old: Unit, new: Unit) -> Iterator[Obstacle]:
    before, after = without_policies(old), without_policies(new)
    for id, task in after.items():
        if id not in before:
            yield Obstacle(f'task "{id}" of unit "{new.name}" is new: {summary(task.op)}', task.origin)
        elif not alike(_unforgiving(before[id]), _unforgiving(task)):
            yield Obstacle(
                f'task "{id}" of unit "{new.name}" has changed: {_difference(before[id], task)}', task.origin
            )
        elif not alike(before[id], task):
            message = f'task "{id}" of unit "{new.name}" does something else about what its source no longer has'
            yield Obstacle(message, task.origin, resumable=True)
    for id, task in before.items():
        if id not in after:
            yield Obstacle(f'task "{id}" of unit "{old.name}" is gone: {summary(task.op)}', task.origin)


def _unforgiving(task: Task) -> Task:
    """The task with a source that fails where rows are gone or were taken back: no position depends on what it does."""
    match task.op:
        case Source(connector=Kafka() as topic):
            return replace(task, op=replace(task.op, connector=replace(topic, lost="fail")))
        case Source(connector=Table() as table):
            return replace(task, op=replace(task.op, connector=replace(table, rewrites="fail")))
        case _:  # the others know nothing of that
            return task


def _difference(old: Task, new: Task) -> str:
    was, is_ = summary(old.op), summary(new.op)
    if was != is_:
        return f"it was {was} and is {is_}"
    if [edge.producer for edge in old.inputs] != [edge.producer for edge in new.inputs]:
        came, comes = (" and ".join(f'"{edge.producer}"' for edge in task.inputs) for task in (old, new))
        return f"it read from {came} and reads from {comes}"
    return (
        f"it gave {old.collection.element} and gives {new.collection.element}"
        if old.collection != new.collection
        else was
    )


def _code(before: Version, after: Version, name: str) -> Iterator[Obstacle]:
    new = after.program.unit(name)
    if before.python != after.python and _has_python(new):
        names = sorted(
            path.removeprefix("python/") for path, _ in set(before.python.items()) ^ set(after.python.items())
        )
        files = " and ".join(f'"{path}"' for path in dict.fromkeys(names))
        yield Obstacle(f'unit "{name}" uses Python, and {files} has changed', new.origin)
    if before.code[name] != after.code[name]:
        yield Obstacle(f'the generated code of unit "{name}" was made by another GHCM or was edited', new.origin)


def _layout(old: Unit, new: Unit) -> Iterator[Obstacle]:
    """The optimiser may lay tasks out otherwise, by options or as a policy reads: what a join has kept may not fit."""
    before, after = without_policies(old), without_policies(new)
    options = alike(policies(old), policies(new))
    why = "with other instances or passes of the optimiser" if options else "since a policy reads other tasks"
    for id, task in after.items():
        if alike(before.get(id), task):
            continue
        keeps_others = isinstance(task.op, Join) and id in before and _taken(old, before[id]) != _taken(new, task)
        does = "keep other columns" if keeps_others else "run in another form"
        yield Obstacle(f'task "{id}" of unit "{new.name}" would {does}, {why}', task.origin, resumable=not keeps_others)


def _taken(unit: Unit, task: Task) -> list[Type]:
    """The types of the records that a task takes."""
    return [unit.task(edge.producer).collection.element for edge in task.inputs]


def _policies(old: Unit, new: Unit) -> Found:
    before, after = policies(old), policies(new)
    notes = {
        Kind.KEPT: "goes on counting",
        Kind.ADDED: "counts from now on",
        Kind.SWAPPED: "counts anew",
        Kind.DROPPED: "what it had counted is forgotten",
    }
    for id, kind in _kinds(before, after):
        does = f"{summary(after[id].op)}; " if kind in (Kind.ADDED, Kind.SWAPPED) else ""
        yield Change(kind, Part.POLICY, id, does + notes[kind], new.name)


def _kinds(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[tuple[str, Kind]]:
    """What becomes of the parts of these names, those that are gone at the end."""
    for name, part in after.items():
        yield name, Kind.ADDED if name not in before else Kind.KEPT if alike(before[name], part) else Kind.SWAPPED
    yield from ((name, Kind.DROPPED) for name in before if name not in after)


def _sinks(before: Program, after: Program) -> Found:
    old, new = {sink.name: sink for sink in before.sinks}, {sink.name: sink for sink in after.sinks}
    notes = {Kind.DROPPED: "what it holds stays where it is", Kind.SWAPPED: "its next version has other columns"}
    for name, kind in _kinds(old, new):
        used = _used(before, name) or _used(after, name)
        if kind is Kind.SWAPPED and (used or not _replaceable(old[name], new[name])):
            difference = _sink_difference(old[name], new[name])
            yield Obstacle(f'sink "{name}" has changed: {difference}', new[name].origin)
            continue
        yield Change(kind, Part.SINK, name, notes.get(kind, ""))


def _replaceable(old: Sink, new: Sink) -> bool:
    """Whether only the type of a content differs that the next version replaces as a whole."""
    return (old.connector, old.mode, new.mode) == (new.connector, Mode.REPLACE, Mode.REPLACE)


def _used(program: Program, sink: str) -> bool:
    """Whether a unit that runs by itself uses it."""
    ops = (task.op for unit in program.units if not unit.responsive for task in unit.tasks)
    return any(isinstance(op, To | ReadSink) and op.sink == sink for op in ops)


def _sink_difference(old: Sink, new: Sink) -> str:
    parts: list[tuple[str, Callable[[Sink], object]]] = [
        ("its place", lambda sink: sink.connector),
        ("its mode", lambda sink: sink.mode),
        ("its key", lambda sink: sink.key),
        ("its columns", lambda sink: sink.element),
    ]
    return " and ".join(name for name, part in parts if not alike(part(old), part(new)))


def _caches(before: Program, after: Program) -> Found:
    """A unit that listens to one before and after says so itself."""
    old, new = {cache.name: cache for cache in before.caches}, {cache.name: cache for cache in after.caches}
    for name, kind in _kinds(old, new):
        yield Change(kind, Part.CACHE, name)


@dataclass(frozen=True, slots=True)
class Version:
    """`program` as written, `plan` as optimised; by unit what its code was made by, or the digest of code that was
    edited; the digests of the Python modules.
    """

    program: Program
    plan: Program
    code: Mapping[str, str]
    python: Mapping[str, str]


def version_of(bundle: Bundle) -> Version:
    """The version that a bundle holds."""
    # The same graph gives the same code but for the lines that it cites, so code is compared where that may not hold.
    made_by = f"ghcm {bundle.manifest.ghcm}"
    code = {
        each.name: " ".join(bundle.digest(path) for path in each.modules.values() if path in bundle.edited) or made_by
        for each in bundle.manifest.units
    }
    python = {name: bundle.digest(name) for name in bundle.manifest.files if name.startswith("python/")}
    return Version(bundle.program, bundle.plan, code, python)
