"""Redis in the forms that other applications read: what is staged of a row, and how a prepared version is published.

Rows are staged in a hash: what keeps one record per key by key, what only grows by number, each with its key. So every
step may come again. Keys that are upserted are written one by one, each as a whole. What is appended goes into one
script together with how far the version has come, up to `_AT_ONCE` rows at a time; a cluster needs all of its keys in
one slot, which the script says otherwise. How keys and notes are named stands in `ghcm.spg.connectors`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha1
from itertools import islice
from math import isnan
from typing import Any, TypeAlias

from ghcm.errors import GhcmError
from ghcm.types import Duration, Struct, Timestamp
from ghcm.values import cell_writer, compact, own_writer

Run: TypeAlias = Callable[[Callable[[Any], Any]], Any]
"""Runs a step with a client of redis-py, again where the server was away."""

Write: TypeAlias = Callable[..., Any]
"""Runs a step with a pipeline of redis-py and executes it, see `ghcm.fence.write_redis`."""

LONGEST_KEY = 65_536
_CHUNK = 1000
_AT_ONCE = 10_000
_BYTES_AT_ONCE = 16 << 20


@dataclass(frozen=True, slots=True)
class Form:
    """One of the forms by its name; `value` is the column that a string holds, or the score of a sorted set."""

    name: str
    value: str | None = None
    expire_us: int | None = None

    @property
    def appends(self) -> bool:
        """Whether rows are added to what a key holds."""
        return self.name in ("list", "stream")

    def text_writer(self, columns: Struct) -> Callable[[tuple[Any, ...]], str]:
        """The function that gives what a row adds to its key: a text, a score, or fields and texts in turn as JSON."""
        if self.value is not None:
            at = columns.index(self.value)
            type_ = columns.fields[at].type
            seconds = isinstance(type_, Timestamp | Duration)
            write = partial(_score, seconds=seconds) if self.name == "sorted_set" else cell_writer(type_)
            return lambda row: write(row[at]) or ""
        if self.name in ("json", "list"):
            to_json = own_writer(columns)
            return lambda row: compact(to_json(row))
        cells = [(field.name, cell_writer(field.type)) for field in columns.fields]

        def fields(row: tuple[Any, ...]) -> str:
            texts = ((name, write(value)) for (name, write), value in zip(cells, row, strict=True))
            return compact([part for name, text in texts if text is not None for part in (name, text)])

        return fields

    def staged(self, pairs: Iterable[tuple[str, str]], part: int, first: int) -> Iterator[tuple[str, str]]:
        """Fields and values of the staging hash for keys and texts; `part` and `first` number what is appended."""
        for number, (key, text) in enumerate(_short(pairs), first):
            yield (f"{part}-{number}", compact([key, text])) if self.appends else (key, text)

    def show(self, write: Write, pairs: Iterable[tuple[str, str]], note: Callable[[Any], object]) -> None:
        """Have readers see rows at once, by keys and texts as they are before they are staged; `note` puts what is to
        be noted of them into the same pipeline. Rows that come again are appended again.
        """
        rows = [*_short(pairs)]

        def put(pipe: Any) -> None:
            if self.appends:
                keys, texts = _numbered(rows)
                pipe.eval(_SHOW, len(keys), *keys, self.name, self._milliseconds or "", *texts)
            else:
                self._put(pipe, dict(rows))
            note(pipe)

        write(put, together=self.appends)

    def publish(self, run: Run, write: Write, prefix: str, version: str, record: str, parts: Sequence[int]) -> None:
        """Make a prepared version visible and note `record` of it. `parts`: the rows of each part of what is appended.
        One that was begun goes on where it was.
        """
        staging = f"{prefix}:@staging:{version}"
        if sum(parts) and not run(lambda client: client.exists(staging)):
            message = f'the rows of version "{version}" are gone from Redis'
            raise GhcmError(message, code="GHCM-732", hint="it must not evict keys: maxmemory-policy noeviction.")
        if self.appends:
            every = (f"{part}-{number}" for part, count in enumerate(parts) for number in range(count))
            done = int(run(lambda client: client.hget(f"{prefix}:@progress", version)) or 0)
            for rows in _portions(run, staging, islice(every, done, None)):
                write(partial(self._append, prefix=prefix, version=version, rows=rows, done=done))
                done += len(rows)
        else:
            cursor = -1
            while cursor:
                cursor, rows = run(partial(_scan, staging=staging, cursor=max(cursor, 0)))
                write(partial(self._put, rows=rows), together=False)
        write(partial(_finish, prefix=prefix, version=version, record=record))

    @property
    def _milliseconds(self) -> int | None:
        return None if self.expire_us is None else self.expire_us // 1000

    def _put(self, pipe: Any, rows: dict[Any, Any]) -> None:
        """Write some of the keys."""
        expire = self._milliseconds
        if self.name == "hash":
            pipe.script_load(_HASH)
        for key, text in rows.items():
            match self.name:
                case "hash":
                    pipe.evalsha(_HASH_ID, 1, key, expire or "", *json.loads(text))
                case "sorted_set":
                    place, member = json.loads(key)
                    pipe.zadd(place, {member: text})
                    if expire is not None:
                        pipe.pexpire(place, expire)
                case _:  # a text, whatever its name
                    pipe.set(key, text, px=expire)

    def _append(self, pipe: Any, prefix: str, version: str, rows: list[Any], done: int) -> None:
        keys, texts = _numbered(rows)
        notes = (f"{prefix}:@progress", f"{prefix}:@prepared")
        said = (version, done, done + len(rows), self.name, self._milliseconds or "")
        pipe.eval(_APPEND, len(keys) + 2, *notes, *keys, *said, *texts)


def _short(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs. GhcmError at a key that is too long."""
    for key, text in pairs:
        if len(key) > LONGEST_KEY:
            message = f'a record gives a key of {len(key):,} characters, which begins with "{key[:40]}"'
            hint = f"it may have {LONGEST_KEY:,}: filter(...) takes such records out."
            raise GhcmError(message, code="GHCM-734", hint=hint)
        yield key, text


def _numbered(rows: Iterable[tuple[str, str]]) -> tuple[list[str], Iterator[str | int]]:
    """The keys, and of each row the number of its key, from 1 on, and its text."""
    rows = [*rows]
    keys = {key: number for number, key in enumerate(dict.fromkeys(key for key, _ in rows), 1)}
    return [*keys], (part for key, text in rows for part in (keys[key], text))


def _portions(run: Run, staging: str, names: Iterator[str]) -> Iterator[list[Any]]:
    """Staged keys with their texts, so many at a time as are appended at once."""
    held, size = list[Any](), 0
    while chunk := list(islice(names, _CHUNK)):
        found = run(partial(_read, staging=staging, names=chunk))
        if None in found:  # another process has published the version to its end
            return
        held, size = held + [json.loads(each) for each in found], size + sum(map(len, found))
        if len(held) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield held
            held, size = [], 0
    if held:
        yield held


def _finish(pipe: Any, prefix: str, version: str, record: str) -> None:
    pipe.eval(_FINISH, 1, prefix, version, record)


def _scan(client: Any, staging: str, cursor: int) -> tuple[int, dict[Any, Any]]:
    """Some of the staged keys; where the next are, 0 where these were the last."""
    following, rows = client.hscan(staging, cursor, count=_CHUNK)
    return int(following), rows


def _read(client: Any, staging: str, names: list[str]) -> list[Any]:
    found: list[Any] = client.hmget(staging, names)
    return found


def _score(value: Any, *, seconds: bool) -> str:
    if isinstance(value, float) and isnan(value):
        hint = 'filter(r => r.score <= to_float("inf")) takes such records out: NaN is greatest.'
        raise GhcmError("the score of a record is NaN, by which nothing can be ordered", code="GHCM-734", hint=hint)
    return repr(value / 1_000_000) if seconds else str(value)


_HASH = """
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
if ARGV[1] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
"""
_HASH_ID = sha1(_HASH.encode(), usedforsecurity=False).hexdigest()

_PUSH = """
local function push(first, form, milliseconds, at)
  -- adds to the keys from the first one on; from `at` on stand, of each row, the number of its key and its text
  for i = first, #KEYS do
    local kind = redis.call('TYPE', KEYS[i]).ok
    if kind ~= 'none' and kind ~= form then
      return redis.error_reply('WRONGTYPE "' .. KEYS[i] .. '" is a ' .. kind .. ' and no ' .. form)
    end
  end
  for i = at, #ARGV, 2 do
    local key = KEYS[first - 1 + tonumber(ARGV[i])]
    if form == 'list' then redis.call('RPUSH', key, ARGV[i + 1])
    else redis.call('XADD', key, '*', unpack(cjson.decode(ARGV[i + 1]))) end
  end
  for i = first, #KEYS do
    if milliseconds ~= '' then redis.call('PEXPIRE', KEYS[i], milliseconds) end
  end
end
"""
"""A script is not undone where a step of it fails: so whatever can be refused is refused before the first row."""

_APPEND = (
    _PUSH
    + """
-- KEYS: progress, prepared, the keys; ARGV: version, rows before, rows after, form, milliseconds or '', the rows
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return end
if (redis.call('HGET', KEYS[1], ARGV[1]) or '0') ~= ARGV[2] then return end
local refused = push(3, ARGV[4], ARGV[5], 6)
if refused then return refused end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
"""
)

_SHOW = _PUSH + "return push(1, ARGV[1], ARGV[2], 3)"
"""KEYS: the keys; ARGV: form, milliseconds or '', the rows."""

SHRINK = """
local function shrink(prefix)
  local versions = prefix .. ':@versions'
  if redis.call('HLEN', versions) <= 4096 then return end
  local all, found = redis.call('HGETALL', versions), {}
  for i = 1, #all, 2 do found[#found + 1] = {all[i], tonumber(cjson.decode(all[i + 1]).time) or 0} end
  table.sort(found, function(a, b) return a[2] < b[2] end)
  for i = 1, #found - 2048 do redis.call('HDEL', versions, found[i][1]) end
end
"""
"""Forgets the oldest of many versions, of any sink on Redis."""

_FINISH = (
    SHRINK
    + """
-- ARGV: version, record
local prefix = KEYS[1]
if redis.call('HSETNX', prefix .. ':@versions', ARGV[1], ARGV[2]) == 0 then return end
redis.call('UNLINK', prefix .. ':@staging:' .. ARGV[1])
redis.call('HDEL', prefix .. ':@prepared', ARGV[1])
redis.call('HDEL', prefix .. ':@progress', ARGV[1])
shrink(prefix)
"""
)
