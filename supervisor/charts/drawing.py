"""Drawings: all that a picture consists of, as it crosses from the Supervisor to the process that draws; and texts and
numbers as pictures show them. Whatever a thing is called, it comes out as harmless text.

Equal drawings give equal bytes. They hold as much as a picture shows, never the rows of a sink.
"""

import json
import re
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
    """From node to node, by index, through these points; its steps, and how bad (1: the worst; None: not said)."""

    source: int
    target: int
    through: list[list[float]]
    steps: str
    label: str
    level: int | None
    count: int


Role: TypeAlias = Literal["source", "both", "target"]
"""Whether arrows only leave a node, leave and reach it, or only reach it."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and arrows. Points are fractions of the width and the height. `breadth`: the pixels that the nodes take
    from top to bottom; `level`: what the levels of arrows are called; `role_names`: what the roles are called, in their
    order.
    """

    title: str
    note: str
    names: list[str]
    roles: list[Role]
    points: list[list[float]]
    breadth: float
    arrows: list[Arrow]
    level: str
    role_names: list[str]
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


_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff]")
"""Controls, what no XML can hold, and marks that hide text or turn its direction."""

_THOUSANDS = ("", "k", "M", "G", "T", "P", "E")


def clean(text: object) -> str:
    """The text without what a reader cannot see.

    >>> clean("evil\\u202egnp.exe")
    'evil\ufffdgnp.exe'
    """
    return _HARMFUL.sub("\ufffd", str(text))[:200]


def short(text: str, most: int) -> str:
    """The text in at most so many characters; what it ends with tells hosts of one net apart.

    >>> short("workstation-0017.example.org", 16)
    'workstat…ple.org'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def quantity(value: float, unit: str = "") -> str:
    """A number in three digits with its unit.

    >>> quantity(12_345_678, "bytes"), quantity(0.25, "seconds"), quantity(12.5, "percent"), quantity(1200)
    ('12.3 MB', '250 ms', '12.5 %', '1.2 k')
    """
    if unit == "percent":
        return f"{value:.3g} %" if abs(value) >= 1 or value == 0 else f"{value:.2f} %"
    if unit == "seconds" and 0 < abs(value) < 1:
        return f"{value * 1000:.3g} ms"
    word = {"bytes": "B", "seconds": "s"}.get(unit, unit)
    size, step = abs(value), 0
    while unit != "seconds" and size >= 999.5 and step < len(_THOUSANDS) - 1:
        size, step = size / 1000, step + 1
    digits = f"{size:.0f}" if size >= 100 or size == int(size) else f"{size:.3g}"
    end = f"{_THOUSANDS[step]}{word}" if word == "B" else " ".join(part for part in (_THOUSANDS[step], word) if part)
    return f"{'-' if value < 0 else ''}{digits} {end}".rstrip()
