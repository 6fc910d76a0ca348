"""A record that failed: what left its path, why and where, in the form that every engine gives to the dead-letter
table.

The sink writers store it as one JSON object a line with these fields.
"""

from dataclasses import dataclass
from pathlib import Path

from ghcm.functions import Failure
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Mode
from ghcm.spg.graph import Sink
from ghcm.types import Field, String, Struct

DEAD_LETTER = Struct(
    tuple(Field(name, String()) for name in ("unit", "task", "reason", "detail", "input", "origin")), "DeadLetter"
)
"""The record of a dead-letter table."""


LONGEST = 16_384
"""Characters of a raw text that a dead letter holds."""


def table_of(folder: Path) -> Sink:
    """The dead-letter table in a folder, as the sink that it is."""
    connector = Files(str(folder.absolute()), Format("json"))
    return Sink("dead letters", connector, Mode.APPEND, None, DEAD_LETTER, Origin("", 0, 0))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One failed record. `input` is compact JSON text of what the user's operator had as input, or for `bad_record`
    the raw text.

    `task` is the task (or stage of a fused one) that the user wrote; `origin` its position in the source,
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
