"""The SPG as a picture: boxes for tasks, sinks and caches, and edges of two colours, data and instructions.

Plain SVG text, drawn here without any program of the system. Units stand side by side, sinks and caches between them,
a unit's tasks go downwards. The same program gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.labels import summary
from ghcm.spg.layout import Layout, Point, Size, lay_out
from ghcm.spg.links import (
    CALL,
    DATA,
    Block,
    clip,
    connectors_of,
    curve,
    draw_connector,
    draw_link,
    element,
    links_of,
    number,
    text_width,
    way,
    xml_text,
)
from ghcm.spg.notation.graph import print_exchange
from ghcm.spg.ops import Fused, Op
from ghcm.spg.traits import Role, State, traits_of

_INK, _PALE = "#1f2933", "#66727f"
_PAD, _HEAD, _MARGIN = 18.0, 34.0, 24.0
_ABOVE, _BELOW = 34.0, 32.0
"""Room for links above the first layer and below the last."""
_LINE, _MOST = 15.0, 300.0
_STYLE = (
    "text{font-family:ui-sans-serif,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px}"
    f".id{{font-weight:600;fill:{_INK}}}.op{{fill:{_INK};font-size:11px}}.type{{fill:{_PALE};font-size:10.5px}}"
    f".unit{{font-weight:600;font-size:13px;fill:{_INK}}}.kind{{fill:{_PALE};font-size:11px}}"
    f".edge{{fill:none;stroke:{DATA};stroke-width:1.6}}.call{{fill:none;stroke:{CALL};stroke-width:1.6;"
    f"stroke-dasharray:6 4}}.way{{font-size:10px;fill:{DATA};paint-order:stroke;stroke:#fff;stroke-width:4px}}"
)


def draw(graph: Program | Unit, title: str = "") -> str:
    """The picture of a program, or of one unit alone; `title` is written above it."""
    units = graph.units if isinstance(graph, Program) else (graph,)
    blocks = {f"unit {unit.name}": _block(unit) for unit in units}
    sizes = {name: block.size for name, block in blocks.items()}
    connectors = connectors_of(graph) if isinstance(graph, Program) else {}
    sizes |= {
        name: (max(text_width(lines[0], 12), text_width(lines[1], 10.5)) + 36, 54.0)
        for name, (_, lines) in connectors.items()
    }
    caches = {unit.name: unit.cache for unit in units}
    links = [link for unit in units for link in links_of(unit, caches) if link.start in sizes and link.end in sizes]
    pairs = list(dict.fromkeys((link.start, link.end) for link in links))
    layout = lay_out({name: (size[1], size[0]) for name, size in sizes.items()}, pairs, (30, 84))
    top = _MARGIN + (30.0 if title else 0.0)
    corners = {name: (y + _MARGIN, x + top) for name, (x, y) in layout.corners.items()}
    grounds = [line for name, block in blocks.items() for line in _moved(block.body[:1], corners[name])]
    body = [line for name, block in blocks.items() for line in _moved(block.body[1:], corners[name])]
    for name, (kind, lines) in connectors.items():
        body += draw_connector(kind, lines, corners[name], sizes[name])
    routes = dict(zip(pairs, layout.routes, strict=True))
    edges = [draw_link(link, blocks, corners, sizes, routes[link.start, link.end], top) for link in links]
    size = (layout.size[1] + 2 * _MARGIN, layout.size[0] + top + _MARGIN)
    return "\n".join(_document(size, title, [*grounds, *edges, *body])) + "\n"


def _document(size: Size, title: str, body: Sequence[str]) -> Iterator[str]:
    width, height = (number(max(each, 60.0)) for each in size)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    yield f"<style>{_STYLE}</style>"
    for name, colour in (("data", DATA), ("call", CALL)):
        yield (
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            f'<path d="M0 0.8 L8 4 L0 7.2 z" fill="{colour}"/></marker>'
        )
    yield element("rect", width=width, height=height, fill="#ffffff")
    if title:
        yield element("text", xml_text(title), class_="unit", x=_MARGIN, y=30)
    yield from body
    yield "</svg>"


def _moved(body: Sequence[str], corner: Point) -> list[str]:
    return [f'<g transform="translate({way(*corner)})">', *body, "</g>"]


# --- units -----------------------------------------------------------------------------------------------------------


def _block(unit: Unit) -> Block:
    sizes = {task.id: _size(task) for task in unit.tasks}
    edges = [(edge.producer, task.id) for task in unit.tasks for edge in task.inputs if edge.producer in sizes]
    layout = lay_out(sizes, edges)
    parameters = ", ".join(f"{each.name}: {each.type}" for each in unit.parameters)
    heading = f"{unit.name}({parameters})" if unit.responsive else unit.name
    calls = sum(task.calls for task in unit.tasks)
    kind = f"{'responsive ' if unit.responsive else ''}{unit.kind}, {calls} calls, {len(unit.tasks)} tasks"
    shown = clip(heading, 13, 420)
    width = max(layout.size[0], text_width(shown, 13.5), text_width(kind, 11)) + 2 * _PAD
    shift = ((width - layout.size[0]) / 2, _HEAD + _ABOVE)
    corners = {id: (x + shift[0], y + shift[1]) for id, (x, y) in layout.corners.items()}
    size = (width, layout.size[1] + _HEAD + _ABOVE + _BELOW)
    body = [
        element("rect", width=size[0], height=size[1], rx=10, fill="#f4f6f8", stroke="#d3dae1"),
        element("text", f"<title>{xml_text(heading)}</title>{xml_text(shown)}", class_="unit", x=_PAD, y=24),
        element("text", xml_text(kind), class_="kind", x=_PAD, y=41),
        *_edges(unit, layout, edges, corners, sizes, shift),
        *(line for task in unit.tasks for line in _box(task, corners[task.id], sizes[task.id])),
    ]
    return Block(size, tuple(body), {id: (corners[id], sizes[id]) for id in sizes})


def _lines(task: Task) -> list[tuple[str, str, float]]:
    """Class, text and font size of each line in a box."""
    marks = (f" \N{MULTIPLICATION SIGN}{task.parallelism}" if task.parallelism > 1 else "") + (
        f" ({task.calls} calls)" if task.calls > 1 else ""
    )
    lines = [("id", task.id + marks, 12.5), ("op", summary(task.op), 11.0)]
    if isinstance(task.op, Fused):
        lines += [("op", f"\N{MIDDLE DOT} {stage.id}: {summary(stage.op)}", 11.0) for stage in task.op.stages]
    return [*lines, ("type", str(task.collection), 10.5)]


def _size(task: Task) -> Size:
    lines = _lines(task)
    width = max(text_width(text, size) for _, text, size in lines)
    return (min(max(width, 90.0), _MOST) + 26, len(lines) * _LINE + 14)


def _box(task: Task, corner: Point, size: Size) -> Iterator[str]:
    x, y = corner
    lines = _lines(task)
    yield element("rect", x=x, y=y, width=size[0], height=size[1], rx=6, fill="#ffffff", stroke="#aab4be")
    yield element("rect", x=x + 5, y=y + 6, width=3, height=size[1] - 12, rx=1.5, fill=_stripe(task.op))
    for index, (class_, text, font) in enumerate(lines):
        shown = clip(text, font, _MOST)
        full = f"<title>{xml_text(text)}</title>" if shown != text else ""
        yield element("text", f"{full}{xml_text(shown)}", class_=class_, x=x + 16, y=y + 18 + index * _LINE)


def _stripe(op: Op) -> str:
    """The colour of an operation's stripe: by where it stands and whether it keeps state."""
    facts = traits_of(op)
    match facts.role:
        case Role.SOURCE:
            return "#3c8d5a"
        case Role.SINK | Role.REPLY:
            return "#b0842f"
        case Role.CALL:
            return CALL
        case Role.TRANSFORM:
            return "#2f6fb0" if facts.state is State.NONE else "#7a55a8"


def _edges(
    unit: Unit,
    layout: Layout,
    edges: Sequence[tuple[str, str]],
    corners: Mapping[str, Point],
    sizes: Mapping[str, Size],
    shift: Point,
) -> Iterator[str]:
    ways = [
        _way(unit, edge.producer, task, print_exchange(edge.exchange, str))
        for task in unit.tasks
        for edge in task.inputs
        if edge.producer in sizes
    ]
    leaving, coming = _ports(edges, corners, sizes), _ports([(b, a) for a, b in edges], corners, sizes)
    for index, (start, end) in enumerate(edges):
        first = (leaving[index], corners[start][1] + sizes[start][1])
        last = (coming[index], corners[end][1] - 2)
        through = [(x + shift[0], y + shift[1]) for x, y in layout.routes[index]]
        yield element("path", class_="edge", marker_end="url(#data)", d=curve([first, *through, last]))
        if ways[index]:
            near = through[-1] if through else first
            x, y = (near[0] + last[0]) / 2, (max(near[1], last[1] - 50) + last[1]) / 2 + 4
            yield element("text", xml_text(ways[index]), class_="way", text_anchor="middle", x=x, y=y)


def _way(unit: Unit, producer: str, task: Task, exchange: str) -> str:
    """The exchange, and from how many instances to how many where it is more than one."""
    before = unit.task(producer).parallelism
    moved = before != task.parallelism or (exchange and before > 1)
    return " ".join(filter(None, (exchange, f"{before}\N{RIGHTWARDS ARROW}{task.parallelism}" if moved else "")))


def _ports(edges: Sequence[tuple[str, str]], corners: Mapping[str, Point], sizes: Mapping[str, Size]) -> list[float]:
    """Where each edge leaves its first box: side by side, in the order of the boxes at their other ends."""
    by_box: dict[str, list[int]] = {}
    for index, (start, _) in enumerate(edges):
        by_box.setdefault(start, []).append(index)
    found = [0.0] * len(edges)
    for name, indices in by_box.items():
        indices.sort(key=lambda index: corners[edges[index][1]][0] + sizes[edges[index][1]][0] / 2)
        for rank, index in enumerate(indices, 1):
            found[index] = corners[name][0] + sizes[name][0] * (0.5 + (rank / (len(indices) + 1) - 0.5) * 0.7)
    return found
