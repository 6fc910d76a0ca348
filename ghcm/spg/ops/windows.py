"""Windows: which there are, and the operation that puts records into them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Sliding", "Tumbling", "Window"]


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of `size_us` that start at multiples of it since 1970; the end is exclusive."""

    size_us: int


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of `size_us` that start at multiples of `every_us` (at most the size) since 1970; a record is in all that
    hold its time."""

    size_us: int
    every_us: int


@dataclass(frozen=True, slots=True)
class Window:
    """Adds the column `window` by event time: each record once for each of its windows that is open, in their order.

    A window is closed for a record where `end + allowed_lateness` <= its partition's watermark; a record without an
    open window is a dead letter (`late`).
    """

    assigner: Tumbling | Sliding
    allowed_lateness_us: int
