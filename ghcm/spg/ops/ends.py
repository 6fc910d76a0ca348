"""Where a graph ends: sinks, calls and replies."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate


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


@dataclass(frozen=True, slots=True)
class Publish:
    """Calls a responsive unit by a policy. Its input is what its sibling `To` writes: the instruction leaves after
    the commit that holds the records. Gives nothing on."""

    call: CallTemplate
    policy: Policy
    after: str | None
    """The id of the `To` task whose commit comes first, if the statement has one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Writes its records to the implicit sink of the call; gives nothing on."""
