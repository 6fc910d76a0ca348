"""Drawings: all that a picture consists of, as it crosses from the Supervisor to the process that draws.

Equal drawings give equal bytes. They hold as much as a picture shows, never the rows of a sink.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Format: TypeAlias = Literal["svg", "png"]
Theme: TypeAlias = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Series:
    """A line or a band; `values` beside the `xs` of its drawing, None where there is none."""

    name: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Lines:
    """Series over `xs`, which are microseconds since 1970 UTC where `time`. `stacked`: they stand on each other."""

    title: str
    note: str
    unit: str
    time: bool
    stacked: bool
    xs: list[float]
    series: list[Series]
    kind: Literal["lines"] = "lines"


@dataclass(frozen=True, slots=True)
class Bars:
    """Named values, the greatest first. `parts`: they are parts of a whole."""

    title: str
    note: str
    unit: str
    parts: bool
    names: list[str]
    values: list[float]
    kind: Literal["bars"] = "bars"


@dataclass(frozen=True, slots=True)
class Arrow:
    """What one did to another: indices of nodes, in which steps, how bad (1 is the worst; None: not said)."""

    source: int
    target: int
    steps: str
    label: str
    severity: int | None
    count: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Who did what to whom. A node lies in a layer from the left and a place from the top, both fractions of 1."""

    title: str
    note: str
    names: list[str]
    roles: list[str]
    places: list[list[float]]
    rows: int
    arrows: list[Arrow]
    kind: Literal["graph"] = "graph"


Drawing: TypeAlias = Lines | Bars | Graph


@dataclass(frozen=True, slots=True)
class Order:
    """A drawing and how it is to be drawn; `height` 0: as the drawing needs it. Sizes in pixels. `heading`:
    its title stands above it."""

    drawing: Drawing
    format: Format
    theme: Theme
    width: int
    height: int
    heading: bool = True


def encode(order: Order) -> bytes:
    """The order as bytes; equal orders give equal bytes."""
    return json.dumps(asdict(order), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def decode(data: bytes) -> Order:
    """The inverse of `encode`."""
    found: Any = json.loads(data)
    return Order(
        _drawing(found["drawing"]), found["format"], found["theme"], found["width"], found["height"], found["heading"]
    )


def _drawing(found: Any) -> Drawing:
    match found["kind"]:
        case "lines":
            found["series"] = [Series(**each) for each in found["series"]]
            return Lines(**found)
        case "bars":
            return Bars(**found)
        case _:
            found["arrows"] = [Arrow(**each) for each in found["arrows"]]
            return Graph(**found)
