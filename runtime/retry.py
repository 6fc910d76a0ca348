"""The policies by which calls and processes are begun again whose process has ended, or which a full or refusing
server has stopped: how often, and how soon.

What fails with an answer is no matter of this: an answer is final.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ghcm.runtime.durations import Seconds

_STRICT = ConfigDict(extra="forbid", frozen=True)

NO_ROOM, REFUSED, NO_LEASE = "GHCM-731", "GHCM-720", "GHCM-729"
"""No room on a disk or in Redis, a Redis that refuses whoever asks, as with another password, and another daemon that
may have the program by now.
"""
MENDED_US = 5_000_000
"""How long a call waits that ended with one of them before it is tried again."""


def waits_for(code: str, message: str, *, patient: bool) -> str:
    """What a call is said to wait for that has ended with this error; empty where it has failed. Even who is not
    `patient` waits for the lease: without it nobody may say here how a call of the program ends.

    >>> waits_for("GHCM-731", "Redis is out of memory", patient=True)
    'Redis is out of memory. It goes on when that has passed.'
    """
    waits = code == NO_LEASE or (patient and code in (NO_ROOM, REFUSED))
    return f"{message}. It goes on when that has passed." if waits else ""


class Retry(BaseModel):
    """`[retry]`, and what `[units."PROGRAM/UNIT"]` may say for one unit."""

    model_config = _STRICT
    attempts: Annotated[int, Field(gt=0)] = 3
    """How often a call is begun whose process ends each time before it has an answer; then it fails."""
    initial_interval: Seconds = 1.0
    """The pause before the second attempt."""
    backoff_coefficient: Annotated[float, Field(ge=1)] = 2.0
    """How many times as long as the one before each further pause is."""
    maximum_interval: Seconds = 60.0
    """The longest pause."""

    def interval(self, deaths: int) -> float:
        """The pause (seconds) before the attempt that follows on so many deaths.

        >>> [Retry(maximum_interval=5.0).interval(deaths) for deaths in (1, 2, 3, 4)]
        [1.0, 2.0, 4.0, 5.0]
        """
        pause = self.initial_interval
        for _ in range(1, deaths):
            pause = min(pause * self.backoff_coefficient, self.maximum_interval)
        return min(pause, self.maximum_interval)


class Restarts(BaseModel):
    """`[restarts]`: what becomes of a process that has died, or says nothing any more."""

    model_config = _STRICT
    limit: Annotated[int, Field(ge=0)] = 5
    """Deaths in a row after which the job of an engine is reported as failed."""
    window: Seconds = 60.0
    """A process that has lived so long has got further, as one that commits has: its deaths are counted anew."""
    shortest: Seconds = 0.05
    """The pause before the first start in a row; each further one is twice as long."""
    longest: Seconds = 5.0
    """The longest such pause."""
    hang: Seconds = 30.0
    """How long a process may say nothing before it is killed and started again."""
