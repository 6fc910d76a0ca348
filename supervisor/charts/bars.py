"""Draws named values as bars from left to right, with their names before and their values behind them."""

from __future__ import annotations

from ghcm.supervisor.charts.drawing import Bars, Order
from ghcm.supervisor.charts.figure import Sheet
from ghcm.supervisor.charts.text import quantity, short

_ROW = 26
_LETTER = 6.6
"""Pixels that a letter of the names takes, on average."""


def draw_bars(bars: Bars, order: Order) -> bytes:
    """The picture of the bars."""
    most = max(8, int(order.width * 0.36 / _LETTER))
    names = [short(name, most) for name in bars.names]
    left = 26 + int(max((len(name) for name in names), default=4) * _LETTER)
    height = order.height or max(120, 52 + _ROW * len(names))
    sheet = Sheet(order, height, left=left, right=96, top=40, bottom=10)
    sheet.note(bars.note)
    if not names or not any(bars.values):
        sheet.say("no rows yet")
        return sheet.save()
    total = sum(bars.values)
    colours = [
        sheet.colours.rest if name == "other" else sheet.colours.series[at % len(sheet.colours.series)]
        for at, name in enumerate(names)
    ]
    places = range(len(names))
    axes = sheet.axes
    axes.barh(places, bars.values, height=0.62, color=colours if bars.parts else sheet.colours.series[0])
    axes.set_yticks(places, names, color=sheet.colours.ink)
    axes.set_xticks([])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(min(0.0, *bars.values), max(0.0, *bars.values) or 1.0)
    for place, value in zip(places, bars.values, strict=True):
        text = quantity(100 * value / total, "percent") if bars.parts and total else quantity(value, bars.unit)
        axes.annotate(
            text, (max(value, 0.0), place), (6, 0), textcoords="offset points", va="center", color=sheet.colours.ink,
            fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    return sheet.save()
