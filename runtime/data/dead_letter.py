"""A record that failed: what left its path, why and where, in the form that every engine gives to the dead-letter
table.

Knows nothing of tables; the sink writers store it as one JSON object a line with these fields.
"""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.functions import Failure
from ghcm.types import Field, String, Struct

DEAD_LETTER = Struct(
    tuple(Field(name, String()) for name in ("unit", "task", "reason", "detail", "input", "origin")), "DeadLetter"
)
"""The record of a dead-letter table."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One failed record. `input` is compact JSON text of what the user's operator had as input, or for `bad_record`
    the raw text.

    `task` is the task (or stage of a fused one) that the user wrote; `origin` its place in the source,
    `file:line:column`.
    """

    unit: str
    task: str
    reason: Failure
    detail: str
    input: str
    origin: str

    def row(self) -> tuple[str, ...]:
        """The letter as a row of `DEAD_LETTER`."""
        return (self.unit, self.task, self.reason.value, self.detail, self.input, self.origin)
