"""Lines of generated row code: a loop over rows, the names in it, and what becomes of a record that fails."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_text import Binding, Code, targets_text
from ghcm.expr import Var
from ghcm.types import Struct


@dataclass
class Lines:
    """Python text in the making."""

    depth: int = 1
    lines: list[str] = field(default_factory=list[str])

    def add(self, *lines: str) -> None:
        """Lines at the present depth."""
        self.lines.extend("    " * self.depth + line for line in lines)

    def block(self, head: str, *lines: str) -> None:
        """A head with lines under it."""
        self.add(head)
        self.depth += 1
        self.add(*lines)
        self.depth -= 1


def parameter_lines(scope: RowScope) -> list[str]:
    """The lines that take the unit's parameters which the function mentions."""
    return [f'{local} = parameters["{name}"]' for name, local in sorted(scope.parameters.items())]


def loop_head(names: list[str], body: str, *, timed: bool) -> str:
    """`for a, _, c in rows:`, where names that the body does not mention are not taken."""
    hidden = ["time", "watermark"] if timed else []
    taken = [name if re.search(rf"\b{name}\b", body) else "_" for name in [*names, *hidden]]
    return f"for {targets_text(taken)} in rows:"


def bind_record(variable: Var, columns: dict[str, Code]) -> Binding:
    """What a record's variable stands for: its columns, or the column `value` of scalars."""
    if isinstance(variable.type, Struct):
        return Binding(columns={name: columns[name] for name in variable.type.names})
    return Binding(value=columns["value"])


def catch(out: Lines, stage: str, record: str, *lines: str) -> None:
    """Lines that can fail; a failing record is given to `dead` and left. Nothing where what could fail was left out."""
    if not lines:
        return
    out.block("try:", *lines)
    out.block(
        "except RecordFailure as failure:",
        f'dead("{stage}", {record}, failure.reason, failure.detail)',
        "continue",
    )
