"""A panel: which rows of which sink are shown, and as what; and whether these rows have what its options name.

Each field of `Panel` says what may stand there; with the table of kinds it drives the checks and the documentation.
Knows neither files nor drawing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, get_args, get_type_hints

from ghcm.errors import suggest
from ghcm.types import Bytes, Decimal, Duration, Field, Float, Int, Int32, List, Map, Struct, Timestamp, strip


@dataclass(frozen=True, slots=True)
class Option:
    """A word of a declaration. `form`: text, texts, count, seconds, flag, pairs or levels. `column`: what the column
    that it names has to hold (anything, scalar, number, time), or "" where it names none.
    """

    form: str
    column: str
    about: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown. `last` is in seconds, back from the newest moment of `time`; `top` 0: as many as suit the kind."""

    title: Annotated[str, Option("text", "", "what stands above the panel")]
    sink: Annotated[str, Option("text", "", "the sink whose rows are shown")]
    kind: Annotated[str, Option("text", "", "what the panel is")]
    x: Annotated[str | None, Option("text", "scalar", "the column along the axis")] = None
    y: Annotated[tuple[str, ...], Option("texts", "number", "the column, or columns, that are measured")] = ()
    by: Annotated[str | None, Option("text", "scalar", "the column that tells series, bars or tiles apart")] = None
    source: Annotated[str | None, Option("text", "scalar", "where an arrow begins")] = None
    target: Annotated[str | None, Option("text", "scalar", "where an arrow ends")] = None
    step: Annotated[str | None, Option("text", "scalar", "the column that puts the arrows in order")] = None
    label: Annotated[str | None, Option("text", "scalar", "what an arrow or a tile says")] = None
    severity: Annotated[str | None, Option("text", "number", "1 is the worst")] = None
    state: Annotated[str | None, Option("text", "scalar", "the column that says how it is")] = None
    each: Annotated[str | None, Option("text", "scalar", "the column of which each value has a picture of its own")] = (
        None
    )
    text: Annotated[str | None, Option("text", "scalar", "the column that tells it")] = None
    key: Annotated[str | None, Option("text", "scalar", "the column that finds the picture")] = None
    graph: Annotated[str, Option("text", "", "the title of the graph that draws it, of one value of its each")] = ""
    nodes: Annotated[str, Option("text", "", "what the nodes of a graph are, as in hosts")] = ""
    roles: Annotated[
        tuple[str, ...],
        Option("texts", "", "what a node is that arrows only leave, leave and reach, only reach: three texts"),
    ] = ()
    levels: Annotated[Mapping[str, str], Option("levels", "", "what a state means: good, warning or bad")] = field(
        default_factory=dict[str, str]
    )
    columns: Annotated[tuple[str, ...], Option("texts", "anything", "the columns of the table")] = ()
    time: Annotated[
        str | None, Option("text", "time", "the column that tells when; the first timestamp by default")
    ] = None
    last: Annotated[float | None, Option("seconds", "", "how far back from the newest moment, as in 5m")] = None
    where: Annotated[Mapping[str, str], Option("pairs", "", "columns and the values they must have")] = field(
        default_factory=dict[str, str]
    )
    order: Annotated[tuple[str, ...], Option("texts", "order", "columns, with - before those that go down")] = ()
    limit: Annotated[int, Option("count", "", "how many rows")] = 50
    top: Annotated[int, Option("count", "", "how many series, bars or nodes are shown by themselves")] = 0
    unit: Annotated[str, Option("text", "", "bytes, seconds, percent, or a word of your own")] = ""
    stacked: Annotated[bool, Option("flag", "", "series stand upon each other")] = False
    wide: Annotated[bool, Option("flag", "", "the panel takes the whole width")] = False

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
class Kind:
    """What a panel can be: the options it needs and those it also takes."""

    about: str
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


_TOP: Mapping[str, int] = {"line": 6, "bar": 10, "share": 6, "graph": 24, "state": 24}

LEVELS = ("good", "warning", "bad")
"""What a state can mean."""

WORDS: Mapping[str, str] = {"source": "from", "target": "to"}
"""Options that have another name in files and queries than here."""

OPTIONS: Mapping[str, Option] = {
    WORDS.get(name, name): get_args(hint)[1] for name, hint in get_type_hints(Panel, include_extras=True).items()
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


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a panel; `option` is the word of its declaration, `found` what stands there."""

    option: str
    found: str
    message: str
    detail: str = ""
    hint: str = ""


def check(panel: Panel, columns: Struct) -> list[Mistake]:
    """All that is wrong with showing these columns so."""
    kind = KINDS.get(panel.kind)
    if kind is None:
        hint = suggest(panel.kind, KINDS)
        return [Mistake("kind", panel.kind, f'there is no kind "{panel.kind}"', f"There are {', '.join(KINDS)}.", hint)]
    named = dict(_named(panel))
    missing = [name for name in kind.needs if not named.get(name)]
    found = [_missing(panel.kind, name) for name in missing]
    for option, names in named.items():
        for name in names:
            plain = name.removeprefix("-") if OPTIONS[option].column == "order" else name
            if (mistake := _column(option, plain, columns)) is not None:
                found.append(mistake)
    if panel.kind in CHARTS and panel.kind != "line" and len(panel.y) > 1:
        found.append(Mistake("y", panel.y[1], f'"{panel.kind}" measures one column, found {len(panel.y)}'))
    if panel.by is not None and len(panel.y) > 1:
        hint = "leave one of them out."
        found.append(Mistake("y", panel.y[1], '"by" and several columns "y" do not go together', hint=hint))
    if panel.roles and len(panel.roles) != 3:
        found.append(Mistake("roles", panel.roles[0], f'"roles" are three texts, found {len(panel.roles)}'))
    return found


def _named(panel: Panel) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The columns that each option of the panel names."""
    for part, (option, described) in zip(fields(panel), OPTIONS.items(), strict=True):
        if described.column:
            value: object = getattr(panel, part.name)
            if value:
                yield option, value if isinstance(value, tuple) else (str(value),)
    if panel.where:
        yield "where", tuple(panel.where)


def _missing(kind: str, option: str) -> Mistake:
    return Mistake(
        "kind", kind, f'"{kind}" needs "{option}"', f'"{option}" is {OPTIONS[option].about}.', f'add {option}="COLUMN".'
    )


def _column(option: str, name: str, columns: Struct) -> Mistake | None:
    field = columns.get(name)
    if field is None:
        has = ", ".join(f'"{each}"' for each in columns.names)
        hint = suggest(name, columns.names)
        return Mistake(option, name, f'there is no column "{name}"', f"There are {has}.", hint)
    wanted = OPTIONS[option].column
    if _fits(field, wanted):
        return None
    return Mistake(option, name, f'"{option}" cannot be the column "{name}": it is {field.type}, no {wanted}')


def _fits(field: Field, wanted: str) -> bool:
    match wanted:
        case "number":
            return is_number(field)
        case "time":
            return isinstance(strip(field.type), Timestamp)
        case "scalar" | "order" | "":
            return not isinstance(strip(field.type), Struct | List | Map | Bytes)
        case _:
            return True


def is_number(field: Field) -> bool:
    """Whether the column can be added up and measured."""
    return isinstance(strip(field.type), Int | Int32 | Float | Decimal | Duration)
