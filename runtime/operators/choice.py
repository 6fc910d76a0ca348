"""Which operator runs a task."""

from __future__ import annotations

from typing import TypeVar, assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.contract import Context, Operator
from ghcm.runtime.native.code import (
    GroupCode,
    IterateCode,
    JoinCode,
    OrderCode,
    PolicyCode,
    RowCode,
    TaskCode,
    TimeCode,
)
from ghcm.runtime.operators.chain import ChainOperator, UnionOperator
from ghcm.runtime.operators.distinct import DistinctOperator
from ghcm.runtime.operators.event_time import EventTimeOperator, ProcessingTimeOperator
from ghcm.runtime.operators.groups import GroupOperator
from ghcm.runtime.operators.iterate import IterateOperator
from ghcm.runtime.operators.join import JoinOperator
from ghcm.runtime.operators.lookup import LookupOperator
from ghcm.runtime.operators.ordering import OrderOperator, WindowTopOperator
from ghcm.runtime.operators.publish import PublishOperator
from ghcm.runtime.operators.python_batch import PythonBatchOperator
from ghcm.runtime.operators.tables import ChangesOperator, FinalOperator
from ghcm.spg import ops
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import is_lookup

C = TypeVar("C")


def choose(task: Task, unit: Unit, code: TaskCode | None, context: Context) -> Operator:
    """As `ghcm.runtime.operators.build`."""
    op = task.op
    if isinstance(op, ops.RowOp | ops.Fused):
        return ChainOperator(task, unit, _code(task, code, RowCode), context)
    match op:
        case ops.EventTime():
            return EventTimeOperator(task, op, unit, _code(task, code, TimeCode), context)
        case ops.ArrivalTime():
            return ProcessingTimeOperator(task, unit, context)
        case ops.PythonBatch():
            return PythonBatchOperator(task, op, unit, context)
        case ops.Union():
            return UnionOperator(task)
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            return GroupOperator(task, op, unit, _code(task, code, GroupCode), context)
        case ops.Changes(final=final):
            return FinalOperator(task, context) if final else ChangesOperator(task, context)
        case ops.Distinct():
            return DistinctOperator(task, unit, context)
        case ops.Sort() | ops.Top():
            if isinstance(op, ops.Top) and task.collection.windowed:
                return WindowTopOperator(task, op, unit, _code(task, code, OrderCode), context)
            return OrderOperator(task, op, unit, _code(task, code, OrderCode), context)
        case ops.Join():
            sides = [unit.task(edge.producer).collection for edge in task.inputs]
            join = LookupOperator if is_lookup(*sides) else JoinOperator
            return join(task, op, unit, _code(task, code, JoinCode), context)
        case ops.Iterate():
            return IterateOperator(task, op, unit, _code(task, code, IterateCode), context, choose)
        case ops.Sessions():
            raise GhcmError(f'the native engine has no sessions yet, and "{task.id}" needs them', code="GHCM-501")
        case ops.Publish():
            return PublishOperator(task, op, unit, _code(task, code, PolicyCode), context)
        case ops.Source() | ops.ReadSink() | ops.ReadTable() | ops.To() | ops.Reply():
            raise ValueError(f'the engine itself does "{task.id}": it meets the world outside')
        case _:
            assert_never(op)


def _code(task: Task, code: TaskCode | None, kind: type[C]) -> C:
    if not isinstance(code, kind):
        raise GhcmError(
            f'the generated module has no {kind.__name__} for task "{task.id}"',
            code="GHCM-614",
            hint="Build the bundle again, or give the table `TASKS` its entry back.",
        )
    return code
