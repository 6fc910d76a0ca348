"""What the demo of the traffic monitor shows in the terminal, made of rows as the Supervisor answers them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

__all__ = [
    "alarms",
    "chain",
    "clean",
    "heading",
    "headline",
    "live",
    "moment",
    "one_line_each",
    "plain",
    "say",
    "screen",
    "several",
    "shown",
]

screen = Console(highlight=False, markup=False)

Rows = Sequence[dict[str, Any]]
BARS = " ▁▂▃▄▅▆▇█"
COLOURS = {"up": "green", "slow": "yellow", "failing": "red"}
SEVERITIES = {1: "red", 2: "yellow"}
WINDOWS = 20
"""So many windows the curve of connections shows."""


def plain(*titles: str) -> Table:
    """A table without lines."""
    return Table(*titles, box=None, pad_edge=False, header_style="dim")


def live(rows: Callable[..., Rows]) -> RenderableType:
    """The newest windows of ten seconds; `rows(sink, **query)` asks for rows, the newest first."""
    windows = rows("throughput", order="-start", limit=WINDOWS)
    side_by_side = Table.grid(padding=(0, 3))
    side_by_side.add_row(
        protocols(rows("protocols", last="9s", order="-bytes", limit=5)),
        hosts(rows("hosts", last="9s", order="-bytes", limit=5)),
        servers(rows("servers", order="-start", limit=20)),
    )
    latest = rows("alerts", order="-ts", limit=6)
    return Group(headline(windows), side_by_side, alarms(latest) if latest else Text("no alarm yet", style="dim"))


def headline(windows: Rows) -> Text:
    if not windows:
        return Text("no connection yet", style="dim")
    now = windows[0]
    told = f"connections {now['flows']:,}  bytes {decimal(now['bytes'])}  packets {now['packets']:,}"
    curve = sparkline([window["flows"] for window in reversed(windows)]) + "  " if len(windows) > 1 else ""
    return Text.assemble((moment(now["start"]), "bold"), "  ", (curve, "cyan"), told)


def sparkline(numbers: Sequence[int]) -> str:
    most = max(numbers, default=0) or 1
    return "".join(BARS[-(-number * (len(BARS) - 1) // most)] for number in numbers)


def protocols(rows: Rows) -> Table:
    table = plain("protocol", "share", "")
    for row in rows:
        table.add_row(row["proto"], f"{row['share']:4.0%}", Text("▇" * max(1, round(row["share"] * 8)), style="cyan"))
    return table


def hosts(rows: Rows) -> Table:
    table = plain("busiest hosts", "", "")
    most = max((row["bytes"] for row in rows), default=0) or 1
    for row in rows:
        bar = Text("▇" * max(1, row["bytes"] * 8 // most), style="cyan")
        table.add_row(row["host"], Text(decimal(row["bytes"]), justify="right"), bar)
    return table


def servers(rows: Rows) -> Table:
    """The latest word of each key server."""
    table = plain("key server", "state")
    latest: dict[str, str] = {}
    for row in rows:
        latest.setdefault(row["name"], row["state"])
    for name, state in sorted(latest.items()):
        table.add_row(name, Text(state, style=COLOURS.get(state, "")))
    return table


def alarms(rows: Rows) -> Table:
    table = plain("alarm", "rule", "from", "to", "")
    for row in rows:
        style = SEVERITIES.get(row["severity"], "")
        to = row["dst"] if row["port"] == 0 else f"{row['dst']}:{row['port']}"
        table.add_row(moment(row["ts"])[11:], Text(row["origin"], style=style), row["src"], to, Text(row["signature"]))
    return one_line_each(table)


def one_line_each(table: Table) -> Table:
    """A table in which only the last column is cut where the terminal is narrow."""
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[:-1]:
        column.min_width = max(len(str(cell)) for cell in (column.header, *column.cells))
    return table


def chain(row: dict[str, Any]) -> Text:
    """A chain as the program tells it, under the hosts that it leads over."""
    way = Text(" → ".join(row["hosts"]), style="bold")
    return Text("\n").join([way, *(Text(f"  {line}") for line in row["story"].splitlines())])


def moment(text: str) -> str:
    """Date and time of day, to the second."""
    return text[:19].replace("T", " ")


def shown(path: Path) -> Path:
    """A path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def heading(title: str, more: str) -> None:
    screen.print(Text.assemble("\n", (title, "bold"), "  ", (more, "dim")))


def say(text: str, aside: str = "") -> None:
    """A line that is not broken, so that it can be copied; less loud at its end."""
    screen.print(Text.assemble(text, (aside, "dim")), soft_wrap=True)


def several(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def clean(value: Any) -> Any:
    """What came over the network, without anything that a terminal would obey."""
    match value:
        case str():
            return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in value)
        case list():
            return [clean(each) for each in value]
        case dict():
            return {name: clean(each) for name, each in value.items()}
        case _:
            return value
