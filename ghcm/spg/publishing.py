"""When units call others, and with what."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.expr import Expr, Lambda
from ghcm.reducers import Aggregate


@dataclass(frozen=True, slots=True)
class Policy:
    """When a unit publishes: exactly one of `every_records`, `every_us`, `on` ("window_close", "completion") or `when`,
    a predicate on one record.

    With `throttle_us` a record for which that is true publishes only where the last one that did, of its `key` (None:
    of all), is so long before it: by event time, or by the watermark of its partition where that has passed its time.
    """

    every_records: int | None = None
    every_us: int | None = None
    on: str | None = None
    when: Lambda | None = None
    at_end: bool = False
    throttle_us: int | None = None
    key: Lambda | None = None


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """The instruction that a policy sends: unit, and per parameter an aggregate over the records since the last
    publication (or a constant's literal)."""

    unit: str
    arguments: tuple[tuple[str, Aggregate | Expr], ...]
