"""What a foreign case is, and how its set finds it in the shared folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

__all__ = ["Case", "CaseSet", "Difference", "Inputs", "json_lines"]

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
class Difference:
    """The rows that ours gives beside or instead of those of the source, and why."""

    reason: str
    more: Sequence[object] = ()
    less: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class CaseSet:
    """A folder of cases. `waits`: what the cases without a program wait for, or the ruling that makes them differ.
    `late`: those in which records are late, which none is in a batch unit. `differs`: in which rows the results of a
    program differ from the source's, and why. `refused`: programs that have to be wrong, as the source's statements
    are, or wrong by ours, and what the source says.
    """

    name: str
    title: str
    load: Callable[[Path, str], Case] = field(repr=False)
    names: Callable[[Path], Sequence[str]] = field(repr=False)
    waits: Mapping[str, str] = field(default_factory=dict[str, str])
    late: frozenset[str] = frozenset()
    differs: Mapping[str, Difference] = field(default_factory=dict[str, Difference])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

    def case(self, shared: Path, name: str) -> Case:
        """A case with the rows that are expected of ours."""
        case = self.load(shared, name)
        difference = self.differs.get(name, Difference(""))
        left = list(case.expected)
        for row in difference.less:
            left.remove(row)
        return replace(case, expected=[*left, *difference.more])

    def program(self, name: str) -> Path:
        """Where the program of a case stands."""
        return HERE / self.name / f"{name}.istream"

    @property
    def written(self) -> list[str]:
        """The cases that have a program."""
        folder = HERE / self.name
        return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.istream"))

    @property
    def run(self) -> list[str]:
        """The cases whose program runs."""
        return [name for name in self.written if name not in self.refused]


def json_lines(rows: Sequence[object]) -> bytes:
    """Rows as the bytes of a file, a JSON object in each line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
