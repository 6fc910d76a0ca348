"""The right to write for a program which several daemons know, of which one may run it: a lease that ends by itself,
with a token that grows whenever the program goes to another daemon.

A daemon has its leases in Redis (`ghcm.runtime.daemon.locks`) and notes each in a file, which its processes read before
they write. So one that stood still for longer than its lease writes nothing more: its own clock says that the lease is
over, and where the place can tell, the token that it is another's.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ghcm.errors import GhcmError


@dataclass(frozen=True, slots=True)
class Lease:
    """What a daemon has of a program: whose it is, the token, and until when (`awake`)."""

    owner: str
    token: int
    until: float


def awake() -> float:
    """Seconds on a clock that is the same in all processes, cannot be set, and goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def owner_key(program: str) -> str:
    """The key of Redis that holds the owner of a program, and ends with the lease."""
    return f"ghcm:owner:{program}"


def fence_key(program: str) -> str:
    """The key of the hash with the last `owner` of a program and its `token`, in the same slot of a cluster."""
    return f"{{{owner_key(program)}}}:fence"


def note_lease(file: Path, lease: Lease) -> None:
    """Let the processes of a daemon know of a lease. It need not outlive the machine, which begins its clock anew."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(lease)), encoding="utf-8")
    new.rename(file)


@dataclass(frozen=True, slots=True)
class Fence:
    """What a process asks before it writes for a program; `folder` is where its daemon notes the leases."""

    program: str
    folder: Path

    @property
    def file(self) -> Path:
        """Where the lease is noted."""
        return self.folder / self.program

    def held(self) -> Lease:
        """The lease. GhcmError, of a cause that may pass, while it is not renewed."""
        lease = None
        with suppress(FileNotFoundError):  # the daemon has only begun
            lease = Lease(**json.loads(self.file.read_text(encoding="utf-8")))
        if lease is None or awake() >= lease.until:
            raise _waiting(self.program, "It has not been renewed in time.")
        return lease

    def check(self, token: int | None) -> Lease:
        """The lease, where no token that a place has seen is newer. GhcmError where one is."""
        lease = self.held()
        if token is not None and token > lease.token:
            raise taken_over(self.program)
        return lease

    def watch(self, pipe: Any) -> None:
        """Have a pipeline of redis-py fail where the program goes to another daemon before it is executed. GhcmError
        where it has gone already.
        """
        lease, key = self.held(), fence_key(self.program)
        pipe.watch(key)
        owner, token = pipe.hmget(key, "owner", "token")
        if owner is None or (owner.decode() == lease.owner and int(token) != lease.token):
            raise _waiting(self.program, "Redis has lost it, and it will be there again with the next renewal.")
        if owner.decode() != lease.owner:
            raise taken_over(self.program, owner.decode())


def hold(fence: Fence | None) -> None:
    """GhcmError where there is a fence and its lease is over."""
    if fence is not None:
        fence.held()


def write_redis(
    client: Any, fence: Fence | None, queue: Callable[[Any], object], *, together: bool = True
) -> list[Any]:
    """What the commands give that `queue` puts into a pipeline; all are executed in one step, in which the fence still
    stands, or right behind that where they need not be `together`, as they may lie in several slots of a cluster.
    GhcmError where it does not stand.
    """
    from redis import WatchError

    with client.pipeline(transaction=together) as pipe:
        while True:
            if fence is not None:
                fence.watch(pipe)
                (pipe.multi if together else pipe.unwatch)()
            queue(pipe)
            with suppress(WatchError):
                results: list[Any] = pipe.execute(raise_on_error=False)
                break
    for each in results:
        if isinstance(each, Exception):
            raise each
    return results


def taken_over(program: str, owner: str = "") -> GhcmError:
    """The error where another daemon runs the program by now."""
    _, _, who = owner.partition(" ")
    return GhcmError(
        f'another daemon has taken over program "{program}"',
        code="GHCM-729",
        detail=f"It is {who}." if who else "What it has written since stands.",
        hint="this one stood still, or was cut off from Redis, for longer than its lease. Stop the program there, then "
        "submit it here.",
    )


def _waiting(program: str, why: str) -> GhcmError:
    error = GhcmError(
        f'nothing may be written for program "{program}" without its lease',
        code="GHCM-729",
        detail=why,
        hint="see that the daemon runs and reaches Redis; it goes on by itself.",
    )
    error.__cause__ = TimeoutError(why)  # which says that it may pass
    return error
