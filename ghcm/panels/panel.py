"""A panel: which rows of which sink are shown, and as what. The table of kinds drives the checks and the documentation.

Knows neither files nor drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Panel:
    """`source` and `target` stand as `from` and `to` in files and queries. `last` is in seconds, back from the newest
    moment of `time` (by default the first timestamp of the sink). `top` is how many series, bars or nodes are shown by
    themselves (0: as many as suit the kind); `limit` how many rows.
    """

    title: str
    sink: str
    kind: str
    x: str | None = None
    y: tuple[str, ...] = ()
    by: str | None = None
    source: str | None = None
    target: str | None = None
    step: str | None = None
    label: str | None = None
    severity: str | None = None
    state: str | None = None
    each: str | None = None
    text: str | None = None
    key: str | None = None
    graph: str = ""
    nodes: str = ""
    roles: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict[str, str])
    columns: tuple[str, ...] = ()
    time: str | None = None
    last: float | None = None
    where: Mapping[str, str] = field(default_factory=dict[str, str])
    order: tuple[str, ...] = ()
    limit: int = 50
    top: int = 0
    unit: str = ""
    stacked: bool = False
    wide: bool = False

    @property
    def shown(self) -> int:
        """How many series, bars, nodes or tiles are shown by themselves."""
        return self.top or _TOP.get(self.kind, 8)

    @property
    def name(self) -> str:
        """The panel's name in addresses.

        >>> Panel("Busiest hosts, now", "hosts", "bar").name
        'busiest-hosts-now'
        """
        words = "".join(char if char.isalnum() and char.isascii() else " " for char in self.title.lower()).split()
        return "-".join(words) or "panel"


@dataclass(frozen=True, slots=True)
class Option:
    """A word of a declaration. `form`: text, texts, count, seconds, flag, pairs or levels. `column`: what the column
    that it names has to hold (anything, scalar, number, time), or "" where it names none.
    """

    form: str
    column: str
    about: str


@dataclass(frozen=True, slots=True)
class Kind:
    """What a panel can be: the options it needs and those it also takes."""

    about: str
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


_TOP: Mapping[str, int] = {"line": 6, "bar": 10, "share": 6, "graph": 24, "state": 24}

LEVELS = ("good", "warning", "bad")
"""What a state can mean."""

OPTIONS: Mapping[str, Option] = {
    "title": Option("text", "", "what stands above the panel"),
    "sink": Option("text", "", "the sink whose rows are shown"),
    "kind": Option("text", "", "what the panel is"),
    "x": Option("text", "scalar", "the column along the axis"),
    "y": Option("texts", "number", "the column, or columns, that are measured"),
    "by": Option("text", "scalar", "the column that tells series, bars or tiles apart"),
    "from": Option("text", "scalar", "where an arrow begins"),
    "to": Option("text", "scalar", "where an arrow ends"),
    "step": Option("text", "scalar", "the column that puts the arrows in order"),
    "label": Option("text", "scalar", "what an arrow or a tile says"),
    "severity": Option("text", "number", "1 is the worst"),
    "state": Option("text", "scalar", "the column that says how it is"),
    "each": Option("text", "scalar", "the column of which each value has a picture of its own"),
    "text": Option("text", "scalar", "the column that tells it"),
    "key": Option("text", "scalar", "the column that finds the picture"),
    "graph": Option("text", "", "the title of the graph that draws it, of one value of its each"),
    "nodes": Option("text", "", "what the nodes of a graph are, as in hosts"),
    "roles": Option("texts", "", "what a node is that arrows only leave, leave and reach, only reach: three texts"),
    "levels": Option("levels", "", "what a state means: good, warning or bad"),
    "columns": Option("texts", "anything", "the columns of the table"),
    "time": Option("text", "time", "the column that tells when; the first timestamp by default"),
    "last": Option("seconds", "", "how far back from the newest moment, as in 5m"),
    "where": Option("pairs", "", "columns and the values they must have"),
    "order": Option("texts", "order", "columns, with - before those that go down"),
    "limit": Option("count", "", "how many rows"),
    "top": Option("count", "", "how many series, bars or nodes are shown by themselves"),
    "unit": Option("text", "", "bytes, seconds, percent, or a word of your own"),
    "stacked": Option("flag", "", "series stand upon each other"),
    "wide": Option("flag", "", "the panel takes the whole width"),
}

_ALWAYS = ("title", "sink", "kind", "time", "last", "where", "wide")

KINDS: Mapping[str, Kind] = {
    "line": Kind("measures over time or over numbers", ("x", "y"), ("by", "top", "unit", "stacked")),
    "bar": Kind("the greatest sums", ("x", "y"), ("top", "unit")),
    "share": Kind("parts of a whole; with x, over time", ("by", "y"), ("x", "top", "unit")),
    "graph": Kind(
        "nodes and the arrows between them",
        ("from", "to"),
        ("step", "label", "severity", "each", "top", "nodes", "roles"),
    ),
    "number": Kind("the newest value, large", ("y",), ("unit",)),
    "state": Kind("a tile for each thing, with how it is", ("by", "state"), ("levels", "label", "top")),
    "story": Kind("texts to be read, with a picture each", ("text",), ("key", "graph", "severity", "order", "limit")),
    "table": Kind("rows", (), ("columns", "order", "limit", "severity", "unit")),
}

CHARTS = ("line", "bar", "share", "graph")
"""The kinds that are drawn."""


def options_of(kind: str) -> tuple[str, ...]:
    """The options that a panel of this kind takes."""
    return (*_ALWAYS, *KINDS[kind].needs, *KINDS[kind].takes)
