"""What a foreign case is, and how its set finds it in the shared folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Case", "CaseSet", "Inputs", "json_lines"]

HERE = Path(__file__).parent

Inputs = Mapping[str, Path | bytes]
"""The files that a program reads, by the names it gives them."""


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs, the rows that have to come out, and how many dead letters.

    Rows are objects; lists of cells where the source names no columns; or lines of text with a blank between cells.
    `loose`: the source has text where we have numbers, so that cells are compared by what they say.
    """

    inputs: Inputs
    expected: Sequence[object]
    loose: bool = False
    dead: int = 0


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A folder of cases. `waits`: what the cases without a program wait for, or the ruling that makes them differ.
    `partly`: what those with a program wait for on the native engine, which refuses them.
    """

    name: str
    title: str
    load: Callable[[Path, str], Case] = field(repr=False)
    names: Callable[[Path], Sequence[str]] = field(repr=False)
    waits: Mapping[str, str] = field(default_factory=dict[str, str])
    partly: Mapping[str, str] = field(default_factory=dict[str, str])

    def program(self, name: str) -> Path:
        """Where the program of a case stands."""
        return HERE / self.name / f"{name}.istream"

    @property
    def written(self) -> list[str]:
        """The cases that have a program."""
        folder = HERE / self.name
        return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.istream"))


def json_lines(rows: Sequence[object]) -> bytes:
    """Rows as the bytes of a file, a JSON object in each line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
