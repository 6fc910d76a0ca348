"""What stands between the units of a picture: sinks and caches, the links that lead to and from tasks, and the curves
and texts that pictures are drawn with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from ghcm.spg.connectors import text_of
from ghcm.spg.graph import Program, Unit
from ghcm.spg.layout import Point, Size
from ghcm.spg.ops import Publish, ReadSink, ReadTable, To

_NARROW, _WIDE = frozenset("iljtf.,:;'|!()[]{} "), frozenset("mwMW@%")


def number(value: float) -> str:
    """A coordinate: to a tenth, without trailing zeros."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if abs(value) >= 0.05 else "0"


def element(name: str, text: str | None = None, **attributes: float | str) -> str:
    """An element with these attributes (`class_` for a word that Python keeps), around its text if it has any."""
    written = " ".join(
        f'{key.rstrip("_").replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name} {written}/>" if text is None else f"<{name} {written}>{text}</{name}>"


def way(*steps: float | str) -> str:
    """The words of a path: letters, and behind each its numbers.

    >>> way("M", 1.0, 2.5, "H", 3.0)
    'M1 2.5 H3'
    """
    words = (f" {step}" if isinstance(step, str) else f" {number(step)}" for step in steps)
    return re.sub(r"([A-Za-z]) ", r"\1", "".join(words)).strip()


def text_width(text: str, size: float) -> float:
    """About how wide text is in a sans-serif font of that size."""
    return sum(0.34 if c in _NARROW else 0.92 if c in _WIDE or not c.isascii() else 0.6 for c in text) * size


def clip(text: str, size: float, most: float) -> str:
    """The text, cut to that width with an ellipsis."""
    if text_width(text, size) <= most + 1:
        return text
    while text and text_width(text + "\N{HORIZONTAL ELLIPSIS}", size) > most:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def curve(points: Sequence[Point], *, sideways: bool = False) -> str:
    """A path through points that leaves and enters each downwards (or sideways)."""
    parts = [way("M", *points[0])]
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = max(24.0, abs(x2 - x1) / 2) if sideways else max(16.0, abs(y2 - y1) / 2)
        right, down = (bend, 0.0) if sideways else (0.0, bend)
        ends = ((x1 + right, y1 + down), (x2 - right, y2 - down), (x2, y2))
        parts.append(f"C{', '.join(way(*end) for end in ends)}")
    return " ".join(parts)


def xml_text(text: str) -> str:
    """Text that XML can hold."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))


DATA, CALL = "#2f6fb0", "#c4572e"
_MARGIN = 24.0


@dataclass(frozen=True, slots=True)
class Block:
    """A drawn unit: its size, its SVG from its own corner (the ground first), and where its tasks stand in it."""

    size: Size
    body: tuple[str, ...]
    boxes: Mapping[str, tuple[Point, Size]]


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between blocks and connectors; `task` is where it begins or ends in a unit."""

    start: str
    end: str
    call: bool
    from_task: str | None = None
    to_task: str | None = None


def connectors_of(program: Program) -> dict[str, tuple[str, tuple[str, str]]]:
    """Sinks and caches: kind, name and what they are."""
    sinks = {
        f"sink {each.name}": ("sink", (each.name, f"{text_of(each.connector)}, {each.mode.value}"))
        for each in program.sinks
    }
    caches = {f"cache {each.name}": ("cache", (each.name, text_of(each.connector))) for each in program.caches}
    return sinks | caches


def links_of(unit: Unit, caches: Mapping[str, str | None]) -> Iterator[Link]:
    """Where the unit's tasks and its cache lead; `caches` are those of all units."""
    me = f"unit {unit.name}"
    if unit.cache is not None:
        yield Link(f"cache {unit.cache}", me, call=True)
    for task in unit.tasks:
        match task.op:
            case To(sink=sink):
                yield Link(me, f"sink {sink}", call=False, from_task=task.id)
            case ReadSink(sink=sink):
                yield Link(f"sink {sink}", me, call=False, to_task=task.id)
            case ReadTable(unit=other, task=table):
                yield Link(f"unit {other}", me, call=False, from_task=table, to_task=task.id)
            case Publish(call=call):
                cache = caches.get(call.unit)
                target = f"unit {call.unit}" if cache is None else f"cache {cache}"
                yield Link(me, target, call=True, from_task=task.id)
            case _:  # the others meet nothing outside of the unit
                pass


def draw_link(
    link: Link,
    blocks: Mapping[str, Block],
    corners: Mapping[str, Point],
    sizes: Mapping[str, Size],
    route: Sequence[Point],
    top: float,
) -> str:
    """The path of a link through the points of its `route`; `top` is how far the picture is moved down."""
    head, first = _port(link.start, link.from_task, blocks, corners, sizes, right=True)
    tail, last = _port(link.end, link.to_task, blocks, corners, sizes, right=False)
    through = [(y + _MARGIN, x + top) for x, y in route]
    class_, marker = ("call", "call") if link.call else ("edge", "data")
    between = curve([first, *through, last], sideways=True).partition(" ")[2].partition(" ")[2]
    return element("path", class_=class_, marker_end=f"url(#{marker})", d=f"{head} {between} {tail}")


def _port(
    name: str,
    task: str | None,
    blocks: Mapping[str, Block],
    corners: Mapping[str, Point],
    sizes: Mapping[str, Size],
    *,
    right: bool,
) -> tuple[str, Point]:
    """Where a link leaves (or with `right` false comes to) a block or connector, and its way between that point and the
    task.

    A task with others beside it is reached through the gap above its layer and left through the gap below it.
    """
    (x, y), (width, height) = corners[name], sizes[name]
    side = x + (width if right else -2)
    if task is None or name not in blocks or task not in blocks[name].boxes:
        point = (side, y + (30 if name in blocks else height / 2))
        return (way("M", *point) if right else "", point)
    boxes = blocks[name].boxes
    (own_x, own_y), (own_width, own_height) = boxes[task]
    middle = own_y + own_height / 2
    layer = [(a, b) for a, b in boxes.values() if abs(a[1] + b[1] / 2 - middle) < 1]
    beyond = [a for a, _ in layer if (a[0] > own_x if right else a[0] < own_x)]
    near = (x + own_x + (own_width if right else -2), y + middle)
    if not beyond:
        point = (side, near[1])
        return (way("M", *near, "H", side) if right else way("H", near[0]), point)
    centre = x + own_x + own_width / 2
    if right:
        gap = y + max(a[1] + b[1] for a, b in layer) + 12 + 6 * len(beyond)
        start = ("M", centre, y + own_y + own_height, "V", gap - 8)
        return (way(*start, "Q", centre, gap, centre + 8, gap, "H", side), (side, gap))
    gap = y + min(a[1] for a, _ in layer) - 12 - 6 * len(beyond)
    return (way("H", centre - 8, "Q", centre, gap, centre, gap + 8, "V", y + own_y - 2), (side, gap))


def draw_connector(kind: str, lines: tuple[str, str], corner: Point, size: Size) -> Iterator[str]:
    """A sink as a drum, a cache as a pill."""
    (x, y), (width, height) = corner, size
    if kind == "sink":
        forth, back = ("a", width / 2, 7, 0, 0, 0, width, 0), ("a", width / 2, 7, 0, 0, 0, -width, 0)
        sides = way("M", x, y + 7, "v", height - 14, *forth, "v", 14 - height)
        yield element("path", d=sides, fill="#eaf1f8", stroke=DATA)
        yield element("path", d=way("M", x, y + 7, *forth, *back), fill="#f6fafd", stroke=DATA)
    else:
        yield element("rect", x=x, y=y, width=width, height=height, rx=height / 2, fill="#fbeee8", stroke=CALL)
    below = y + height / 2 + (9 if kind == "sink" else 4)
    for class_, line, shift in (("id", lines[0], -6), ("type", lines[1], 8)):
        place = {"x": x + width / 2, "y": below + shift}
        yield element("text", xml_text(line), class_=class_, text_anchor="middle", **place)
