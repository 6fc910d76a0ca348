"""When units call others, and with what."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate


@dataclass(frozen=True, slots=True)
class Policy:
    """When a unit publishes: exactly one of `every_records`, `every_us`, `on` ("window_close", "completion") or `when`,
    a predicate on one record.
    """

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
