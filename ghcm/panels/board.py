"""The board of a program: its panels, read from the TOML file beside it (`traffic.watch.toml` of `traffic.istream`).

All mistakes come at once, with their positions. A program without such a file has a board made from its sinks.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ghcm.errors import Diagnostics, suggest
from ghcm.panels.panel import KINDS, LEVELS, OPTIONS, WORDS, Panel, check, is_number, options_of
from ghcm.source import Source, Span
from ghcm.spg.connectors import unreadable
from ghcm.spg.graph import Program
from ghcm.types import Timestamp, strip

BOARD_SUFFIX = ".watch.toml"

_CODE = "GHCM-620"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TABLE = 'a table of texts such as { up = "good" }'
_WANTED = {
    "text": "a text",
    "texts": "a text or a list of texts",
    "count": "a number from 1 to 10,000",
    "seconds": 'a time such as "90s", "5m" or "1h"',
    "flag": "true or false",
    "pairs": _TABLE,
    "levels": f"{_TABLE}, each {' or '.join(LEVELS)}",
}
_FIELDS = {word: name for name, word in WORDS.items()}


@dataclass(frozen=True, slots=True)
class Board:
    """What people on watch see of a program."""

    title: str
    panels: tuple[Panel, ...]

    def panel(self, name: str) -> Panel | None:
        """The panel of that name."""
        return next((panel for panel in self.panels if panel.name == name), None)


def board_file(path: Path, program: str) -> Path | None:
    """Where panels of the program in this file are declared: beside it, under the file's name or the program's."""
    candidates = (path.with_suffix(BOARD_SUFFIX), path.with_name(f"{program}{BOARD_SUFFIX}"))
    return next((each for each in candidates if each.is_file()), None)


def board_of(program: Program, text: str | None, name: str) -> Board:
    """The board that the text declares, or the default one where there is none."""
    return default_board(program) if text is None else read_board(text, name, program)


def read_board(text: str, name: str, program: Program) -> Board:
    """The board that a file declares for the program. ProgramError with all mistakes; `name` is the file's."""
    reader = _Reader(Source(name, text), program)
    board = reader.board()
    reader.found.check()
    return board


def default_board(program: Program) -> Board:
    """A table of each sink, below a chart of it over time where it has a time and a number."""
    panels: list[Panel] = []
    for sink in program.sinks:
        if unreadable(sink.connector):
            continue
        columns = sink.columns
        time = next((each.name for each in columns.fields if isinstance(strip(each.type), Timestamp)), None)
        number = next((each.name for each in columns.fields if is_number(each)), None)
        if time is not None and number is not None:
            title = f"{sink.name}: {number}"
            panels.append(Panel(title, sink.name, "line", x=time, y=(number,), last=3600.0))
        panels.append(Panel(sink.name, sink.name, "table", limit=20))
    return Board(program.name, tuple(panels))


class _Reader:
    def __init__(self, source: Source, program: Program) -> None:
        self.found = Diagnostics()
        self._source = source
        self._program = program
        self._sinks = {sink.name: sink for sink in program.sinks}
        self._begins = [match.start() for match in re.finditer(r"^\s*\[\[\s*panel\s*\]\]", source.text, re.MULTILINE)]

    def board(self) -> Board:
        try:
            data = tomllib.loads(self._source.text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"line (\d+), column (\d+)", str(error))
            start = self._source.offset(int(at[1]), int(at[2])) if at else 0
            span = Span(self._source, start, start + 1)
            self.found.error(_CODE, "the declaration of panels is no valid TOML", span, detail=f"{error}.")
            return Board(self._program.name, ())
        for key in data:
            if key not in ("title", "panel"):
                hint = suggest(key, ("title", "panel")) or "panels are declared under [[panel]]."
                self.found.error(_CODE, f'there is no "{key}" in a declaration of panels', self._at(-1, key), hint=hint)
        listed = data.get("panel", [])
        listed = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
        panels = [panel for index, each in enumerate(listed) if (panel := self._panel(index, each)) is not None]
        self._distinct(panels)
        self._drawn(panels)
        return Board(str(data.get("title", self._program.name)), tuple(panels))

    def _panel(self, index: int, given: Mapping[str, Any]) -> Panel | None:
        before = len(self.found.found)
        for name in ("title", "sink", "kind"):
            if name not in given:
                self.found.error(_CODE, f'the panel has no "{name}"', self._at(index, ""), hint=f'add {name} = "…".')
        kind = given.get("kind")
        allowed = options_of(kind) if isinstance(kind, str) and kind in KINDS else tuple(OPTIONS)
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key not in allowed:
                message = (
                    f'a panel of kind "{kind}" has no "{key}"' if key in OPTIONS else f'there is no option "{key}"'
                )
                hint = suggest(key, allowed)
                detail = f"There are {', '.join(allowed)}."
                self.found.error(_CODE, message, self._at(index, key), detail=detail, hint=hint)
                continue
            try:
                values[_FIELDS.get(key, key)] = _value(OPTIONS[key].form, value)
            except ValueError as error:
                self.found.error(_CODE, f'"{key}" has to be {error}', self._at(index, key))
        if len(self.found.found) > before:
            return None
        panel = Panel(**values)
        return panel if self._fits(index, panel) else None

    def _fits(self, index: int, panel: Panel) -> bool:
        sink = self._sinks.get(panel.sink)
        if sink is None:
            has = ", ".join(f'"{name}"' for name in self._sinks) or "none"
            message = f'program "{self._program.name}" has no sink "{panel.sink}"'
            hint = suggest(panel.sink, self._sinks)
            self.found.error(_CODE, message, self._at(index, "sink"), detail=f"It has {has}.", hint=hint)
            return False
        if why := unreadable(sink.connector):
            message = f'sink "{panel.sink}" cannot be shown'
            self.found.error(_CODE, message, self._at(index, "sink"), detail=why)
            return False
        mistakes = check(panel, sink.columns)
        for each in mistakes:
            message = f'sink "{sink.name}": {each.message}' if "column" in each.message else each.message
            span = self._at(index, each.option, each.found)
            self.found.error(_CODE, message, span, detail=each.detail, hint=each.hint)
        return not mistakes

    def _distinct(self, panels: list[Panel]) -> None:
        seen: set[str] = set()
        for index, panel in enumerate(panels):
            if panel.name in seen:
                hint = "give each panel a title of its own."
                self.found.error(_CODE, f'two panels have the name "{panel.name}"', self._at(index, "title"), hint=hint)
            seen.add(panel.name)

    def _drawn(self, panels: list[Panel]) -> None:
        graphs = [panel.title for panel in panels if panel.each is not None]
        for index, panel in enumerate(panels):
            if panel.graph and (panel.graph not in graphs or panel.key is None):
                message = f'there is no graph "{panel.graph}"' if panel.key else 'a story with a graph needs "key"'
                hint = suggest(panel.graph, graphs) or 'a graph that can be drawn for each value has "each".'
                self.found.error(_CODE, message, self._at(index, "graph"), hint=hint)

    def _at(self, index: int, key: str, value: str = "") -> Span:
        """Where an option of the panel of that number stands, or the head of the panel; -1: before all panels."""
        begin = self._begins[index] if 0 <= index < len(self._begins) else 0
        later = [start for start in self._begins if start > begin]
        end = later[0] if later and index >= 0 else len(self._source.text)
        match = re.compile(rf"^\s*(?:{re.escape(key)})\b.*$", re.MULTILINE).search(self._source.text, begin, end)
        if not key or match is None:
            head = re.compile(r"\S.*").search(self._source.text, begin)
            return Span(self._source, head.start(), head.end()) if head else Span(self._source, 0, 1)
        offset = self._source.text.find(f'"{value}"', match.start(), match.end()) if value else -1
        if offset >= 0:
            return Span(self._source, offset, offset + len(value) + 2)
        lead = len(match[0]) - len(match[0].lstrip())
        return Span(self._source, match.start() + lead, match.end())


def _value(form: str, given: object) -> object:
    """The value of an option of that form; ValueError says what it has to be."""
    match form, given:
        case ("text", str()) | ("flag", bool()):
            return given
        case "texts", str():
            return (given,)
        case "texts", list() if given and all(isinstance(each, str) for each in cast("list[object]", given)):
            return tuple(cast("list[str]", given))
        case "count", int(number) if not isinstance(number, bool) and 0 < number <= 10_000:
            return number
        case "seconds", int(number) | float(number) if not isinstance(number, bool) and number > 0:
            return float(number)
        case "seconds", str(text) if found := re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|d)", text):
            return float(found[1]) * _UNITS[found[2]]
        case (("pairs" | "levels"), dict()):
            pairs = cast("dict[str, object]", given).items()
            texts = {name: value if isinstance(value, str) else str(value).lower() for name, value in pairs}
            if form == "pairs" or all(value in LEVELS for value in texts.values()):
                return texts
        case _:  # anything else is no value of the form
            pass
    raise ValueError(_WANTED[form])
