"""Redis clients: how they are opened, how long a restart of the server is borne, and what is said when it is not.

redis-py's own retries are off: a blocking read whose answer was lost must be followed by a look at what was already
assigned.
"""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import ClusterDownError, NoPermissionError, OutOfMemoryError, ReadOnlyError, TryAgainError
from redis.retry import Retry
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_after_delay,
    stop_when_event_set,
    wait_random_exponential,
)

from ghcm.errors import GhcmError, without_password
from ghcm.runtime.pubsub.cache import PATIENCE

T = TypeVar("T")

BLOCK_SECONDS = 5.0
"""The longest a read blocks in the server, so that a connection that has died in silence is noticed."""

LOST: tuple[type[redis.RedisError], ...] = (
    redis.ConnectionError,
    redis.TimeoutError,
    ReadOnlyError,
    TryAgainError,
    ClusterDownError,
)
"""The server is away, starting or changing roles: worth another attempt, unless it refuses the password."""

_BUSY = re.compile(r"(?:^|: )-?(?:BUSY|LOADING|MASTERDOWN|NOREPLICAS|READONLY|TRYAGAIN|CLUSTERDOWN|UNBLOCKED) ")
"""The same in words, where the client has no class for them, or a pipeline or script says them."""

_OPTIONS: dict[str, Any] = {
    "protocol": 2,
    "socket_timeout": BLOCK_SECONDS * 2,
    "socket_connect_timeout": BLOCK_SECONDS * 2,
}
_PAUSES = wait_random_exponential(multiplier=0.02, max=1.0)


def commands(client: redis.Redis) -> Any:
    """The client, for commands that redis-py declares with untyped parts."""
    return client


def open_client(
    url: str, *, connected: Callable[[Any], None] | None = None, seconds: float | None = None
) -> redis.Redis:
    """A client whose commands raise at once when the connection is lost, and after so many `seconds` without an answer;
    connections are made when they are needed.

    `connected` is called with each new connection, in place of its `on_connect`.
    """
    limits = {} if seconds is None else {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    try:
        return redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
            url, retry=Retry(NoBackoff(), 0), redis_connect_func=connected, **_OPTIONS | limits
        )
    except ValueError as error:
        raise _no_url(url, error) from error


def open_async_client(url: str) -> redis.asyncio.Redis:
    """As `open_client`, for an event loop."""
    try:
        return redis.asyncio.Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
            url, retry=AsyncRetry(NoBackoff(), 0), **_OPTIONS
        )
    except ValueError as error:
        raise _no_url(url, error) from error


def stubborn(url: str, attempt: Callable[[], T], *, patience: float = PATIENCE, closed: threading.Event) -> T:
    """What `attempt` returns, repeated while the server is away; GhcmError after `patience` seconds or when closed."""
    try:
        try:
            return attempt()  # almost always enough, and cheaper than a retrier
        except redis.RedisError as error:
            if closed.is_set() or not passes(error):
                raise
        retrying = Retrying(
            retry=retry_if_exception(passes),
            wait=_PAUSES,
            stop=stop_after_delay(patience) | stop_when_event_set(closed),
            sleep=sleep_using_event(closed),
            reraise=True,
        )
        return retrying(attempt)
    except redis.RedisError as error:
        raise failed(url, error) from error


async def stubborn_async(
    url: str,
    attempt: Callable[[], Awaitable[T]],
    *,
    patience: float | None,
    closed: asyncio.Event,
    again: Callable[[BaseException], bool],
) -> T:
    """As `stubborn`, for an event loop; for ever where `patience` is None. `again` says what another attempt is made
    after.
    """
    try:
        try:
            return await attempt()  # almost always enough, and cheaper than a retrier
        except redis.RedisError as error:
            if closed.is_set() or not again(error):
                raise
        return await _retried(attempt, patience, closed, again)
    except redis.RedisError as error:
        raise failed(url, error) from error


async def _retried(
    attempt: Callable[[], Awaitable[T]],
    patience: float | None,
    closed: asyncio.Event,
    again: Callable[[BaseException], bool],
) -> T:
    async def sleep(seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(closed.wait(), seconds)

    def is_over(state: RetryCallState) -> bool:
        return closed.is_set() or (patience is not None and (state.seconds_since_start or 0.0) >= patience)

    retrying = AsyncRetrying(retry=retry_if_exception(again), wait=_PAUSES, stop=is_over, sleep=sleep, reraise=True)
    return await retrying(attempt)


def passes(error: BaseException) -> bool:
    """Whether the cause of an error may pass by itself."""
    busy = isinstance(error, redis.ResponseError) and _BUSY.search(str(error)) is not None
    return (isinstance(error, LOST) or busy) and not refuses(error)


def may_be_mended(error: BaseException) -> bool:
    """Whether what was asked may be granted later as it is: it `passes`, or whoever keeps the server makes room in it
    or sets the password right.
    """
    return passes(error) or (isinstance(error, redis.RedisError) and (refuses(error) or _has_no_room(error)))


def _has_no_room(error: redis.RedisError) -> bool:
    return _cannot_keep(str(error)) or isinstance(error, OutOfMemoryError) or "OOM" in str(error)


def _cannot_keep(text: str) -> bool:
    return "MISCONF" in text or "No space left" in text


def refuses(error: BaseException) -> bool:
    """Whether it refuses the user; some are told as lost connections."""
    by_cause = isinstance(error.__cause__, redis.AuthenticationError)
    return by_cause or isinstance(error, redis.AuthenticationError) or "username-password" in str(error)


def failed(url: str, error: redis.RedisError) -> GhcmError:
    """The error that a user is shown."""
    text = str(error)
    if _cannot_keep(text):
        hint = "free some room on the disk of the Redis server, or see its log"
        return GhcmError(
            f"Redis at {without_password(url)} cannot write to its disk", code="GHCM-731", detail=text, hint=hint
        )
    if _has_no_room(error):  # the client takes the word away, but not in scripts
        hint = "raise maxmemory of the Redis server, or let sinks hold less"
        return GhcmError(f"Redis at {without_password(url)} is out of memory", code="GHCM-731", detail=text, hint=hint)
    if refuses(error):
        hint = "put user and password into GHCM_REDIS: redis://user:password@host:port/0"
        return GhcmError(f"Redis at {without_password(url)} refuses the password", code="GHCM-720", hint=hint)
    if "CROSSSLOT" in text or "same slot" in text or "non local key" in text:
        hint = (
            'a hash tag, the same in all of its keys, keeps them together: "{shop}:log"; in a form "{{shop}}:log:{id}"'
        )
        message = (
            f"Redis at {without_password(url)} is a cluster, and what has to be written at once lies in several slots"
        )
        return GhcmError(message, code="GHCM-721", detail=text, hint=hint)
    if isinstance(error, redis.ResponseError) and passes(error):
        hint = "it has the reason: see its log, and INFO replication."
        return GhcmError(f"Redis at {without_password(url)} takes nothing now", code="GHCM-720", detail=text, hint=hint)
    if isinstance(error, LOST):
        hint = 'start it, correct GHCM_REDIS, or set redis = "embedded" for a private server'
        return GhcmError(f"Redis at {without_password(url)} cannot be reached", code="GHCM-720", detail=text, hint=hint)
    hint = "the detail has its own words; see its log, and its version: 6.2 or later."
    if isinstance(error, NoPermissionError):
        hint = "give the user in GHCM_REDIS the rights to its keys and commands: ACL SETUSER name ~* &* +@all"
    elif "WRONGTYPE" in text:
        hint = "something else stands under such a key: remove that, or let the sink write to other keys."
    return GhcmError(f"Redis at {without_password(url)} refused a command", code="GHCM-721", detail=text, hint=hint)


def _no_url(url: str, error: ValueError) -> GhcmError:
    return GhcmError(
        f'"{without_password(url)}" is no address of a Redis server',
        code="GHCM-609",
        detail=str(error),
        hint='write "embedded", "redis://host:port/0" or "unix:///path/of/socket"',
    )
