"""A step repeated until a condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate

if TYPE_CHECKING:
    from ghcm.spg.graph import Task  # a task holds an operation; `ghcm.spg.forms` knows both


@dataclass(frozen=True, slots=True)
class Until:
    """When an iteration has come to its end: `condition` over the totals of what a round was given and of what it gave,
    two structs of aggregates of the whole collections."""

    before: tuple[Aggregate, ...]
    after: tuple[Aggregate, ...]
    condition: Lambda


@dataclass(frozen=True, slots=True)
class Iterate:
    """A step repeated: each round takes what the round before gave, the first one the first input, at most `limit`
    times and until `until` is true behind a round. Bounded input only.

    `tasks` are the step, a graph of its own: the records of the round stand in it as the task `$0`, the further inputs
    as `$1`, `$2`, ..., the same in every round; `result` is the task whose records the next round takes. `limit` is an
    expression without record; null or less than 1 is no round at all. A condition that fails is a dead letter without
    record and is not true.
    """

    tasks: tuple[Task, ...]
    result: str
    limit: Expr
    until: Until | None
