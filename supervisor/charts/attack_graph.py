"""The graph of who did what to whom: rows into nodes and arrows, few enough to be read, laid out from left to right.

A host that is first seen as a target stands one layer to the right of who attacked it, so that a chain of attacks
reads as a line. Within a layer hosts stand beside their neighbours. Time orders the steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import polars as pl

from ghcm.panels import Panel
from ghcm.supervisor.charts.drawing import Arrow, Graph
from ghcm.supervisor.charts.text import clean

_SWEEPS = 4
_FEW = 3
"""So many targets of one attacker that did nothing themselves stand by themselves; more stand together."""


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    steps: tuple[int, ...]
    label: str
    severity: int | None
    count: int


def graph_of(panel: Panel, frame: pl.DataFrame) -> Graph:
    """The graph that the rows tell."""
    edges = _edges(panel, frame)
    known = len({name for edge in edges for name in (edge.source, edge.target)})
    edges, left_out = _fewer(_together(edges), panel.shown)
    names = list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))
    layers = _layers(edges)
    ordered = _ordered(names, layers, edges)
    index = {name: at for at, name in enumerate(names)}
    arrows = [
        Arrow(index[edge.source], index[edge.target], _ranges(edge.steps), edge.label, edge.severity, edge.count)
        for edge in edges
    ]
    note = f"{known:,} hosts" + (f", {left_out:,} not shown" if left_out else "")
    places = _places(ordered)
    return Graph(
        title=panel.title,
        note=note if edges else "",
        names=names,
        roles=[_role(name, edges) for name in names],
        places=[list(places[name]) for name in names],
        rows=max((len(layer) for layer in ordered), default=0),
        arrows=arrows,
    )


def _edges(panel: Panel, frame: pl.DataFrame) -> list[_Edge]:
    """An edge for each pair of hosts, in the order of their first steps. Steps are numbers of the program's, or places
    in the order of time.
    """
    assert panel.source is not None and panel.target is not None
    wanted = {"source": panel.source, "target": panel.target}
    wanted |= {name: column for name in ("step", "label", "severity") if (column := getattr(panel, name)) is not None}
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
        severities = [int(cast("float", row["severity"])) for row in found if row.get("severity") is not None]
        worst = min(found, key=lambda row: cast("float", row.get("severity") or 99))
        label = clean(worst.get("label") or "")
        edges.append(_Edge(source, target, tuple(steps), label, min(severities, default=None), len(found)))
    return edges


def _together(edges: Sequence[_Edge]) -> list[_Edge]:
    """Many targets of one attacker, of which nothing more is told, as one node."""
    arrivals: dict[str, int] = defaultdict(int)
    for edge in edges:
        arrivals[edge.target] += 1
    sources = {edge.source for edge in edges}
    ends: dict[tuple[str, int | None], list[_Edge]] = defaultdict(list)
    for edge in edges:
        if edge.target not in sources and arrivals[edge.target] == 1:
            ends[edge.source, edge.severity].append(edge)
    kept: list[_Edge] = []
    for edge in edges:
        group = ends.get((edge.source, edge.severity), [])
        if len(group) <= _FEW or edge not in group:
            kept.append(edge)
        elif edge is group[0]:
            steps = tuple(sorted({step for each in group for step in each.steps}))
            name = f"{len(group)} hosts such as {edge.target}"
            kept.append(replace(edge, target=name, steps=steps, count=sum(each.count for each in group)))
    return kept


def _fewer(edges: Sequence[_Edge], most: int) -> tuple[list[_Edge], int]:
    """The worst edges among at most so many hosts, twice as many at most, and how many hosts are left out."""
    names = {name for edge in edges for name in (edge.source, edge.target)}
    if len(names) <= most and len(edges) <= 2 * most:
        return list(edges), 0
    kept: list[_Edge] = []
    shown: set[str] = set()
    for edge in sorted(edges, key=lambda each: (each.severity or 99, -each.count, each.steps)):
        more = shown | {edge.source, edge.target}
        if len(more) <= most and len(kept) < 2 * most:
            shown = more
            kept.append(edge)
    return [edge for edge in edges if edge in kept], len(names) - len(shown)


def _layers(edges: Sequence[_Edge]) -> dict[str, int]:
    layers: dict[str, int] = {}
    for edge in edges:
        layers.setdefault(edge.source, layers.get(edge.target, 1) - 1)
        layers.setdefault(edge.target, layers[edge.source] + 1)
    first = min(layers.values(), default=0)
    return {name: layer - first for name, layer in layers.items()}


def _ordered(names: Sequence[str], layers: dict[str, int], edges: Sequence[_Edge]) -> list[list[str]]:
    """The hosts of each layer from top to bottom, so that few arrows cross."""
    ordered = [[name for name in names if layers[name] == at] for at in range(max(layers.values(), default=-1) + 1)]
    near: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    for sweep in range(_SWEEPS):
        for layer in ordered if sweep % 2 == 0 else ordered[::-1]:
            places = {name: place[1] for name, place in _places(ordered).items()}
            layer.sort(key=lambda name: sum(places[each] for each in near[name]) / len(near[name]))
    return ordered


def _places(ordered: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    width = max(len(ordered) - 1, 1)
    return {
        name: (at / width, (row + 0.5) / len(layer))
        for at, layer in enumerate(ordered)
        for row, name in enumerate(layer)
    }


def _role(name: str, edges: Sequence[_Edge]) -> str:
    """attacker, victim, or both: who was attacked and attacks others."""
    attacks = any(edge.source == name != edge.target for edge in edges)
    suffers = any(edge.target == name for edge in edges)
    return "both" if attacks and suffers else "attacker" if attacks else "victim"


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
