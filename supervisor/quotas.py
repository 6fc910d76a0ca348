"""What one caller may ask for: so many calls a second, by a bucket of tokens, and so many that are open at once.

Who calls is known before; calls that programs publish do not come by here.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ghcm.runtime import limits
from ghcm.supervisor.problems import Problem

_MOST_CALLERS = 10_000
"""How many callers are remembered: whoever has called less recently has a full bucket."""

_ROUNDING = 0.001
"""Of one token."""


@dataclass(slots=True)
class Quotas:
    """For one event loop. `refused` counts by reason; `clock` is in seconds."""

    limits: limits.Quotas
    clock: Callable[[], float] = time.monotonic
    refused: Counter[str] = field(default_factory=lambda: Counter(unit=0, rate=0, open=0))
    _full: dict[str, float] = field(default_factory=dict[str, float])
    """When the bucket of each caller will be full again, the one who has called last at the end."""

    def charge(self, publisher: str) -> None:
        """Take a token for a call; Problem 429 where there is none."""
        now = self.clock()
        full = max(self._full.pop(publisher, now), now)
        missing = (full - now) * self.limits.rate - (self.limits.burst - 1)
        empty = missing > _ROUNDING
        self._full[publisher] = full if empty else full + 1 / self.limits.rate
        if len(self._full) > _MOST_CALLERS:
            del self._full[next(iter(self._full))]
        if empty:
            wait = math.ceil(missing / self.limits.rate)
            raise self._refusal(
                "rate",
                f'"{publisher}" calls too often',
                detail=f"A caller has {self.limits.rate:g} calls a second, and {self.limits.burst} at once.",
                hint=f"call again in {wait} s, or have [quotas] rate and burst raised.",
                retry_after=wait,
            )

    def check_open(self, publisher: str, found: int) -> None:
        """Problem 429 where a publisher with so many open calls may have no more."""
        if found >= self.limits.calls:
            raise self._refusal(
                "open",
                f'"{publisher}" has {found} calls that wait or run',
                detail=f"More than {self.limits.calls} of one caller are not taken.",
                hint="call again when some are done, or have [quotas] calls raised.",
            )

    def _refusal(self, reason: str, message: str, *, detail: str, hint: str, retry_after: int = 1) -> Problem:
        self.refused[reason] += 1
        return Problem(429, "GHCM-334", message, detail=detail, hint=hint, retry_after=retry_after)
