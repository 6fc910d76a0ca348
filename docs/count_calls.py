"""Counts the operator calls of the programs in `examples/compression` before and after the optimiser, and draws them.

python docs/count_calls.py writes the table and the chart of `docs/optimiser.md`. The shape is that of the paper's table
1 and figure 4: five programs, the smallest of 4 calls.
"""

from __future__ import annotations

from pathlib import Path

from ghcm import driver
from ghcm.optimizer import Summary, optimise

DOCS = Path(__file__).parent
PAGE, PICTURE = "optimiser.md", "pictures/calls.svg"
PROGRAMS = ("words", "pages", "sales", "logins", "traffic")
BEGIN, END = "<!-- calls: python docs/count_calls.py -->", "<!-- end -->"
_WIDE, _HIGH, _SCALE = 46, 220, 6.5


def counted() -> dict[str, Summary]:
    """The calls of the unit of each program."""
    found: dict[str, Summary] = {}
    for name in PROGRAMS:
        path = DOCS.parent / "examples" / "compression" / f"{name}.istream"
        (found[name],) = optimise(driver.check(path)).summaries
    return found


def pages() -> dict[str, str]:
    """The page with its table, and the picture, by path below `docs`."""
    counts = counted()
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    table = ["| program | as written | as run | left |", "|---|---|---|---|"]
    table += [f"| `{n}` | {c.calls_before} | {c.calls_after} | {c.ratio:.0%} |" for n, c in counts.items()]
    page = "\n".join([head + BEGIN, "", *table, "", END + rest.split(END)[1]])
    return {PAGE: page, PICTURE: _chart(counts)}


def _chart(counts: dict[str, Summary]) -> str:
    width, floor = 40 + len(counts) * (2 * _WIDE + 20), _HIGH - 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HIGH}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{_HIGH}" fill="#ffffff"/>',
    ]
    for place, (name, each) in enumerate(counts.items()):
        left = 30 + place * (2 * _WIDE + 20)
        bars = ((each.calls_before, "#5f6b7a"), (each.calls_after, "#1f6feb"))
        for at, (calls, colour) in enumerate(bars):
            x, high = left + at * _WIDE, calls * _SCALE
            lines += [
                f'<rect x="{x}" y="{floor - high:g}" width="{_WIDE - 4}" height="{high:g}" fill="{colour}"/>',
                f'<text x="{x + _WIDE / 2 - 2:g}" y="{floor - high - 4:g}" text-anchor="middle">{calls}</text>',
            ]
        lines.append(f'<text x="{left + _WIDE - 2}" y="{_HIGH - 10}" text-anchor="middle">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Write both."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
