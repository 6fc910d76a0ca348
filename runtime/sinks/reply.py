"""Replies: the rows of a call that answers directly, kept for ten minutes under the call's id. Feedback carries only
how many there are.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import cast

import redis

from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.redis_connection import stubborn
from ghcm.types import Struct
from ghcm.values import Json, writer

KEPT_SECONDS = 600

_never = threading.Event()


def reply_key(call: str) -> str:
    """Where the reply of a call is.

    >>> reply_key("7f")
    'ghcm:reply:7f'
    """
    return f"ghcm:reply:{call}"


def store_reply(connections: Connections, call: str, rows: Sequence[Row], columns: Struct) -> int:
    """Keep the rows as a JSON array; how many. To be done before the final feedback is sent."""
    to_json = writer(columns)
    text = json.dumps([to_json(row) for row in rows], ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if connections.url is None:
        _store_in_memory(connections, call, text)
    else:
        client = connections.redis()
        key, patience = reply_key(call), connections.patience
        stubborn(connections.url, lambda: client.set(key, text, ex=KEPT_SECONDS), patience=patience, closed=_never)
    return len(rows)


def load_reply(connections: Connections, call: str) -> list[Json] | None:
    """The rows in their JSON form, or None where there is no reply (any more)."""
    if connections.url is None:
        found: object = _load_from_memory(connections, call)
    else:
        client = connections.redis()
        key, patience = reply_key(call), connections.patience
        found = stubborn(connections.url, lambda: client.get(key), patience=patience, closed=_never)
    return _rows(found)


async def fetch_reply(connections: Connections, call: str) -> list[Json] | None:
    """As `load_reply`, for an event loop."""
    if connections.url is None:
        return load_reply(connections, call)
    try:
        return _rows(await connections.async_redis().get(reply_key(call)))
    except redis.RedisError:
        return await asyncio.to_thread(load_reply, connections, call)  # which bears a restart of the server


def _rows(found: object) -> list[Json] | None:
    return None if found is None else cast("list[Json]", json.loads(cast("str", found)))


def _store_in_memory(connections: Connections, call: str, text: str) -> None:
    memory = connections.memory
    now = time.monotonic()
    with memory.changed:
        memory.replies[call] = (now, text)
        for old in [id for id, (stored, _) in memory.replies.items() if stored < now - KEPT_SECONDS]:
            del memory.replies[old]


def _load_from_memory(connections: Connections, call: str) -> str | None:
    with connections.memory.changed:
        found = connections.memory.replies.get(call)
    return found[1] if found is not None and found[0] >= time.monotonic() - KEPT_SECONDS else None
