"""A layered layout of boxes: longest-path layers, barycentre ordering, and positions that pull neighbours together.

Serves the pictures of an SPG and the graphs among the Supervisor's charts; knows sizes and edges only. It works
downwards; a caller who wants it sideways swaps widths and heights before and coordinates after. Edges that point
backwards (in circles) are laid out as if they pointed forwards. The same input gives the same layout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[float, float]
_Node: TypeAlias = tuple[str, int]
"""A box's name and -1, or (for a point that an edge goes through) the edge's number and its layer."""
_ORDERING_SWEEPS, _PULLING_SWEEPS = 12, 24


@dataclass(frozen=True, slots=True)
class Layout:
    """Left upper corners of the boxes, for each edge the points between its boxes, and the whole size."""

    corners: Mapping[str, Point]
    routes: Sequence[Sequence[Point]]
    size: Size


def lay_out(sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], gap: Size = (36, 52)) -> Layout:
    """Place boxes of these sizes; `gap` is the least distance between neighbours and between layers."""
    layer_of = _layers(list(sizes), edges)
    layers: list[list[_Node]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name, layer in layer_of.items():
        layers[layer].append((name, -1))
    chains = [_chain(number, edge, layer_of, layers) for number, edge in enumerate(edges)]
    links = [link for chain in chains for link in pairwise(chain)]
    above, below = _neighbours(links, 1), _neighbours(links, 0)
    _order(layers, above, below)
    width_of = {node: sizes[node[0]][0] if node[1] < 0 else 8.0 for layer in layers for node in layer}
    centres = _pull(layers, above, below, width_of, gap[0])
    tops, bottom = _tops(layers, sizes, gap[1])
    corners = {
        node[0]: (centres[node] - width_of[node] / 2, tops[index] + (_height(layer, sizes) - sizes[node[0]][1]) / 2)
        for index, layer in enumerate(layers)
        for node in layer
        if node[1] < 0
    }
    middles = {node: tops[i] + _height(layer, sizes) / 2 for i, layer in enumerate(layers) for node in layer}
    routes = [[(centres[node], middles[node]) for node in chain[1:-1]] for chain in chains]
    right = max((corner[0] + sizes[name][0] for name, corner in corners.items()), default=0.0)
    return Layout(corners, routes, (max([right, *(x for route in routes for x, _ in route)]), bottom))


def _layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The layer of each box: one below all that lead to it; edges that close a circle do not count."""
    closing = _closing(names, edges)
    before: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        if (start, end) not in closing:
            before[end].append(start)
    layers: dict[str, int] = {}

    def layer(name: str) -> int:
        if name not in layers:
            layers[name] = 1 + max(map(layer, before[name]), default=-1)
        return layers[name]

    return {name: layer(name) for name in names}


def _closing(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that lead back to where a walk along the edges, from the first boxes on, has come from."""
    after: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        after[start].append(end)
    closing: set[tuple[str, str]] = set()
    on_the_way: set[str] = set()
    done: set[str] = set()

    def walk(name: str) -> None:
        on_the_way.add(name)
        for end in after[name]:
            if end in on_the_way:
                closing.add((name, end))
            elif end not in done:
                walk(end)
        on_the_way.discard(name)
        done.add(name)

    for name in names:
        if name not in done:
            walk(name)
    return closing


def _chain(number: int, edge: tuple[str, str], layer_of: Mapping[str, int], layers: list[list[_Node]]) -> list[_Node]:
    """The nodes that an edge goes through; makes the points between its ends."""
    start, end = ((name, -1) for name in edge)
    first, last = layer_of[edge[0]], layer_of[edge[1]]
    between = [(f"#{number}", layer) for layer in range(min(first, last) + 1, max(first, last))]
    for node in between:
        layers[node[1]].append(node)
    return [start, *(between if first <= last else reversed(between)), end]


def _neighbours(links: Sequence[tuple[_Node, _Node]], of: int) -> dict[_Node, list[_Node]]:
    found: dict[_Node, list[_Node]] = {}
    for link in links:
        found.setdefault(link[of], []).append(link[1 - of])
    return found


def _order(layers: list[list[_Node]], above: Mapping[_Node, list[_Node]], below: Mapping[_Node, list[_Node]]) -> None:
    """Sort each layer by the mean index of its neighbours, downwards and upwards in turn, and keep the best order."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    for sweep in range(_ORDERING_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        index_of = {node: index for layer in layers for index, node in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            means = {
                node: _mean([index_of[each] for each in neighbours.get(node, [])], index_of[node]) for node in layer
            }
            layer.sort(key=means.__getitem__)
            index_of |= {node: index for index, node in enumerate(layer)}
        count = _crossings(layers, below)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(layers: Sequence[Sequence[_Node]], below: Mapping[_Node, list[_Node]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        index_of = {node: index for index, node in enumerate(lower)}
        ends = [
            index_of[end]
            for node in upper
            for end in sorted(below.get(node, []), key=lambda n: index_of.get(n, -1))
            if end in index_of
        ]
        count += sum(one > other for index, one in enumerate(ends) for other in ends[index + 1 :])
    return count


def _pull(
    layers: Sequence[Sequence[_Node]],
    above: Mapping[_Node, list[_Node]],
    below: Mapping[_Node, list[_Node]],
    width_of: Mapping[_Node, float],
    gap: float,
) -> dict[_Node, float]:
    """Horizontal centres: each node near the mean of its neighbours, the order of a layer and its gaps kept."""
    centres: dict[_Node, float] = {}
    for layer in layers:
        centres |= _spread(layer, dict.fromkeys(layer, 0.0), width_of, gap)
    for sweep in range(_PULLING_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            near = above if sweep % 2 == 0 else below
            wished = {n: _mean([centres[each] for each in near.get(n, [])], centres[n]) for n in layer}
            centres |= _spread(layer, wished, width_of, gap)
    left = min((centre - width_of[node] / 2 for node, centre in centres.items()), default=0.0)
    return {node: centre - left for node, centre in centres.items()}


def _spread(
    layer: Sequence[_Node], wished: Mapping[_Node, float], width_of: Mapping[_Node, float], gap: float
) -> dict[_Node, float]:
    """Centres as near to the wished ones as order and gaps allow: touching nodes move as one to their mean wish."""
    blocks: list[tuple[list[_Node], list[float]]] = []  # nodes, and what each wishes the first one's centre to be
    for node in layer:
        nodes, wishes = [node], [wished[node]]
        while blocks:
            previous, theirs = blocks[-1]
            length = _offset(previous, width_of, gap) + (width_of[previous[-1]] + width_of[node]) / 2 + gap
            shift = length if len(nodes) == 1 else _offset([*previous, nodes[0]], width_of, gap)
            if _mean(theirs, 0) + shift <= _mean(wishes, 0):
                break
            blocks.pop()
            nodes, wishes = [*previous, *nodes], [*theirs, *(wish - shift for wish in wishes)]
        blocks.append((nodes, wishes))
    return {
        node: _mean(wishes, 0) + _offset(nodes[: index + 1], width_of, gap)
        for nodes, wishes in blocks
        for index, node in enumerate(nodes)
    }


def _offset(nodes: Sequence[_Node], width_of: Mapping[_Node, float], gap: float) -> float:
    """From the centre of the first to the centre of the last."""
    pairs = pairwise(nodes)
    return sum((width_of[one] + width_of[other]) / 2 + gap for one, other in pairs)


def _height(layer: Sequence[_Node], sizes: Mapping[str, Size]) -> float:
    return max((sizes[name][1] for name, number in layer if number < 0), default=0.0)


def _tops(layers: Sequence[Sequence[_Node]], sizes: Mapping[str, Size], gap: float) -> tuple[list[float], float]:
    tops: list[float] = []
    bottom = 0.0
    for layer in layers:
        tops.append(bottom)
        bottom += _height(layer, sizes) + gap
    return tops, max(0.0, bottom - gap)
