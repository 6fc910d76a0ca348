"""The sheet that charts are drawn on: colours of the two themes, sizes in pixels, and the bytes of PNG and SVG.

The same drawing gives the same bytes: no dates, no random ids. Runs in the drawing process only, one chart at a time.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from ghcm.supervisor.charts.drawing import Order, Theme

DPI = 96
"""As browsers count: so a picture is as many of their pixels wide as was asked for."""
_HEADING = 16
"""Pixels that a title takes."""

_SMALL, _NORMAL, _LARGE = 8.0, 9.0, 11.0


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of a theme; each stands out against the paper by 4.5 to 1 where it is text, by 3 where it is not."""

    paper: str
    ink: str
    quiet: str
    grid: str
    series: tuple[str, ...]
    rest: str
    levels: tuple[str, str, str]
    node: str


_COLOURS: Mapping[Theme, Colours] = {
    "light": Colours(
        paper="#ffffff",
        ink="#1b2430",
        quiet="#5a6675",
        grid="#e3e8ee",
        series=("#2563eb", "#c2570c", "#0d8a5f", "#8b3fd1", "#c81e5b", "#0e7c93", "#8a6a00"),
        rest="#8a94a3",
        levels=("#c81e1e", "#c2570c", "#5a6675"),
        node="#eef2f7",
    ),
    "dark": Colours(
        paper="#161c25",
        ink="#e8edf4",
        quiet="#9aa7b8",
        grid="#2a3442",
        series=("#6aa5ff", "#ff9d4d", "#3ecf97", "#c490ff", "#ff7aa8", "#45cfe6", "#e3c341"),
        rest="#7d899a",
        levels=("#ff6b6b", "#ffa657", "#9aa7b8"),
        node="#232d3a",
    ),
}


def prepare() -> None:
    """Set matplotlib up, once in the process."""
    mpl.use("agg")
    mpl.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "ghcm",
            "text.parse_math": False,  # a "$" in a name is a "$"
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": _NORMAL,
            "axes.unicode_minus": True,
        }
    )


class Sheet:
    """A figure with one pair of axes, `left`, `right`, `top` and `bottom` pixels from its borders."""

    def __init__(self, order: Order, height: int, *, left: int, right: int, top: int, bottom: int) -> None:
        self.colours = _COLOURS[order.theme]
        if not order.heading:
            height, top = height - _HEADING, top - _HEADING
        self.width, self.height = order.width, height
        self.inner_width = order.width - left - right
        self._order = order
        self._figure: Any = Figure(figsize=(order.width / DPI, height / DPI), dpi=DPI, facecolor=self.colours.paper)
        box = (
            left / order.width,
            bottom / height,
            max(self.inner_width, 1) / order.width,
            (height - top - bottom) / height,
        )
        self.axes: Any = self._figure.add_axes(box, facecolor=self.colours.paper)
        for side in self.axes.spines.values():
            side.set_visible(False)
        self.axes.tick_params(colors=self.colours.quiet, labelsize=_SMALL, length=0, pad=5)
        self.axes.set_axisbelow(True)
        write: Any = self._figure.text
        if order.heading:
            corner = {"x": 12 / self.width, "y": 1 - 8 / self.height, "ha": "left", "va": "top"}
            write(s=order.drawing.title, color=self.colours.ink, fontsize=_LARGE, fontweight="bold", **corner)
        if order.drawing.note:
            corner = {"x": 1 - 12 / self.width, "y": 1 - 7 / self.height, "ha": "right", "va": "top"}
            write(s=order.drawing.note, color=self.colours.quiet, fontsize=_SMALL, **corner)

    def empty(self) -> bytes:
        """The picture where there is nothing to draw."""
        self.axes.set_axis_off()
        self._figure.text(0.5, 0.5, "no rows yet", color=self.colours.quiet, ha="center", va="center", fontsize=_NORMAL)
        return self.save()

    def save(self) -> bytes:
        """The picture."""
        out = io.BytesIO()
        if self._order.format == "svg":
            about = {"Date": None, "Creator": None, "Title": self._order.drawing.title}
            self._figure.savefig(out, format="svg", metadata=about, facecolor=self.colours.paper)
        else:
            self._figure.savefig(out, format="png", metadata={"Software": None}, facecolor=self.colours.paper)
        return out.getvalue()
