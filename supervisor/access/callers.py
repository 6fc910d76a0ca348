"""Who calls, from where, and the ids of their calls.

Whoever lets callers in says who they are; here they are only told apart.
"""

import hashlib

from starlette.types import Scope

from ghcm.runtime.access.scopes import Caller


def asking(scope: Scope) -> Caller:
    """Who asks, as `ghcm.supervisor.access.identity` has noted it."""
    caller: Caller = scope["state"]["caller"]
    return caller


def origin_of(scope: Scope) -> str:
    """The address that a request comes from."""
    client: tuple[str, int] | None = scope.get("client")
    return client[0] if client else ""


def publisher_of(caller: str) -> str:
    """How a call says who has made it; the blank keeps it apart from units of programs."""
    return f"caller {caller}"


def call_id(caller: str, key: str) -> str:
    """The id of the call that a caller names by a key of its own.

    No other caller's key gives it, and it holds no dot, as the ids of a program's own calls do: theirs can be guessed,
    and must not be taken.

    >>> call_id("ann", "1") == call_id("ann", "1")
    True
    >>> call_id("ann", "1") == call_id("bob", "1")
    False
    """
    return "k" + hashlib.sha256(f"{caller}\0{key}".encode()).hexdigest()[:31]
