"""Where a graph begins and ends: sources and what is read of sinks and tables; sinks, calls and replies."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Connector
from ghcm.spg.ops.traits import Arity, Role, Time, Together, traits


@traits(role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class Source:
    """Records from outside, decoded to the task's element. A record that cannot be decoded is a dead letter
    (`bad_record`) that holds the raw text."""

    connector: Connector


@traits(label="read {sink}", role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class ReadSink:
    """The records of a sink: its latest complete version, or the one that the instruction names; bounded."""

    sink: str


@traits(role=Role.SOURCE, arity=Arity.NONE, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class ReadTable:
    """A consistent copy of a named table of a stream unit: its pairs; bounded. `key`, if given, is an expression
    without record: only that key."""

    unit: str
    task: str
    key: Expr | None


@traits(label="to {sink}", role=Role.SINK, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class To:
    """Writes each record to a sink; gives nothing on."""

    sink: str


@dataclass(frozen=True, slots=True)
class Policy:
    """When a unit publishes: exactly one of `every_records`, `every_us`, `on` ("window_close", "completion") or
    `when` (a predicate on one record)."""

    every_records: int | None = None
    every_us: int | None = None
    on: str | None = None
    when: Lambda | None = None
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """The instruction that a policy sends: unit, and per parameter an aggregate over the records since the last
    publication (or a constant's literal)."""

    unit: str
    arguments: tuple[tuple[str, Aggregate | Expr], ...]


@traits(role=Role.CALL, exchange=Together.ALL, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class Publish:
    """Calls a responsive unit by a policy. Its input is what its sibling `To` writes: the instruction leaves after
    the commit that holds the records. Gives nothing on."""

    call: CallTemplate
    policy: Policy
    after: str | None
    """The id of the `To` task whose commit comes first, if the statement has one."""


@traits(label="reply", role=Role.REPLY, time=Time.NONE)
@dataclass(frozen=True, slots=True)
class Reply:
    """Writes its records to the implicit sink of the call; gives nothing on."""
