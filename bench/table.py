"""One figure of a benchmark, and the table of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

__all__ = ["Row", "show"]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, of whom, the figure with its unit, the figure it stands beside, and how."""

    benchmark: str
    subject: str
    figure: str
    beside: str
    how: str


def show(rows: Iterable[Row]) -> None:
    """Print the table."""
    table = Table("benchmark", "subject", "figure", "beside", "how")
    for row in rows:
        table.add_row(row.benchmark, row.subject, row.figure, row.beside, row.how)
    Console().print(table)
