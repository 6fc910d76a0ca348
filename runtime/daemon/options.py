"""What a daemon is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.settings import EMBEDDED, Settings


@dataclass(frozen=True, slots=True)
class Options:
    """Its state directory, its Redis ("embedded" or a URL), where HTTP listens (port 0: any free one), the seconds that
    a call without a deadline has, the deaths within a minute that are too many, and the seconds that calls have when
    their program is stopped. `spare`: start an engine before
    there is a job for it.
    """

    state: StateDirectory
    redis: str = EMBEDDED
    host: str = "127.0.0.1"
    port: int = 8000
    call_timeout: float = 3600.0
    restarts: int = 5
    spare: bool = False
    grace: float = 30.0


def options(settings: Settings, *, spare: bool = False) -> Options:
    """What the settings say to the daemon."""
    http, limits = settings.http, settings.limits
    state = StateDirectory(settings.state)
    address = (settings.redis, http.host, http.port)
    return Options(state, *address, settings.call_timeout, limits.restarts, spare, limits.grace)
