"""Small geometry of pictures: smooth curves through points, and how much room text takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from ghcm.spg.layout import Point

_NARROW, _WIDE = frozenset("iljtf.,:;'|!()[]{} "), frozenset("mwMW@%")


def number(value: float) -> str:
    """A coordinate: to a tenth, without trailing zeros."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if abs(value) >= 0.05 else "0"


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
    parts = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        if sideways:
            bend = max(24.0, abs(x2 - x1) / 2)
            control = ((x1 + bend, y1), (x2 - bend, y2))
        else:
            bend = max(16.0, abs(y2 - y1) / 2)
            control = ((x1, y1 + bend), (x2, y2 - bend))
        coordinates = ", ".join(f"{number(x)} {number(y)}" for x, y in (*control, (x2, y2)))
        parts.append(f"C{coordinates}")
    return " ".join(parts)


def xml_text(text: str) -> str:
    """Text that XML can hold."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))
