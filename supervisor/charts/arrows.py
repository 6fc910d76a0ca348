"""Draws graphs: nodes as discs, arrows with their steps between them, coloured by their levels."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from ghcm.supervisor.charts.drawing import Arrow, Graph, Order, Role, short
from ghcm.supervisor.charts.sheet import DPI, Colours, Sheet

_Point: TypeAlias = tuple[float, float]

_DISC = 11.0
"""Points of a disc's radius."""
_CLEAR = (_DISC + 1.5) * DPI / 72
"""Pixels from the middle of a disc to where an arrow begins or ends."""


def draw_graph(graph: Graph, order: Order) -> bytes:
    """The picture of the graph."""
    height = order.height or min(1200, max(220, 110 + round(graph.breadth)))
    sheet = Sheet(order, height, left=70, right=70, top=48, bottom=44)
    axes = sheet.axes
    axes.set_axis_off()
    if not graph.arrows:
        return sheet.empty()
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
    colour = _colour(colours, arrow.level)
    box = axes.get_window_extent()  # lines bend in pixels, so that their middles are found there

    def fraction(point: _Point) -> _Point:
        return ((point[0] - box.x0) / box.width, (point[1] - box.y0) / box.height)

    path, middle = _route(axes, graph, arrow)
    axes.add_artist(  # not add_patch, which measures it for limits that are set
        FancyArrowPatch(
            path=Path([fraction(point) for point in path.vertices], path.codes),
            transform=axes.transAxes,
            arrowstyle="-|>,head_length=5,head_width=3",
            linewidth=1.2 + min(2.4, math.log10(arrow.count + 1)),
            color=colour,
            alpha=0.9,
            zorder=2,
        )
    )
    axes.text(
        *fraction(middle), arrow.steps, transform=axes.transAxes, fontsize=7.5, color=colours.paper, ha="center",
        va="center", fontweight="bold", zorder=4,
        bbox={"boxstyle": "round,pad=0.28", "facecolor": colour, "edgecolor": "none"},
    )  # fmt: skip
    if arrow.label and len(graph.arrows) <= 14 and box.width / (_layers(graph) - 1) >= 190:  # few and long enough
        label = arrow.label if len(arrow.label) <= 24 else f"{arrow.label[:23]}…"
        axes.annotate(
            label, fraction(middle), (0, -8), xycoords="axes fraction", textcoords="offset points",
            ha="center", va="top", fontsize=7, color=colours.quiet, zorder=3, annotation_clip=False,
            bbox=_underlay(colours),
        )  # fmt: skip


def _route(axes: Any, graph: Graph, arrow: Arrow) -> tuple[Any, _Point]:
    """The line of an arrow in pixels, between the discs that it joins, and its middle."""
    ends = graph.points[arrow.source], graph.points[arrow.target]
    points: list[_Point] = [(x, y) for x, y in axes.transData.transform([ends[0], *arrow.through, ends[1]])]
    start, end = points[0], points[-1]
    if arrow.through:
        return _sweep(points), points[len(points) // 2]
    back = start[0] > end[0] or any(
        each.source == arrow.target and each.target == arrow.source for each in graph.arrows
    )
    bend = 0.22 if back else 0.06
    across = (end[1] - start[1], start[0] - end[0])
    control = tuple((start[at] + end[at]) / 2 + bend * across[at] for at in (0, 1))
    curve = [_nearer(start, control), control, _nearer(end, control)]
    return Path(curve, [Path.MOVETO, Path.CURVE3, Path.CURVE3]), _mean(_mean(start, end), control)


def _sweep(points: Sequence[_Point]) -> Any:
    """A line that goes through each point sideways."""
    way = math.copysign(_CLEAR, points[-1][0] - points[0][0])
    trimmed = [(points[0][0] + way, points[0][1]), *points[1:-1], (points[-1][0] - way, points[-1][1])]
    curve, codes = [trimmed[0]], [Path.MOVETO]
    for (x0, y0), (x1, y1) in pairwise(trimmed):
        curve += [((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
        codes += [Path.CURVE4] * 3
    return Path(curve, codes)


def _nearer(point: _Point, to: Sequence[float]) -> _Point:
    """The point where a line from the middle of a disc leaves its surroundings."""
    part = _CLEAR / max(math.dist(point, to), _CLEAR)
    return (point[0] + part * (to[0] - point[0]), point[1] + part * (to[1] - point[1]))


def _mean(one: Sequence[float], other: Sequence[float]) -> _Point:
    return ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)


def _underlay(colours: Colours) -> dict[str, object]:
    """Paper behind a text, so that arrows do not run through it."""
    return {"boxstyle": "round,pad=0.08", "facecolor": colours.paper, "edgecolor": "none", "alpha": 0.8}


def _layers(graph: Graph) -> int:
    return max(len({point[0] for point in graph.points}), 2)


def _disc(axes: Any, graph: Graph, at: int, name: str, sheet: Sheet) -> None:
    x, y = graph.points[at]
    colours = sheet.colours
    own = [arrow for arrow in graph.arrows if arrow.source == arrow.target == at]
    axes.plot(
        [x], [y], marker="o", markersize=2 * _DISC, color=_faces(colours)[graph.roles[at]],
        markeredgecolor=_colour(colours, own[0].level) if own else colours.ink,
        markeredgewidth=2.4 if own else 1.2, zorder=5, clip_on=False,
    )  # fmt: skip
    most = max(12, int(sheet.inner_width / (_layers(graph) - 1) / 6.4))
    axes.annotate(
        short(name, min(most, 40)), (x, y), (0, -_DISC - 4), textcoords="offset points", ha="center", va="top",
        fontsize=8, color=colours.ink, zorder=6, annotation_clip=False, bbox=_underlay(colours),
    )  # fmt: skip


def _key(sheet: Sheet, graph: Graph) -> None:
    colours = sheet.colours
    levels = sorted({min(arrow.level, 3) for arrow in graph.arrows if arrow.level is not None})
    said = {level: f"{graph.level} {level}{' and above' if level == 3 else ''}" for level in levels}
    handles = [Line2D([], [], color=_colour(colours, level), linewidth=2.5, label=text) for level, text in said.items()]
    handles += [
        Line2D(
            [], [], linestyle="", marker="o", markersize=8, color=face, markeredgecolor=colours.ink, label=name,
        )
        for (role, face), name in zip(_faces(colours).items(), graph.role_names, strict=True) if role in graph.roles
    ]  # fmt: skip
    if not handles:
        return
    narrow = sheet.width < 560
    sheet.axes.legend(
        handles=handles[: 4 if narrow else None], loc="upper center", frameon=False, fontsize=7.5 if narrow else 8,
        bbox_to_anchor=(0.5, -12 / max(sheet.height - 92, 1)), ncols=2 if narrow else len(handles), columnspacing=1.4,
        handletextpad=0.5, borderaxespad=0, labelcolor=colours.ink,
    )  # fmt: skip


def _faces(colours: Colours) -> dict[Role, str]:
    return {"source": colours.ink, "both": colours.series[3], "target": colours.node}


def _colour(colours: Colours, level: int | None) -> str:
    return colours.levels[2 if level is None else max(0, min(level, 3) - 1)]
