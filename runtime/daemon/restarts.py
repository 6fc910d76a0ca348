"""When a process that died is started again: after a pause that grows with each death, until there were too many.

Pure arithmetic over the times of deaths. It starts nothing and waits for nothing; `ghcm.runtime.daemon.child` does.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class RestartPolicy:
    """The deaths of one process. `limit` deaths within `window` seconds without progress between them are too many;
    None: never too many.
    """

    limit: int | None
    window: float = 60.0
    shortest: float = 0.05
    longest: float = 5.0
    _deaths: deque[float] = field(default_factory=lambda: deque(maxlen=64))

    def died(self, now: float) -> float | None:
        """Note a death at `now` (seconds of a clock that never goes back): the pause before the next start, or None to
        give up.

        >>> restarts = RestartPolicy(limit=3)
        >>> [restarts.died(0.0), restarts.died(0.1), restarts.died(0.2)]
        [0.05, 0.1, None]
        """
        self._deaths.append(now)
        recent = sum(1 for death in self._deaths if now - death <= self.window)
        if self.limit is not None and recent >= self.limit:
            return None
        return float(min(self.longest, self.shortest * 2 ** (recent - 1)))

    def progressed(self) -> None:
        """Forget the deaths: what was started has come further than the one before."""
        self._deaths.clear()
