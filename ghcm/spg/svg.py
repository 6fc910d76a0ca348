"""The SPG as a picture: boxes for tasks, sinks and caches, and edges of two colours, data and instructions.

Plain SVG text, drawn here without any program of the system. Units stand side by side, sinks and caches between them,
a unit's tasks go downwards. The same program gives the same bytes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from ghcm.spg.connectors import text_of
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.labels import summary
from ghcm.spg.layout import Layout, Point, Size, lay_out
from ghcm.spg.ops import Fused, Op, Publish, ReadSink, ReadTable, To
from ghcm.spg.text import print_exchange
from ghcm.spg.traits import Role, State, traits_of

DATA, CALL, _INK, _PALE = "#2f6fb0", "#c4572e", "#1f2933", "#66727f"
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


def path_of(*steps: float | str) -> str:
    """The words of a path: letters, and behind each its numbers.

    >>> path_of("M", 1.0, 2.5, "H", 3.0)
    'M1 2.5 H3'
    """
    words = " ".join(step if isinstance(step, str) else number(step) for step in steps)
    return re.sub(r"([A-Za-z]) ", r"\1", words)


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
    parts = [path_of("M", *points[0])]
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = max(24.0, abs(x2 - x1) / 2) if sideways else max(16.0, abs(y2 - y1) / 2)
        right, down = (bend, 0.0) if sideways else (0.0, bend)
        ends = ((x1 + right, y1 + down), (x2 - right, y2 - down), (x2, y2))
        parts.append(f"C{', '.join(path_of(*end) for end in ends)}")
    return " ".join(parts)


def xml_text(text: str) -> str:
    """Text that XML can hold."""
    return escape("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text))


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
        return (path_of("M", *point) if right else "", point)
    boxes = blocks[name].boxes
    (own_x, own_y), (own_width, own_height) = boxes[task]
    middle = own_y + own_height / 2
    layer = [(a, b) for a, b in boxes.values() if abs(a[1] + b[1] / 2 - middle) < 1]
    beyond = [a for a, _ in layer if (a[0] > own_x if right else a[0] < own_x)]
    near = (x + own_x + (own_width if right else -2), y + middle)
    if not beyond:
        point = (side, near[1])
        return (path_of("M", *near, "H", side) if right else path_of("H", near[0]), point)
    centre = x + own_x + own_width / 2
    if right:
        gap = y + max(a[1] + b[1] for a, b in layer) + 12 + 6 * len(beyond)
        start = ("M", centre, y + own_y + own_height, "V", gap - 8)
        return (path_of(*start, "Q", centre, gap, centre + 8, gap, "H", side), (side, gap))
    gap = y + min(a[1] for a, _ in layer) - 12 - 6 * len(beyond)
    return (path_of("H", centre - 8, "Q", centre, gap, centre, gap + 8, "V", y + own_y - 2), (side, gap))


def draw_connector(kind: str, lines: tuple[str, str], corner: Point, size: Size) -> Iterator[str]:
    """A sink as a drum, a cache as a pill."""
    (x, y), (width, height) = corner, size
    if kind == "sink":
        forth, back = ("a", width / 2, 7, 0, 0, 0, width, 0), ("a", width / 2, 7, 0, 0, 0, -width, 0)
        sides = path_of("M", x, y + 7, "v", height - 14, *forth, "v", 14 - height)
        yield element("path", d=sides, fill="#eaf1f8", stroke=DATA)
        yield element("path", d=path_of("M", x, y + 7, *forth, *back), fill="#f6fafd", stroke=DATA)
    else:
        yield element("rect", x=x, y=y, width=width, height=height, rx=height / 2, fill="#fbeee8", stroke=CALL)
    below = y + height / 2 + (9 if kind == "sink" else 4)
    for class_, line, shift in (("id", lines[0], -6), ("type", lines[1], 8)):
        place = {"x": x + width / 2, "y": below + shift}
        yield element("text", xml_text(line), class_=class_, text_anchor="middle", **place)


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
    return [f'<g transform="translate({path_of(*corner)})">', *body, "</g>"]


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
    labels = [
        _edge_label(unit, edge.producer, task, print_exchange(edge.exchange, str))
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
        if labels[index]:
            near = through[-1] if through else first
            x, y = (near[0] + last[0]) / 2, (max(near[1], last[1] - 50) + last[1]) / 2 + 4
            yield element("text", xml_text(labels[index]), class_="way", text_anchor="middle", x=x, y=y)


def _edge_label(unit: Unit, producer: str, task: Task, exchange: str) -> str:
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
