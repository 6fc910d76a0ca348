"""The operators of the native engine, and the total choice among them: which one runs a task."""

from collections.abc import Callable
from typing import TypeVar, assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.contract import Context, Operator
from ghcm.runtime.native import code as codes
from ghcm.runtime.operators.chunks import ChunksOperator
from ghcm.runtime.operators.distinct import DistinctOperator
from ghcm.runtime.operators.event_time import EventTimeOperator, ProcessingTimeOperator
from ghcm.runtime.operators.groups import GroupOperator
from ghcm.runtime.operators.in_time_order import (
    AbsentOperator,
    PrecedingOperator,
    PresentOperator,
    ScanOperator,
    VersionsOperator,
)
from ghcm.runtime.operators.iterate import IterateOperator
from ghcm.runtime.operators.join import JoinOperator, LookupJoinOperator
from ghcm.runtime.operators.ordering import OrderOperator, WindowTopOperator
from ghcm.runtime.operators.processing import ProcessOperator
from ghcm.runtime.operators.publish import PublishOperator
from ghcm.runtime.operators.revised_groups import RevisedDistinctOperator, RevisedGroupsOperator
from ghcm.runtime.operators.revised_join import RevisedJoinOperator
from ghcm.runtime.operators.rows import ChainOperator, PythonAsyncOperator, PythonBatchOperator, UnionOperator
from ghcm.runtime.operators.sessions import SessionsOperator
from ghcm.runtime.operators.stream_as_of import StreamAsOfOperator
from ghcm.runtime.operators.stream_join import StreamJoinOperator
from ghcm.runtime.operators.stream_sessions import StreamSessionsOperator
from ghcm.runtime.operators.tables import (
    ChangesOperator,
    FinalOperator,
    ForgettingOperator,
    LatestOperator,
    RevisionsOperator,
)
from ghcm.spg import ops, sequences
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import is_endless, is_lookup, is_revised
from ghcm.spg.stages import event_time_of
from ghcm.types import Collection

__all__ = ["build"]

C = TypeVar("C")


def build(task: Task, unit: Unit, code: codes.TaskCode | None, context: Context) -> Operator:
    """The operator of a task. `code` is the entry of the generated module for it; None for tasks that need none."""
    op = task.op
    if isinstance(op, ops.ChainOp | ops.Fused):
        if (clock := event_time_of(op)) is not None:
            return EventTimeOperator(task, clock, unit, _code(task, code, codes.TimeCode), context)
        return ChainOperator(task, unit, _code(task, code, codes.RowCode), context)
    match op:
        case ops.ArrivalTime():
            return ProcessingTimeOperator(task, unit, context)
        case ops.PythonBatch():
            return PythonBatchOperator(task, op, unit, context)
        case ops.PythonAsync():
            return PythonAsyncOperator(task, op, unit, context)
        case ops.Lookup():
            from ghcm.runtime.operators.lookup import LookupOperator  # with clients that few programs need

            return LookupOperator(task, op, unit, context)
        case ops.Union():
            return UnionOperator(task, unit, context)
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            changing = unit.task(task.inputs[0].producer).collection.changing
            kind = RevisedGroupsOperator if changing else GroupOperator
            return kind(task, unit, _code(task, code, codes.GroupCode), context)
        case ops.Forgetting():
            return ForgettingOperator(task, op, unit, _code(task, code, codes.GroupCode), context)
        case ops.Versions():
            return VersionsOperator(task, op, unit, _code(task, code, codes.GroupCode), context)
        case ops.Latest():
            return LatestOperator(task, op, unit, context)
        case ops.Revisions():
            return RevisionsOperator(task, unit, context)
        case ops.Changes(final=final):
            return (FinalOperator if final else ChangesOperator)(task, unit, context)
        case ops.Distinct():
            return (RevisedDistinctOperator if task.collection.changing else DistinctOperator)(task, unit, context)
        case ops.Sort() | ops.Top():
            if isinstance(op, ops.Top) and task.collection.windowed:
                return WindowTopOperator(task, op, unit, _code(task, code, codes.OrderCode), context)
            return OrderOperator(task, op, unit, _code(task, code, codes.OrderCode), context)
        case ops.Join():
            sides = [unit.task(edge.producer).collection for edge in task.inputs]
            return _joining(op, *sides)(task, op, unit, _code(task, code, codes.JoinCode), context)
        case ops.Iterate():
            return IterateOperator(task, op, unit, _code(task, code, codes.IterateCode), context, build)
        case ops.Sessions():
            return (StreamSessionsOperator if unit.kind == "stream" else SessionsOperator)(task, op, unit, context)
        case sequences.Preceding():
            return PrecedingOperator(task, op, unit, context)
        case sequences.Absent():
            return AbsentOperator(task, op, unit, context)
        case sequences.Present():
            return PresentOperator(task, op, unit, context)
        case sequences.Scan():
            return ScanOperator(task, op, unit, _code(task, code, codes.ScanCode), context)
        case sequences.Process():
            return ProcessOperator(task, op, unit, context)
        case sequences.Chunks():
            return ChunksOperator(task, op, unit, context)
        case ops.Publish():
            return PublishOperator(task, op, unit, _code(task, code, codes.PolicyCode), context)
        case ops.Source() | ops.ReadSink() | ops.ReadTable() | ops.To() | ops.Reply():
            raise ValueError(f'the engine itself does "{task.id}": it meets the world outside')
        case _:
            assert_never(op)


def _joining(
    op: ops.Join, left: Collection, right: Collection
) -> Callable[[Task, ops.Join, Unit, codes.JoinCode, Context], Operator]:
    if is_revised(left, right):
        return RevisedJoinOperator
    if is_endless(left, right):
        return StreamAsOfOperator if op.asof else StreamJoinOperator
    return LookupJoinOperator if is_lookup(left, right) else JoinOperator


def _code(task: Task, code: codes.TaskCode | None, kind: type[C]) -> C:
    if not isinstance(code, kind):
        raise GhcmError(
            f'the generated module has no {kind.__name__} for task "{task.id}"',
            code="GHCM-614",
            hint="Build the bundle again, or give the table `TASKS` its entry back.",
        )
    return code
