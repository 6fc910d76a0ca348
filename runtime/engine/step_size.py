"""How much a tasklet does before others have their turn."""

from __future__ import annotations

import math

_FORGETS, _DEAR = 1.05, 2.0
"""By how much the least that a record cost is taken to grow with each step; how much more than that is too much to be
the records' own cost.
"""


class StepSize:
    """How many records a step takes, so that it lasts about as long as it may: fewer when they are dear, more when they
    are cheap. A step that was long for another reason (work that is the same for any number, a busy machine) is not
    followed by shorter ones, which would only be more.
    """

    def __init__(self, least: int = 256, most: int = 65_536) -> None:
        self.rows = 2048
        self._least, self._most = least, most
        self._cheapest = math.inf

    def took(self, rows: int, seconds: float, longest: float) -> None:
        """A step of so many records lasted so long; the next should last `longest` at most."""
        each = seconds / max(rows, 1)
        self._cheapest = min(each, self._cheapest * _FORGETS)
        if seconds > longest:
            if each < _DEAR * self._cheapest:
                self.rows = max(self._least, min(self.rows, int(rows * longest / seconds)))
        elif seconds * 3 < longest and rows * 2 > self.rows:
            self.rows = min(self._most, self.rows * 2)
