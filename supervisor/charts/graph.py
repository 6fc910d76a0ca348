"""The graph of rows: nodes and the arrows between them, few enough to be read, laid out from left to right.

An arrow stands for all rows that lead from one node to another. The panel says which columns they are, which one orders
the arrows, labels them or colours them by a level, of which 1 is the worst, and in which words the nodes are spoken of.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import cast

import polars as pl

from ghcm.panels import Panel
from ghcm.spg.layout import Layout, lay_out
from ghcm.supervisor.charts.drawing import Arrow, Graph, Role, clean

_ROLES = ("source", "both", "target")
_NODE, _GAP = 40.0, 38.0
"""Pixels that a node takes in its layer, and those to the next."""
_FEW = 3
"""So many targets of one source that lead nowhere stand by themselves; more stand together."""


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    steps: tuple[int, ...]
    label: str
    level: int | None
    count: int


def graph_of(panel: Panel, frame: pl.DataFrame) -> Graph:
    """The graph that the rows tell."""
    edges = _edges(panel, frame)
    known = len(_names(edges))
    edges, left_out = _fewer(_together(edges, panel.nodes or "nodes"), panel.shown)
    names = _names(edges)
    between = [edge for edge in edges if edge.source != edge.target]
    layout = lay_out(dict.fromkeys(names, (_NODE, 1.0)), [(edge.source, edge.target) for edge in between], (_GAP, 1))
    routes = {(edge.source, edge.target): route for edge, route in zip(between, layout.routes, strict=True)}
    index = {name: at for at, name in enumerate(names)}
    arrows = [
        Arrow(
            index[edge.source],
            index[edge.target],
            [_point(layout, *point) for point in routes.get((edge.source, edge.target), ())],
            _ranges(edge.steps),
            edge.label,
            edge.level,
            edge.count,
        )
        for edge in edges
    ]
    note = f"{known:,} {panel.nodes or 'nodes'}" + (f", {left_out:,} not shown" if left_out else "")
    corners = (layout.corners[name] for name in names)
    return Graph(
        title=panel.title,
        note=note if edges else "",
        names=names,
        roles=[_role(name, edges) for name in names],
        points=[_point(layout, x + _NODE / 2, y + 0.5) for x, y in corners],
        breadth=layout.size[0] + _GAP,
        arrows=arrows,
        level=panel.severity or "",
        role_names=list(panel.roles or _ROLES),
    )


def _names(edges: Sequence[_Edge]) -> list[str]:
    return list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))


def _point(layout: Layout, across: float, along: float) -> list[float]:
    """A point of the layout, which goes downwards, as fractions of the width and the height of the picture."""
    breadth, length = layout.size
    return [(along - 0.5) / max(length - 1, 1), (across + _GAP / 2) / (breadth + _GAP)]


def _edges(panel: Panel, frame: pl.DataFrame) -> list[_Edge]:
    """An edge for each pair of nodes, by their first steps: numbers of the program's, or counted in column order."""
    assert panel.source is not None and panel.target is not None
    wanted = {"source": panel.source, "target": panel.target}
    optional = {"step": panel.step, "label": panel.label, "level": panel.severity}
    wanted |= {name: column for name, column in optional.items() if column is not None}
    rows = frame.select(pl.col(column).alias(name) for name, column in wanted.items())
    rows = rows.drop_nulls(["source", "target"])
    if "step" in wanted:
        rows = rows.sort("step", nulls_last=True, maintain_order=True)
    numbered = "step" in wanted and rows["step"].dtype.is_integer()
    met: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
    for row in rows.iter_rows(named=True):
        met[clean(row["source"]), clean(row["target"])].append(row)
    edges: list[_Edge] = []
    for at, ((source, target), found) in enumerate(met.items(), 1):
        steps = sorted({cast("int", row["step"]) for row in found if row["step"] is not None}) if numbered else [at]
        levels = [int(level) for row in found if (level := _level(row)) < inf]
        worst = min(found, key=_level)
        label = clean(worst.get("label") or "")
        edges.append(_Edge(source, target, tuple(steps), label, min(levels, default=None), len(found)))
    return edges


def _level(row: Mapping[str, object]) -> float:
    """How bad it is, 1 the worst of what is usual; infinite where nobody says."""
    level = row.get("level")
    found = inf if level is None else float(cast("float", level))
    return found if isfinite(found) else inf


def _together(edges: Sequence[_Edge], nodes: str) -> list[_Edge]:
    """Many targets of one source, of which nothing more is told, as one node."""
    arrivals: dict[str, int] = defaultdict(int)
    for edge in edges:
        arrivals[edge.target] += 1
    sources = {edge.source for edge in edges}
    ends: dict[tuple[str, int | None], list[_Edge]] = defaultdict(list)
    for edge in edges:
        if edge.target not in sources and arrivals[edge.target] == 1:
            ends[edge.source, edge.level].append(edge)
    kept: list[_Edge] = []
    for edge in edges:
        group = ends.get((edge.source, edge.level), [])
        if len(group) <= _FEW or edge not in group:
            kept.append(edge)
        elif edge is group[0]:
            steps = tuple(sorted({step for each in group for step in each.steps}))
            name = f"{len(group)} {nodes} such as {edge.target}"
            kept.append(replace(edge, target=name, steps=steps, count=sum(each.count for each in group)))
    return kept


def _fewer(edges: Sequence[_Edge], most: int) -> tuple[list[_Edge], int]:
    """The worst edges among at most so many nodes, twice as many at most, and how many nodes are left out."""
    names = _names(edges)
    if len(names) <= most and len(edges) <= 2 * most:
        return list(edges), 0
    kept: list[_Edge] = []
    shown: set[str] = set()
    for edge in sorted(edges, key=lambda each: (inf if each.level is None else each.level, -each.count, each.steps)):
        more = shown | {edge.source, edge.target}
        if len(more) <= most and len(kept) < 2 * most:
            shown = more
            kept.append(edge)
    return [edge for edge in edges if edge in kept], len(names) - len(shown)


def _role(name: str, edges: Sequence[_Edge]) -> Role:
    leaves = any(edge.source == name != edge.target for edge in edges)
    reached = any(edge.target == name for edge in edges)
    return "both" if leaves and reached else "source" if leaves else "target"


def _ranges(steps: Sequence[int]) -> str:
    """Numbers with what follows each other drawn together: 1, 3-5."""
    parts: list[list[int]] = []
    for step in steps:
        if parts and step == parts[-1][-1] + 1:
            parts[-1].append(step)
        else:
            parts.append([step])
    texts = [str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts]
    return ", ".join(texts[:3]) + (", …" if len(texts) > 3 else "")
