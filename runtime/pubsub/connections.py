"""Connections: what the names in a program stand for in this process: a directory, a Redis, databases, and Kafka where
there is one.

A program names folders, topics and keys; this says where they are. Holds no password beyond those it was given and
prints none. Clients of Redis and Kafka are loaded by who asks for them: they are large, and not every process does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ghcm.errors import GhcmError
from ghcm.fence import Fence, write_redis
from ghcm.places import Place, place
from ghcm.runtime.pubsub.cache import PATIENCE, AsyncMessageCache, MessageCache, Topic, cache_topic
from ghcm.runtime.pubsub.kafka_connection import Brokers, Kafka
from ghcm.spg.graph import Program, Unit
from ghcm.spg.sinks import CACHES
from ghcm.tables.database import Database, connection_url

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

    from ghcm.runtime.pubsub import durability

T = TypeVar("T")

_NEVER = threading.Event()


@dataclass(slots=True)
class Connections:
    """`base` is the directory that relative paths start from; `url` the Redis (`unix:///path`, `redis://host:port/db`);
    without one there are no calls and no sinks on Redis. `kafka`, if it has brokers, serves caches that are logs; `sql`
    has the URLs of databases by their names; `kept_s` is how long rows of answers stay; `fence` is asked before
    anything is written where several daemons share a Redis.
    """

    base: Path
    url: str | None = field(default=None, repr=False)
    kafka: Kafka = Kafka()
    patience: float = PATIENCE
    sql: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    kept_s: float = 600.0
    fence: Fence | None = None
    _client: Redis | None = field(default=None, repr=False)
    _async_client: AsyncRedis | None = field(default=None, repr=False)
    _databases: dict[str, Database] = field(default_factory=dict[str, Database], repr=False)
    _brokers: Brokers | None = field(default=None, repr=False)
    _synced: tuple[Path | None] | None = field(default=None, repr=False)
    _files: durability.Entries = field(default=frozenset(), repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def path(self, path: str) -> Place:
        """A path of the program in this run."""
        return place(self.base, path)

    def database(self, name: str) -> Database:
        """The database of that name, which all threads share. GhcmError where none is configured."""
        with self._lock:
            if name not in self._databases:
                self._databases[name] = Database(name, connection_url(self.sql, name), self.base)
            return self._databases[name]

    def redis(self) -> Redis:
        """A client that all threads share. GhcmError where there is no Redis."""
        with self._lock:
            if self._client is None:
                from ghcm.runtime.pubsub.redis_connection import open_client

                self._client = open_client(self._needed_url())
            return self._client

    def redis_within(self, seconds: float) -> Redis:
        """A client for somebody alone, who closes it, whose commands take so long at most. GhcmError where there is no
        Redis.
        """
        from ghcm.runtime.pubsub.redis_connection import open_client

        return open_client(self._needed_url(), seconds=seconds)

    def run(self, command: Callable[[Redis], T]) -> T:
        """What a command of the shared client returns; it bears a restart of the server. GhcmError where there is no
        Redis.
        """
        from ghcm.runtime.pubsub.redis_connection import stubborn

        client = self.redis()
        return stubborn(self._needed_url(), lambda: command(client), patience=self.patience, closed=_NEVER)

    def write(self, queue: Callable[[Any], object], *, together: bool = True) -> list[Any]:
        """As `run`, of commands that are put into a pipeline, see `write_redis`."""
        return self.run(lambda client: write_redis(client, self.fence, queue, together=together))

    def sync(self) -> None:
        """Return once what the private Redis has answered outlives a loss of power; another server keeps what its owner
        has said. GhcmError where it cannot write.
        """
        if self.url is None or not self.url.startswith("unix:"):
            return
        from ghcm.runtime.pubsub import durability

        if self._synced is None:
            found = self.run(durability.persistence)
            self._synced = (found.folder if found is not None and found.ours else None,)
        (folder,) = self._synced
        if folder is not None:
            self._files = self.run(lambda client: durability.sync_folder(client, folder, self._files))

    def async_redis(self) -> AsyncRedis:
        """A client that all tasks of the running event loop share, the only loop that may ask. GhcmError where there is
        no Redis.
        """
        if self._async_client is None:
            from ghcm.runtime.pubsub.redis_connection import open_async_client

            self._async_client = open_async_client(self._needed_url())
        return self._async_client

    def roads(self, address: str) -> list[Topic]:
        """What feedback for this address comes by."""
        return [Topic(address), *([Topic(address, log=True)] if self.kafka.bootstrap else ())]

    def cache(self, topic: Topic | str, program: str, consumer: str) -> MessageCache:
        """The msg cache of this topic for an executor or publisher of this name, see `RedisCache`. GhcmError where
        there is no Redis.
        """
        found = topic if isinstance(topic, Topic) else Topic(topic)
        if found.log and self.kafka.bootstrap:
            from ghcm.runtime.pubsub.kafka_cache import KafkaCache

            with self._lock:
                self._brokers = self._brokers or Brokers(self.kafka, self.patience)
            return KafkaCache(self._brokers, found.name, program, consumer, fence=self.fence)
        from ghcm.runtime.pubsub.redis_cache import RedisCache

        patience, fence = self.patience, self.fence
        return RedisCache(self._needed_url(), found.name, program, consumer, patience=patience, fence=fence)

    def async_cache(self, topic: Topic | str) -> AsyncMessageCache:
        """The caller's side of the msg cache of this topic, for the running event loop."""
        found = topic if isinstance(topic, Topic) else Topic(topic)
        if found.log and self.kafka.bootstrap:
            from ghcm.runtime.pubsub.kafka_cache import AsyncKafkaCache

            return AsyncKafkaCache(self.cache(found, "", "caller"))
        from ghcm.runtime.pubsub.redis_cache import AsyncRedisCache

        return AsyncRedisCache(self._needed_url(), found.name, patience=self.patience)

    def close(self) -> None:
        """Close the shared clients; caches and writers are closed by who opened them."""
        with self._lock:
            for database in self._databases.values():
                database.close()
            if self._client is not None:
                self._client.close()
                self._client = None
        if self._brokers is not None:
            self._brokers.close()

    async def aclose(self) -> None:
        """As `close`, and close the client of the event loop too."""
        self.close()
        if self._async_client is not None:
            await self._async_client.aclose()
            self._async_client = None

    def _needed_url(self) -> str:
        if self.url is None:
            hint = "set GHCM_REDIS, or say --profile services; the private Redis of a daemon is there while that runs"
            raise GhcmError("there is no Redis", code="GHCM-720", hint=hint)
        return self.url


def spark_topic_of(program: Program, unit: Unit) -> Topic:
    """The topic from which Spark takes the calls of a unit: that of the unit, or where the native engine takes them
    first, one of what is too large for that.
    """
    topic = topic_of(program, unit)
    return topic if unit.engines == ("spark",) else replace(topic, name=f"{topic.name}:spark")


def topic_of(program: Program, unit: Unit) -> Topic:
    """The topic of the msg cache of a responsive unit: as the program says, else one of its own.

    The embedded profile serves logs (`kafka("x")`) and keys (`redis("x")`) from the same Redis.
    """
    if unit.cache is None:
        return Topic(cache_topic(program.name, unit.name), log=True)
    connector = next(cache.connector for cache in program.caches if cache.name == unit.cache)
    if connector.word not in CACHES:
        only = f"only {' and '.join(reversed(CACHES))} carry calls"
        raise GhcmError(f'cache "{unit.cache}" cannot be {connector.word}: {only}', code="GHCM-301")
    return Topic(connector.address[1], log=connector.word == "kafka")
