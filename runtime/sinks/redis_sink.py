"""Redis hashes as sinks: one field per key, the row as JSON.

::

    upsert    <prefix>                       hash of the rows
    replace   <prefix>:<version>             hash of the rows of a version; what was replaced expires in a while
              <prefix>:@latest               the version that readers see
    both      <prefix>:@versions             hash: version -> {"rows", "time"}
              <prefix>:@call:<id>            hash of the rows of a batch call, for a while
    staging   <prefix>:@open:<id>            hash of the rows that are being written
              <prefix>:@staging:<version>    hash of the rows that are prepared (upsert, and all forms)
              <prefix>:@prepared             hash: version -> {"rows", "writer"}
    forms     <prefix>:@progress             hash: version -> how many of its rows are appended already

Forms that other applications read are staged here as well, and published as `ghcm.tables.redis_forms` says.
Every step is one script on the server, so that repeating it after a lost answer or a crash changes nothing. KEYS[1] is
the key prefix, part of all other keys.
"""

import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import cast

import polars as pl
import redis
from redis.client import Pipeline
from redis.typing import EncodableT, FieldT

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.pubsub.redis_connection import commands
from ghcm.runtime.sinks.backend import Commit, KeyOf, Page
from ghcm.runtime.sinks.keyed import KeyedForm, KeyedView, form_of, row_reader
from ghcm.spg.connectors import Mode, Redis, unreadable
from ghcm.spg.graph import Sink
from ghcm.tables.redis_forms import SHRINK, Form

_CHUNK = 1000
_OPEN_SECONDS = 3600


class RedisWriter:
    """The `SinkWriter` of a key prefix on Redis. Rows go to the server in chunks as they are written."""

    def __init__(
        self, connections: Connections, prefix: str, form: KeyedForm, mode: Mode, writer: str, call: str | None
    ) -> None:
        self._connections = connections
        self._prefix = prefix
        self._form = form
        self._mode = mode
        self._writer = writer
        self._call = call
        self._open = uuid.uuid4().hex
        self._rows = 0

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        self._stage(self._form.pairs(rows, self._rows), len(rows))

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.remove`: the staged row of what is to go is empty."""
        self._stage(((field, "") for field, _ in self._form.pairs(rows)), len(rows))

    def show(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `ShowingWriter.show`: one request for a thousand rows, noted as a version of their own."""
        pairs = self._form.texts(rows)
        while chunk := [*islice(pairs, _CHUNK)]:
            if self._form.shown is not None:
                self._form.shown.show(self._connections.write, chunk, partial(self._note, rows=len(chunk)))
            else:
                self._connections.write(partial(self._put, rows=dict(chunk)))

    def hide(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `ShowingWriter.hide`."""
        keys = (key for key, _ in self._form.texts(rows))
        while chunk := [*islice(keys, _CHUNK)]:
            self._connections.write(partial(self._take_back, keys=chunk))

    def _put(self, pipe: Pipeline, rows: Mapping[str, str]) -> None:
        pipe.hset(self._prefix, mapping=cast("Mapping[FieldT, EncodableT]", rows))
        self._note(pipe, len(rows))

    def _take_back(self, pipe: Pipeline, keys: Sequence[str]) -> None:
        pipe.hdel(self._prefix, *keys)
        self._note(pipe, len(keys))

    def _note(self, pipe: Pipeline, rows: int) -> None:
        record = json.dumps({"rows": rows, "time": now_us()})
        pipe.eval(NOTE, 1, self._prefix, f"at-once-{uuid.uuid4().hex}", record)

    def _stage(self, pairs: Iterator[tuple[str, str]], rows: int) -> None:
        key = f"{self._prefix}:@open:{self._open}"
        while chunk := dict(islice(pairs, _CHUNK)):
            self._connections.run(partial(_fill, key=key, rows=chunk))
        self._rows += rows

    @property
    def pending(self) -> int:
        return self._rows

    def prepare(self, version: str) -> int:
        rows = self._rows
        record = json.dumps({"rows": rows, "writer": self._writer})
        self._script(PREPARE, self._open, self._target(version), version, record)
        self._connections.sync()
        self._open, self._rows = uuid.uuid4().hex, 0
        return rows

    def commit(self, version: str) -> Commit:
        done = _commits(self._connections, self._prefix, version) or self._committed(version)
        self._connections.sync()
        return done

    def _committed(self, version: str) -> Commit:
        prepared = self._connections.run(lambda client: client.hget(f"{self._prefix}:@prepared", version))
        if prepared is None:
            raise GhcmError(f'version "{version}" of "{self._prefix}" was never prepared', code="GHCM-732")
        commit = Commit(version, int(json.loads(cast("bytes", prepared))["rows"]), now_us())
        record = json.dumps({"rows": commit.rows, "time": commit.time})
        if self._form.shown is not None:
            run, write = self._connections.run, self._connections.write
            self._form.shown.publish(run, write, self._prefix, version, record, [commit.rows])
            return commit
        if self._mode is Mode.REPLACE:
            self._script(COMMIT_REPLACE, version, record, round(self._connections.kept_s))
            return commit
        cursor = "0"
        while True:
            kept = round(self._connections.kept_s)
            reply = self._script(COMMIT_UPSERT, version, record, self._call or "", kept, cursor)
            cursor = cast("bytes", reply).decode()
            if cursor == "0":
                return commit

    def abort(self, version: str) -> None:
        self._script(ABORT, version, self._target(version))

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`; what others see a part of is completed, since a repeated call leaves it as it is.
        Rows that were never prepared expire by themselves within the hour.
        """
        prepared = self._connections.run(lambda client: client.hgetall(f"{self._prefix}:@prepared"))
        for version, record in cast("dict[bytes, bytes]", prepared).items():
            if json.loads(record)["writer"] == self._writer and version.decode() not in keep:
                begun = self._connections.run(partial(_progress, prefix=self._prefix, version=version))
                (self.abort if begun is None else self.commit)(version.decode())

    def close(self) -> None:
        if self._rows:
            self._connections.run(lambda client: client.unlink(f"{self._prefix}:@open:{self._open}"))
            self._rows = 0

    def _target(self, version: str) -> str:
        return f"{self._prefix}:{version}" if self._mode is Mode.REPLACE else f"{self._prefix}:@staging:{version}"

    def _script(self, script: str, *arguments: str | int) -> object:
        return self._connections.write(lambda pipe: pipe.eval(script, 1, self._prefix, *arguments))[-1]


def open_writer(
    sink: Sink, connections: Connections, *, writer: str, key: KeyOf | None, call: str | None
) -> RedisWriter:
    place, shown = _place(sink), None
    if place.form is not None:
        shown = Form(place.form, place.value(sink.columns.names), place.expire_us)
    return RedisWriter(connections, place.prefix, form_of(sink, key, shown), sink.mode, writer, call)


def read(sink: Sink, connections: Connections, *, version: str | None, call: str | None) -> Iterator[Row]:
    """As `SinkBackend.read`; of a sink that is upserted that version or a later one."""
    name = _readable(sink)
    key = _hash(connections, name, sink.mode, version, call)
    if key is None:
        return iter(())
    decode = row_reader(sink.columns, name)
    return (decode(value) for _, value in _scan(connections, key))


def count(sink: Sink, connections: Connections, *, version: str | None) -> int:
    """As `SinkBackend.count`."""
    key = _hash(connections, _readable(sink), sink.mode, version, None)
    return 0 if key is None else connections.run(lambda client: client.hlen(key))


def page(sink: Sink, connections: Connections, *, call: str, version: str | None, limit: int, offset: int) -> Page:
    """As `SinkBackend.page`, in the order of the keys."""
    name = _readable(sink)
    key = _hash(connections, name, sink.mode, version or call, call)
    names = sorted(cast("list[bytes]", connections.run(lambda client: client.hkeys(key)) if key is not None else []))
    wanted = names[offset : offset + limit]
    if key is None or not wanted:
        return Page([], len(names))
    values = cast("list[bytes | None]", connections.run(lambda client: client.hmget(key, cast("list[str]", wanted))))
    decode = row_reader(sink.columns, name)
    return Page([decode(value) for value in values if value is not None], len(names))


def view(sink: Sink, connections: Connections) -> KeyedView:
    return KeyedView(
        sink, partial(_latest, sink, connections), partial(read, sink, connections, version=None, call=None)
    )


def _place(sink: Sink) -> Redis:
    assert isinstance(sink.connector, Redis), "the registry has brought it here"
    return sink.connector


def _readable(sink: Sink) -> str:
    if why := unreadable(sink.connector):
        hint = "other applications read it; a sink without a form can be written beside it."
        raise GhcmError(f'sink "{sink.name}" cannot be read', code="GHCM-734", detail=why, hint=hint)
    return _place(sink).prefix


def _progress(client: redis.Redis, prefix: str, version: bytes) -> object:
    return commands(client).hget(f"{prefix}:@progress", version)


def _latest(sink: Sink, connections: Connections) -> Commit | None:
    name = _place(sink).prefix
    if sink.mode is Mode.REPLACE:
        reply: object = connections.run(lambda client: client.eval(_LATEST, 1, name))
        version, record = cast("list[bytes | None]", reply)
        return None if version is None or record is None else _commit(version.decode(), record)
    found = cast("dict[bytes, bytes]", connections.run(lambda client: client.hgetall(f"{name}:@versions")))
    return max(
        (_commit(version.decode(), record) for version, record in found.items()),
        key=lambda commit: commit.time,
        default=None,
    )


def _fill(client: redis.Redis, key: str, rows: dict[str, str]) -> None:
    with commands(client).pipeline(transaction=True) as pipeline:
        pipeline.hset(key, mapping=cast("dict[FieldT, EncodableT]", rows))
        pipeline.expire(key, _OPEN_SECONDS)
        pipeline.execute()


def _commits(connections: Connections, prefix: str, version: str) -> Commit | None:
    found = connections.run(lambda client: client.hget(f"{prefix}:@versions", version))
    return None if found is None else _commit(version, cast("bytes", found))


def _commit(version: str, found: bytes) -> Commit:
    record = json.loads(found)
    return Commit(version, int(record["rows"]), int(record["time"]))


def _hash(connections: Connections, prefix: str, mode: Mode, version: str | None, call: str | None) -> str | None:
    """The hash to read; None where nothing was ever written. GhcmError where it is no longer kept."""
    named = version if version is not None else call
    if named is None:
        if mode is not Mode.REPLACE:
            return prefix
        latest = connections.run(lambda client: client.get(f"{prefix}:@latest"))
        return None if latest is None else f"{prefix}:{cast('bytes', latest).decode()}"
    commit = _commits(connections, prefix, named)
    if commit is None and (mode is Mode.REPLACE or call is None):
        raise _no_version(prefix, named)
    of_call = prefix if call is None else f"{prefix}:@call:{call}"
    key = f"{prefix}:{named}" if mode is Mode.REPLACE else of_call
    if commit is not None and commit.rows and not connections.run(lambda client: client.exists(key)):
        raise _no_version(prefix, named)
    return key


def _scan(connections: Connections, key: str) -> Iterator[tuple[bytes, bytes]]:
    """All fields and values once, even while others write."""
    seen: set[bytes] = set()
    cursor = 0
    while True:
        cursor, part = connections.run(partial(_scan_step, key=key, cursor=cursor))
        for name, value in part.items():
            if name not in seen:
                seen.add(name)
                yield name, value
        if cursor == 0:
            return


def _scan_step(client: redis.Redis, key: str, cursor: int) -> tuple[int, dict[bytes, bytes]]:
    return cast("tuple[int, dict[bytes, bytes]]", client.hscan(key, cursor, count=_CHUNK))


def _no_version(prefix: str, version: str) -> GhcmError:
    detail = "It was never committed, or it was replaced long ago."
    return GhcmError(f'"{prefix}" has no version "{version}"', code="GHCM-732", detail=detail)


_LATEST = """
local version = redis.call('GET', KEYS[1] .. ':@latest')
return {version, version and redis.call('HGET', KEYS[1] .. ':@versions', version)}
"""
"""The version that readers see, and what is noted of it: one question, since every call that reads a sink asks it."""

PREPARE = """
-- ARGV: open id, target key, version, record
local prefix, open = KEYS[1], KEYS[1] .. ':@open:' .. ARGV[1]
local function is(what) return redis.call('HEXISTS', prefix .. what, ARGV[3]) == 1 end
if is(':@versions') or is(':@progress') then
  redis.call('UNLINK', open)
  return
end
if redis.call('EXISTS', open) == 1 then
  redis.call('RENAME', open, ARGV[2])
  redis.call('PERSIST', ARGV[2])
elseif not is(':@prepared') then
  redis.call('UNLINK', ARGV[2])
end
redis.call('HSET', prefix .. ':@prepared', ARGV[3], ARGV[4])
"""
"""Staged rows get the name of their version. Asked again after a lost answer it finds nothing open and the version
noted.
"""

COMMIT_UPSERT = (
    SHRINK
    + """
-- ARGV: version, record, call or '', seconds, cursor; returns the next cursor, '0' when done
local prefix, staging = KEYS[1], KEYS[1] .. ':@staging:' .. ARGV[1]
if redis.call('HEXISTS', prefix .. ':@versions', ARGV[1]) == 1 then return '0' end
local cursor, done = ARGV[5], 0
repeat
  local part = redis.call('HSCAN', staging, cursor, 'COUNT', 1000)
  cursor = part[1]
  for i = 1, #part[2], 1000 do
    local rows, gone = {}, {}
    for j = i, math.min(i + 999, #part[2]), 2 do
      local field, row = part[2][j], part[2][j + 1]
      if row == '' then table.insert(gone, field) else table.insert(rows, field) table.insert(rows, row) end
    end
    if #rows > 0 then redis.call('HSET', prefix, unpack(rows)) end
    if #gone > 0 then redis.call('HDEL', prefix, unpack(gone)) end
  end
  done = done + #part[2] / 2
until cursor == '0' or done >= 10000
if cursor ~= '0' then return cursor end
if ARGV[3] ~= '' and redis.call('EXISTS', staging) == 1 then
  redis.call('RENAME', staging, prefix .. ':@call:' .. ARGV[3])
  redis.call('EXPIRE', prefix .. ':@call:' .. ARGV[3], ARGV[4])
else
  redis.call('UNLINK', staging)
end
redis.call('HSET', prefix .. ':@versions', ARGV[1], ARGV[2])
redis.call('HDEL', prefix .. ':@prepared', ARGV[1])
shrink(prefix)
return '0'
"""
)
"""Up to 10,000 rows become visible at once; more in several steps, so that the server goes on answering others."""

COMMIT_REPLACE = (
    SHRINK
    + """
-- ARGV: version, record, seconds
local prefix = KEYS[1]
if redis.call('HEXISTS', prefix .. ':@versions', ARGV[1]) == 1 then return end
local old = redis.call('GET', prefix .. ':@latest')
redis.call('PERSIST', prefix .. ':' .. ARGV[1])
redis.call('SET', prefix .. ':@latest', ARGV[1])
redis.call('HSET', prefix .. ':@versions', ARGV[1], ARGV[2])
redis.call('HDEL', prefix .. ':@prepared', ARGV[1])
if old and old ~= ARGV[1] then redis.call('EXPIRE', prefix .. ':' .. old, ARGV[3]) end
shrink(prefix)
"""
)

NOTE = (
    SHRINK
    + """
-- ARGV: version, record
redis.call('HSET', KEYS[1] .. ':@versions', ARGV[1], ARGV[2])
shrink(KEYS[1])
"""
)

ABORT = """
-- ARGV: version, target key
if redis.call('HEXISTS', KEYS[1] .. ':@progress', ARGV[1]) == 1 then return end
if redis.call('HEXISTS', KEYS[1] .. ':@versions', ARGV[1]) == 0 then redis.call('UNLINK', ARGV[2]) end
redis.call('HDEL', KEYS[1] .. ':@prepared', ARGV[1])
"""
