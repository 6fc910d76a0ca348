"""Chains of row operations that compression has made one task."""

from __future__ import annotations

from dataclasses import dataclass, field

from ghcm.spg.ops.rows import Filter, FlatMap, KeyBy, Map, MapToPair, MapValues, PythonCall
from ghcm.spg.ops.windows import Window
from ghcm.types import Type


@dataclass(frozen=True, slots=True)
class Stage:
    """One task inside a fused one: its id, op, element and place, kept so that dead letters and explanations name
    what the user wrote."""

    id: str
    op: Filter | Map | FlatMap | MapToPair | MapValues | KeyBy | PythonCall | Window
    element: Type
    origin: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Fused:
    """A chain of row operations made one task by compression; records go through the stages in order."""

    stages: tuple[Stage, ...]
