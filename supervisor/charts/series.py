"""Draws series over time or numbers, as lines or as bands that stand on each other, and named values as bars."""

from datetime import UTC
from functools import partial
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ghcm.supervisor.charts.drawing import Bars, Lines, Order, quantity, short
from ghcm.supervisor.charts.sheet import Sheet

_DAY = 86_400e6
_HEIGHT = 260
_FEW_POINTS = 3


def draw_lines(lines: Lines, order: Order) -> bytes:
    """The picture of the lines."""
    names = [each.name for each in lines.series]
    legend = len(names) > 1
    rows = -(-len(names) // _columns(names, order.width)) if legend else 0
    sheet = Sheet(order, order.height or _HEIGHT, left=62, right=18, top=42 + 18 * rows, bottom=32)
    if not lines.xs or not lines.series:
        return sheet.empty()
    xs = np.array(lines.xs) / (_DAY if lines.time else 1.0)
    if lines.stacked:
        _bands(lines, sheet, xs)
    else:
        _strokes(lines, sheet, xs)
    _axes(lines, sheet, xs)
    if legend:
        _legend(sheet, names)
    return sheet.save()


def _strokes(lines: Lines, sheet: Sheet, xs: Any) -> None:
    marker = "o" if len(xs) <= _FEW_POINTS else None
    for at, each in enumerate(lines.series):
        ys = np.array([np.nan if value is None else value for value in each.values], dtype=float)
        colour = _colour(sheet, at, each.name)
        sheet.axes.plot(xs, ys, color=colour, linewidth=1.8, marker=marker, markersize=4, solid_joinstyle="round")
        if len(lines.series) == 1:
            sheet.axes.fill_between(xs, ys, 0, color=colour, alpha=0.12, linewidth=0)


def _bands(lines: Lines, sheet: Sheet, xs: Any) -> None:
    ys = np.array([[value or 0.0 for value in each.values] for each in lines.series], dtype=float)
    colours = [_colour(sheet, at, each.name) for at, each in enumerate(lines.series)]
    if len(xs) == 1:  # a band needs a width
        xs, ys = np.array([xs[0] - 1e-5, xs[0] + 1e-5]), np.repeat(ys, 2, axis=1)
    sheet.axes.stackplot(xs, ys, colors=colours, linewidth=0)


def _tick(unit: str, value: float, _: object) -> str:
    return quantity(value, unit)


def _axes(lines: Lines, sheet: Sheet, xs: Any) -> None:
    axes = sheet.axes
    axes.grid(axis="y", color=sheet.colours.grid, linewidth=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(partial(_tick, lines.unit)))
    axes.margins(x=0.01)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.0) if low < 0 else 0.0, 100.0 if lines.unit == "percent" and lines.stacked else high)
    if lines.time:
        made: Any = dates  # which is not typed
        locator = made.AutoDateLocator(tz=UTC, minticks=3, maxticks=max(3, sheet.inner_width // 90))
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(made.ConciseDateFormatter(locator, tz=UTC))
        axes.xaxis.get_offset_text().set(color=sheet.colours.quiet, fontsize=8)
    if len(xs) == 1:
        middle = float(xs[0])
        reach = 60e6 / _DAY if lines.time else 1.0
        axes.set_xlim(middle - reach, middle + reach)


def _legend(sheet: Sheet, names: list[str]) -> None:
    patches = [Patch(color=_colour(sheet, at, name), label=short(name, 24)) for at, name in enumerate(names)]
    corner = (-62 / max(sheet.inner_width, 1) + 0.01, 1.0)
    sheet.axes.legend(
        handles=patches, loc="lower left", bbox_to_anchor=corner, ncols=_columns(names, sheet.width), frameon=False,
        fontsize=8, handlelength=0.9, handleheight=0.9, columnspacing=1.2, borderaxespad=0.3,
        labelcolor=sheet.colours.ink,
    )  # fmt: skip


def _columns(names: list[str], width: int) -> int:
    longest = max(len(short(name, 24)) for name in names)
    return max(1, min(len(names), (width - 30) // (longest * 7 + 34)))


def _colour(sheet: Sheet, at: int, name: str) -> str:
    colours = sheet.colours.series
    return sheet.colours.rest if name == "other" or at >= len(colours) else colours[at]


_BAR = 26
_LETTER = 6.6
"""Pixels that a letter of the names takes, on average."""


def draw_bars(bars: Bars, order: Order) -> bytes:
    """The picture of the bars."""
    most = max(8, int(order.width * 0.36 / _LETTER))
    names = [short(name, most) for name in bars.names]
    left = 26 + int(max((len(name) for name in names), default=4) * _LETTER)
    height = order.height or max(120, 52 + _BAR * len(names))
    sheet = Sheet(order, height, left=left, right=96, top=40, bottom=10)
    if not names or not any(bars.values):
        return sheet.empty()
    total = sum(bars.values)
    colours = [
        sheet.colours.rest if name == "other" else sheet.colours.series[at % len(sheet.colours.series)]
        for at, name in enumerate(names)
    ]
    rows = range(len(names))
    axes = sheet.axes
    axes.barh(rows, bars.values, height=0.62, color=colours if bars.parts else sheet.colours.series[0])
    axes.set_yticks(rows, names, color=sheet.colours.ink)
    axes.set_xticks([])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(min(0.0, *bars.values), max(0.0, *bars.values) or 1.0)
    for row, value in zip(rows, bars.values, strict=True):
        text = quantity(100 * value / total, "percent") if bars.parts and total else quantity(value, bars.unit)
        axes.annotate(
            text, (max(value, 0.0), row), (6, 0), textcoords="offset points", va="center", color=sheet.colours.ink,
            fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    return sheet.save()
