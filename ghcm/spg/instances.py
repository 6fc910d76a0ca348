"""A unit in several instances of its tasks: what may be divided, and how records come to the instances then.

Three laws. Keyed state hashes: a task that keeps something of each key is divided by the key groups that its inputs are
dealt out by. Sources split: each instance reads some of the partitions, and what keeps the order of a partition stays
beside it. Order is kept where it was promised: records are never dealt out anew for speed alone. How many instances are
worth it is decided by whoever asks.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ghcm.spg.connectors import divides
from ghcm.spg.graph import Exchange, Forward, Global, Hash, Input, Task, Unit
from ghcm.spg.joining import is_lookup
from ghcm.spg.ops import Changes, Join, Op, Source
from ghcm.spg.stages import unites
from ghcm.spg.traits import Role, Together, traits_of
from ghcm.types import Int, Int32, Struct, Type, strip


def in_instances(unit: Unit, wanted: Callable[[Task], int]) -> Unit:
    """The unit with as many instances of each task as are wanted of it, or 1 where it cannot be divided; row operations
    have as many as the task before them. The same unit where nothing changes, and what is called stays as it is.
    """
    if unit.responsive or unit.kind == "batch":
        return unit
    done: dict[str, Task] = {}
    for task in unit.tasks:
        before = [done[edge.producer] for edge in task.inputs]
        count = _count(unit, task, before, wanted)
        inputs = tuple(_input(task.op, edge, each, count) for edge, each in zip(task.inputs, before, strict=True))
        same = count == task.parallelism and inputs == task.inputs
        done[task.id] = task if same else replace(task, parallelism=count, inputs=inputs)
    same = all(new is old for new, old in zip(done.values(), unit.tasks, strict=True))
    return unit if same else replace(unit, tasks=tuple(done.values()))


def obstacle(unit: Unit, task: Task) -> str:
    """Why a task cannot have several instances, whatever stands before it; empty where it can."""
    return next(_obstacles(unit, task), "")


def _obstacles(unit: Unit, task: Task) -> Iterator[str]:
    traits = traits_of(task.op)
    if isinstance(task.op, Source) and not divides(task.op.connector):
        yield "its source is one partition, or cannot be read in parts"
    elif traits.role is Role.SOURCE and not isinstance(task.op, Source):
        yield "it reads one version of a sink or table"
    elif traits.role.ends:
        yield "one writer commits, and one counter counts what a policy publishes"
    elif isinstance(task.op, Join) and is_lookup(*(unit.task(edge.producer).collection for edge in task.inputs)):
        yield "a lookup keeps the order of its left records"
    elif not (_stays(task.op) or _hashes(unit, task)):
        yield "all of its records have to meet"


def _stays(op: Op) -> bool:
    """Whether each of its instances takes what the one before it gives."""
    return traits_of(op).exchange is Together.NONE or (isinstance(op, Changes) and op.final)


def hashed(exchange: Hash, schema: Struct) -> tuple[str, ...]:
    """The columns of a record that decide where it goes: of a key in a window the key alone, lest its windows be
    apart; where none are named, all.
    """
    return ("key",) if "key" in exchange.columns else exchange.columns or schema.names


def _hashes(unit: Unit, task: Task) -> bool:
    """Whether its records meet by key, on all sides by the same one."""
    keys: list[list[Type]] = []
    for edge in task.inputs:
        if not isinstance(edge.exchange, Hash):
            return False
        schema = unit.task(edge.producer).schema
        names = hashed(edge.exchange, schema)
        if traits_of(task.op).exchange is not Together.EQUAL and names != ("key",):
            return False
        keys.append([_of_hash(schema.field_of(name).type) for name in names])
    return all(each == keys[0] for each in keys)


def _of_hash(type_: Type) -> Type:
    """Types whose equal values have one key group are one."""
    plain = strip(type_)
    return Int() if isinstance(plain, Int32) else plain


def _count(unit: Unit, task: Task, before: list[Task], wanted: Callable[[Task], int]) -> int:
    if obstacle(unit, task):
        return 1
    if unites(task.op):  # an instance needs something to read
        return max(1, min(wanted(task), sum(each.parallelism for each in before)))
    return before[0].parallelism if before and _stays(task.op) else max(1, wanted(task))


def _input(op: Op, edge: Input, producer: Task, count: int) -> Input:
    """Together in one instance goes what comes from several, and as it was what goes from one to one."""
    exchange: Exchange = edge.exchange
    if count == 1 and isinstance(exchange, Forward) and producer.parallelism > 1 and not unites(op):
        exchange = Global()
    return edge if exchange is edge.exchange else replace(edge, exchange=exchange)
