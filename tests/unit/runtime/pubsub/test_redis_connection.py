"""What users are told of a Redis that refuses a command."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.redis_connection import commands, open_client, stubborn
from tests.redis_server import RedisServer


def together(client: Any, transaction: bool) -> None:
    with client.pipeline(transaction=transaction) as pipeline:
        pipeline.set("room", "none")
        pipeline.execute()


WAYS: dict[str, Callable[[Any], object]] = {
    "alone": lambda client: client.set("room", "none"),
    "in a pipeline": lambda client: together(client, transaction=False),
    "in a transaction": lambda client: together(client, transaction=True),
    "in a script": lambda client: client.eval("return redis.call('set', KEYS[1], 'none')", 1, "room"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_redis_without_memory_is_one_that_has_no_room(way: str, redis_server: RedisServer) -> None:
    with open_client(redis_server.url) as client:
        client.config_set("maxmemory", "1")
        try:
            with pytest.raises(GhcmError, match="is out of memory") as refused:
                stubborn(redis_server.url, lambda: WAYS[way](commands(client)), closed=Event())
        finally:
            client.config_set("maxmemory", "0")
    assert refused.value.code == "GHCM-731"
