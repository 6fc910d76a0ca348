"""`python -m ghcm.supervisor.charts`: draws what comes in on standard input, one drawing after another, until it ends.

A message is its length in four bytes and its bytes; an answer has a byte before that: 0 a picture, 1 an error's text.
"""

import sys
import warnings
from typing import BinaryIO, assert_never

from ghcm.collector import end_at_once
from ghcm.supervisor.charts.arrows import draw_graph
from ghcm.supervisor.charts.drawing import Bars, Graph, Lines, Order, Series, decode
from ghcm.supervisor.charts.series import draw_bars, draw_lines
from ghcm.supervisor.charts.sheet import prepare


def draw(order: Order) -> bytes:
    """The picture that is ordered."""
    match order.drawing:
        case Lines() as lines:
            return draw_lines(lines, order)
        case Bars() as bars:
            return draw_bars(bars, order)
        case Graph() as graph:
            return draw_graph(graph, order)
        case _:
            assert_never(order.drawing)


def main() -> None:
    """Draw until told to end."""
    end_at_once()
    warnings.simplefilter("ignore")  # glyphs that no font has; the picture shows a box for each
    prepare()
    _warm_up()
    reading, writing = sys.stdin.buffer, sys.stdout.buffer
    while (order := _next(reading)) is not None:
        try:
            kind, answer = b"\0", draw(decode(order))
        except Exception as error:  # one drawing that fails leaves the others undisturbed
            kind, answer = b"\1", f"{type(error).__name__}: {error}".encode()
        writing.write(kind + len(answer).to_bytes(4) + answer)
        writing.flush()


def _next(reading: BinaryIO) -> bytes | None:
    head = reading.read(4)
    return reading.read(int.from_bytes(head)) if len(head) == 4 else None


def _warm_up() -> None:
    """Fonts are found and modules loaded before anybody waits."""
    lines = Lines("a", "", "", True, False, [0.0, 6e7], [Series("a", [1.0, 2.0]), Series("b", [1.0, 2.0])])
    draw(Order(lines, "svg", "light", 400, 200))
    draw(Order(lines, "png", "light", 400, 200))


if __name__ == "__main__":
    main()
