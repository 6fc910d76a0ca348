"""What a pipeline is while it is being lowered: tasks without ids, collections, and raw records that nobody has
decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm.language import ast
from ghcm.source import Span
from ghcm.spg.graph import Exchange
from ghcm.spg.ops import Connector, Op
from ghcm.types import Collection


@dataclass(eq=False, slots=True)
class Draft:
    """A task before the end of its statement gives it an id. `word` is the operator's name; `named` what the user calls
    it.

    `keeps_state`: it must be found again after a recompilation, so that it needs a name from the program.
    `after`: the `To` whose commit a `Publish` waits for.
    """

    word: str
    op: Op
    inputs: tuple[tuple[Draft, Exchange], ...]
    collection: Collection
    span: Span | None
    calls: int = 1
    keeps_state: bool = False
    after: Draft | None = None
    named: str | None = None
    id: str = ""
    is_named: bool = False
    step: RoundDrafts | None = None


@dataclass(frozen=True, slots=True)
class RoundDrafts:
    """The step of an iteration: what stands for the records of a round, the tasks that look at them, in order, and the
    last one's. What does not depend on the round stands outside, as further inputs.
    """

    entry: Draft
    drafts: tuple[Draft, ...]
    result: Draft


@dataclass(frozen=True, slots=True)
class Flow:
    """A collection and the task that gives it.

    `regrouped`: its records no longer stand in the order of a source's partition. `open_window`: windows are assigned
    and nothing has been aggregated in them. `written`: the `To` that has just written it. `ended`: nothing may follow.
    """

    draft: Draft
    collection: Collection
    regrouped: bool = False
    open_window: bool = False
    written: Draft | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class RawSource:
    """A source before its records have a type: a connector, or the rows of `memory` as they are written."""

    word: str
    connector: Connector | None
    rows: tuple[ast.Expr, ...]
    bounded: bool
    span: Span | None


@dataclass(frozen=True, slots=True)
class Raw:
    """Sources whose records have no type yet; with `unions` they are to be one collection."""

    sources: tuple[RawSource, ...]
    unions: tuple[Span | None, ...] = field(default=())


Bound: TypeAlias = Flow | Raw | None
"""What a name in a unit stands for; None after a report."""
