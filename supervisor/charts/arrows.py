"""Draws the graph of who did what to whom: hosts as discs, attacks as arrows with their steps, coloured by severity."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from ghcm.supervisor.charts.drawing import Arrow, Graph, Order
from ghcm.supervisor.charts.figure import Colours, Sheet
from ghcm.supervisor.charts.text import short

_ROW = 78
_DISC = 11.0
"""Points of a disc's radius."""


def draw_graph(graph: Graph, order: Order) -> bytes:
    """The picture of the graph."""
    height = order.height or min(1200, max(220, 110 + _ROW * graph.rows))
    sheet = Sheet(order, height, left=70, right=70, top=48, bottom=44)
    sheet.note(graph.note)
    axes = sheet.axes
    axes.set_axis_off()
    if not graph.arrows:
        sheet.say("no rows yet")
        return sheet.save()
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(1, 0)
    for arrow in graph.arrows:
        if arrow.source != arrow.target:
            _arrow(axes, graph, arrow, sheet.colours)
    for at, name in enumerate(graph.names):
        _disc(axes, graph, at, name, sheet)
    _key(sheet, graph)
    return sheet.save()


def _arrow(axes: Any, graph: Graph, arrow: Arrow, colours: Colours) -> None:
    start, end = graph.places[arrow.source], graph.places[arrow.target]
    back = any(each.source == arrow.target and each.target == arrow.source for each in graph.arrows)
    far = abs(end[0] - start[0]) > 1.5 / max(len({place[0] for place in graph.places}) - 1, 1)
    bend = 0.3 if start[0] == end[0] else 0.22 if back or far or end[0] < start[0] else 0.06
    colour = _severity(colours, arrow.severity)
    axes.add_artist(  # not add_patch, which measures it for limits that are set
        FancyArrowPatch(
            (start[0], start[1]),
            (end[0], end[1]),
            arrowstyle="-|>,head_length=5,head_width=3",
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=_DISC + 1,
            shrinkB=_DISC + 2,
            linewidth=1.2 + min(2.4, math.log10(arrow.count + 1)),
            color=colour,
            alpha=0.9,
            zorder=2,
        )
    )
    box = axes.get_window_extent()  # the arc bends in pixels, so that its middle is found there
    here = axes.transData.transform([start, end])
    (x0, y0), (x1, y1) = here
    middle = (x0 + x1) / 2 + bend / 2 * (y1 - y0), (y0 + y1) / 2 - bend / 2 * (x1 - x0)
    place = ((middle[0] - box.x0) / box.width, (middle[1] - box.y0) / box.height)
    axes.text(
        *place, arrow.steps, transform=axes.transAxes, fontsize=7.5, color=colours.paper, ha="center", va="center",
        fontweight="bold", zorder=4, bbox={"boxstyle": "round,pad=0.28", "facecolor": colour, "edgecolor": "none"},
    )  # fmt: skip

    if arrow.label and _has_room(graph, axes):
        upright = start[0] == end[0]  # what stands below would lie on the arrow
        axes.annotate(
            _cut(arrow.label, 24), place, (12, 0) if upright else (0, -8), xycoords="axes fraction",
            textcoords="offset points", ha="left" if upright else "center", va="center" if upright else "top",
            fontsize=7, color=colours.quiet, zorder=3, annotation_clip=False, bbox=_underlay(colours),
        )  # fmt: skip


def _underlay(colours: Colours) -> dict[str, object]:
    """Paper behind a text, so that arrows do not run through it."""
    return {"boxstyle": "round,pad=0.08", "facecolor": colours.paper, "edgecolor": "none", "alpha": 0.8}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _has_room(graph: Graph, axes: Any) -> bool:
    """Whether arrows are few and long enough to say what they are."""
    layers = max(len({place[0] for place in graph.places}), 2)
    return len(graph.arrows) <= 14 and axes.get_window_extent().width / (layers - 1) >= 190


def _disc(axes: Any, graph: Graph, at: int, name: str, sheet: Sheet) -> None:
    x, y = graph.places[at]
    colours = sheet.colours
    role = graph.roles[at]
    own = [arrow for arrow in graph.arrows if arrow.source == arrow.target == at]
    edge = _severity(colours, own[0].severity) if own else colours.ink
    face = {"attacker": colours.ink, "both": colours.series[3], "victim": colours.node}[role]
    axes.plot(
        [x], [y], marker="o", markersize=2 * _DISC, color=face, markeredgecolor=edge,
        markeredgewidth=2.4 if own else 1.2, zorder=5, clip_on=False,
    )  # fmt: skip
    layers = max(len({place[0] for place in graph.places}), 2)
    most = max(12, int(sheet.inner_width / (layers - 1) / 6.4))
    above = _name_stands_above(graph, at)
    axes.annotate(
        short(name, min(most, 40)), (x, y), (0, _DISC + 4 if above else -_DISC - 4), textcoords="offset points",
        ha="center", va="bottom" if above else "top", fontsize=8, color=colours.ink, zorder=6, annotation_clip=False,
        bbox=_underlay(colours),
    )  # fmt: skip


def _name_stands_above(graph: Graph, at: int) -> bool:
    """Whether arrows of the same layer come or go below a disc and none above it; below is where names stand else."""
    joined = {arrow.source if arrow.target == at else arrow.target for arrow in graph.arrows if at in _ends(arrow)}
    x, y = graph.places[at]
    beside = [graph.places[each][1] for each in joined if graph.places[each][0] == x and each != at]
    return bool(beside) and min(beside) > y


def _ends(arrow: Arrow) -> tuple[int, int]:
    return arrow.source, arrow.target


def _key(sheet: Sheet, graph: Graph) -> None:
    colours = sheet.colours
    said = {arrow.severity for arrow in graph.arrows}
    words = {1: "severity 1", 2: "severity 2", 3: "severity 3 and above"}
    levels = sorted({min(each, 3) for each in said if each is not None})
    handles = [Line2D([], [], color=_severity(colours, level), linewidth=2.5, label=words[level]) for level in levels]
    faces = {"attacker": colours.ink, "both": colours.series[3], "victim": colours.node}
    names = {"attacker": "attacks", "both": "was attacked, then attacks", "victim": "is attacked"}
    handles += [
        Line2D(
            [], [], linestyle="", marker="o", markersize=8, color=faces[role], markeredgecolor=colours.ink,
            label=names[role],
        )
        for role in faces if role in graph.roles
    ]  # fmt: skip
    narrow = sheet.width < 560
    found = sheet.axes.legend(
        handles=handles[: 4 if narrow else None], loc="upper center", frameon=False, fontsize=7.5 if narrow else 8,
        bbox_to_anchor=(0.5, -12 / max(sheet.height - 92, 1)), ncols=2 if narrow else len(handles), columnspacing=1.4,
        handletextpad=0.5, borderaxespad=0,
    )  # fmt: skip
    for text in found.get_texts():
        text.set_color(colours.ink)


def _severity(colours: Colours, level: int | None) -> str:
    return colours.severities[2 if level is None else max(0, min(level, 3) - 1)]
