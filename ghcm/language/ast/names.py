"""Names, and the places at which nodes stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ghcm.source import Span

Place: TypeAlias = Span | None


def no_span() -> Place:
    """The default of a place: unknown, and no part of what a node says."""
    place: Place = field(default=None, compare=False, repr=False)
    return place


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where it is declared or given."""

    text: str
    span: Place = no_span()
