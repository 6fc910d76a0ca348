"""Which columns tell where the rows of a group belong: the parts of a key that is a record, or the record as a whole.

Spark hashes and sorts columns faster than structs. But it knows only of columns that rows are in their place already:
whatever goes by one key has to divide it, or none of it.
"""

from collections.abc import Iterator

from ghcm.codegen.spark.library.sql import quoted, text
from ghcm.spg import ops, sequences
from ghcm.spg.graph import Task, Unit
from ghcm.spg.traits import TIME
from ghcm.types import Shape, Struct, Type

SESSION = "@session"
"""The hidden column with the number of a session among those of its key."""


def divided(name: str, type_: Type) -> dict[str, str]:
    """A column as SQL, or the parts of a record that is always there, and of such records in it; by names that say
    where they stand.

    >>> from ghcm.types import Field, Int, String
    >>> divided("key", Struct((Field("a", Int()), Field("end", String()))))
    {'key.a': 'key.a', 'key.end': 'key.`end`'}
    """
    return dict(_parts(name, quoted(name), type_))


def _parts(name: str, value: str, type_: Type) -> Iterator[tuple[str, str]]:
    if not isinstance(type_, Struct) or not type_.fields:
        yield name, value
        return
    for field in type_.fields:
        yield from _parts(f"{name}.{field.name}", f"{value}.{quoted(field.name)}", field.type)


def together(name: str, type_: Type) -> str:
    """The value of which these are the parts, which are columns."""
    if not isinstance(type_, Struct) or not type_.fields:
        return quoted(name)
    fields = (f"{text(each.name)}, {together(f'{name}.{each.name}', each.type)}" for each in type_.fields)
    return f"named_struct({', '.join(fields)})"


def divides(unit: Unit, task: Task) -> bool:
    """Whether a grouping, or sessions, goes by the parts of a key: whether all that goes by the same one can."""
    return not any(_goes_by_the_whole(unit, each) for each in _of_one_key(unit, task))


def key_of(unit: Unit, task: Task) -> dict[str, str]:
    """The columns of the key by which a task goes, as SQL by their names; none where it takes no pairs."""
    takes = unit.task(task.inputs[0].producer).collection
    if takes.shape is Shape.STREAM:
        return {}
    return divided("key", takes.pair[0]) if divides(unit, task) else {"key": "key"}


def sessions_of(unit: Unit, task: Task) -> Task | None:
    """The sessions that a task groups right behind them: by their numbers, as a row need not know when its own ends."""
    if not isinstance(task.op, ops.GroupOp):
        return None
    before = unit.task(task.inputs[0].producer)
    return before if isinstance(before.op, ops.Sessions) else None


def numbered(unit: Unit, sessions: Task) -> list[str]:
    """The columns that say to which session of which key a row belongs."""
    return [*key_of(unit, sessions), SESSION]


def hidden_of_sessions(unit: Unit, task: Task) -> frozenset[str]:
    """The hidden columns that a task needs which groups sessions; any other needs none."""
    sessions = sessions_of(unit, task)
    return frozenset() if sessions is None else frozenset({TIME, *numbered(unit, sessions)} - {"key"})


def _of_one_key(unit: Unit, task: Task) -> Iterator[Task]:
    """The tasks that go by the same key as one of them, and those beside them."""
    found, waiting = {task.id}, [task]
    while waiting:
        each = waiting.pop()
        yield each
        if each is task or _keeps_key(each.op):
            beside = [*(unit.task(edge.producer) for edge in each.inputs), *unit.consumers(each.id)]
            waiting += [other for other in beside if other.id not in found]
            found |= {other.id for other in beside}


def _keeps_key(op: ops.Op) -> bool:
    if isinstance(op, ops.Fused):
        return all(_keeps_key(stage.op) for stage in op.stages)
    return isinstance(op, ops.GroupOp | ops.Sessions | ops.Filter | ops.MapValues | ops.Window | ops.Union)


def _goes_by_the_whole(unit: Unit, task: Task) -> bool:
    match task.op:
        case ops.Join(by_key=by_key):
            return by_key
        case ops.Sessions():
            return not all(isinstance(each.op, ops.GroupOp) for each in unit.consumers(task.id))
        case _:  # what goes through the values of a key names it as it stands
            return isinstance(task.op, ops.Latest | sequences.SequenceOp)
