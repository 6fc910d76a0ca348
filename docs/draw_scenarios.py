"""Draws attack chains from what `rebuild` of the traffic monitor has written, for `docs/traffic_scenarios.md`.

python docs/draw_scenarios.py FOLDER: takes `FOLDER/out/chains` and `FOLDER/out/steps`, writes the pictures into
`docs/pictures`. Each host has a line, time runs to the right; an arrow is a step, and the victim's line is thick from
then until it attacks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.dates
import polars as pl

matplotlib.use("svg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, DateFormatter

Row = Mapping[str, Any]

PICTURES = Path(__file__).parent / "pictures"
TEAMS = (6, 9)
COLOURS = {1: "#b3261e", 2: "#c77700", 3: "#5f6b7a"}
matplotlib.rcParams |= {
    "svg.hashsalt": "scenarios",
    "svg.fonttype": "none",
    "font.size": 9,
    "font.family": "sans-serif",
}


def main(folder: Path) -> None:
    """Draw the best chain of each of the teams."""
    chains = pl.read_delta(str(folder / "out" / "chains")).sort("score", "begin", "id", descending=True)
    steps = pl.read_delta(str(folder / "out" / "steps")).sort("chain", "position")
    PICTURES.mkdir(exist_ok=True)
    for team in TEAMS:
        best = chains.filter(pl.col("attacker").str.starts_with(f"10.{team}.")).row(0, named=True)
        rows = steps.filter(pl.col("chain") == best["id"]).rows(named=True)
        draw(f"Team {team}: {best['length']} steps, score {best['score']}", rows, PICTURES / f"scenario_team{team}.svg")


def draw(title: str, steps: Sequence[Row], target: Path) -> None:
    """One chain as an SVG file; the same rows give the same bytes."""
    hosts = list(dict.fromkeys([str(steps[0]["attacker"]), *(str(step["victim"]) for step in steps)]))
    lane = {host: -number for number, host in enumerate(hosts)}
    figure, axes = plt.subplots(figsize=(10, 1.2 + 0.55 * len(hosts)))
    first, last = moment(steps[0], "at"), moment(steps[-1], "at")
    margin = (last - first) / 12
    axes.set_xlim(float(first - margin), float(last + margin * 7))
    for host, level in lane.items():
        axes.axhline(level, color="#d5d9df", linewidth=0.8, zorder=0)
        axes.text(float(first - margin * 1.1), level, host, ha="right", va="center", family="monospace")
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        arrow(axes, step, lane)
        if after is not None:
            level = lane[str(step["victim"])]
            axes.plot([moment(step, "at"), moment(after, "at")], [level, level], color=COLOURS[1], linewidth=2.5)
    axes.xaxis.set_major_locator(AutoDateLocator())
    axes.xaxis.set_major_formatter(DateFormatter("%H:%M"))
    axes.set_yticks([])
    axes.set_title(title, loc="left", fontweight="bold")
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(target, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def arrow(axes: Axes, step: Row, lane: Mapping[str, int]) -> None:
    """A step: from the line of the attacker to that of the victim, with its number and its signature."""
    at, begin, end = moment(step, "at"), lane[str(step["attacker"])], lane[str(step["victim"])]
    style = {"arrowstyle": "-|>", "color": COLOURS[step["severity"]], "linewidth": 1.6}
    if step["returns"]:
        style["linestyle"] = "dashed"
    axes.annotate("", xy=(at, end), xytext=(at, begin), arrowprops=style)
    words = f"{step['position']}. {step['signature']} ({step['count']}×)"
    level = end + 0.4 if step["returns"] else (begin + end) / 2
    paper = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # hides what runs behind it
    axes.annotate(
        words, (at, level), (6, 0), textcoords="offset points", va="center", fontsize=8, bbox=paper, zorder=5,
        color=COLOURS[step["severity"]],
    )  # fmt: skip


def moment(step: Row, name: str) -> float:
    """A time as matplotlib counts it, in days."""
    value = step[name]
    assert isinstance(value, datetime)
    return float(matplotlib.dates.date2num(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
