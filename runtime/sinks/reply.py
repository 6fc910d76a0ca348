"""Replies: the rows of a call that answers directly, kept under the call's id for as long as `[keep] answers` says.
Feedback carries only how many there are.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import cast

import redis

from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.types import Struct
from ghcm.values import Json, compact, writer


def reply_key(call: str) -> str:
    """Where the reply of a call is.

    >>> reply_key("7f")
    'ghcm:reply:7f'
    """
    return f"ghcm:reply:{call}"


def store_reply(connections: Connections, call: str, rows: Sequence[Row], columns: Struct) -> int:
    """Keep the rows as a JSON array; how many. To be done before the final feedback is sent."""
    to_json = writer(columns)
    text = compact([to_json(row) for row in rows])
    connections.run(lambda client: client.set(reply_key(call), text, px=round(connections.kept_s * 1000)))
    return len(rows)


def load_reply(connections: Connections, call: str) -> list[Json] | None:
    """The rows in their JSON form, or None where there is no reply (any more)."""
    return _rows(connections.run(lambda client: client.get(reply_key(call))))


async def fetch_reply(connections: Connections, call: str) -> list[Json] | None:
    """As `load_reply`, for an event loop."""
    try:
        return _rows(await connections.async_redis().get(reply_key(call)))
    except redis.RedisError:
        return await asyncio.to_thread(load_reply, connections, call)  # which bears a restart of the server


def _rows(found: object) -> list[Json] | None:
    return None if found is None else cast("list[Json]", json.loads(cast("str", found)))
