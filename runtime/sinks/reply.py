"""Replies: the rows of a call that answers directly, kept for as long as `[keep] answers` says: in the store beside the
answer where they are few (`ghcm.runtime.jobs.replies`), else in Redis. Feedback carries only how many there are.
"""

import json
from collections.abc import Sequence
from typing import cast

from ghcm.fence import hold
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.types import Struct
from ghcm.values import Json, compact, writer


def reply_key(call: str) -> str:
    """Where the reply of a call is in Redis.

    >>> reply_key("7f")
    'ghcm:reply:7f'
    """
    return f"ghcm:reply:{call}"


def reply_text(rows: Sequence[Row], columns: Struct) -> str:
    """The rows as a JSON array.

    >>> from ghcm.types import Field, Int
    >>> reply_text([(1,), (2,)], Struct((Field("n", Int()),)))
    '[{"n":1},{"n":2}]'
    """
    to_json = writer(columns)
    return compact([to_json(row) for row in rows])


def reply_rows(text: str) -> list[Json]:
    """The rows of such a text in their JSON form."""
    return cast("list[Json]", json.loads(text))


def store_reply(connections: Connections, call: str, text: str) -> None:
    """Keep the rows in Redis, before the final feedback is sent. GhcmError where the fence does not stand."""
    hold(connections.fence)
    connections.run(lambda client: client.set(reply_key(call), text, px=round(connections.kept_s * 1000)))
    connections.sync()


def load_reply(connections: Connections, call: str) -> str | None:
    """The rows that are in Redis, or None where there are none (any more)."""
    return stored_text(connections.run(lambda client: client.get(reply_key(call))))


def stored_text(found: object) -> str | None:
    """What Redis has found under a `reply_key`, as text."""
    return None if found is None else cast("bytes", found).decode()
