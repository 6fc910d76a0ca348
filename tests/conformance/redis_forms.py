"""A program that writes every form of Redis, and what plain redis-py, as any other application has it, finds then."""

from __future__ import annotations

from typing import Any

import redis

__all__ = ["FOUND", "TEXT", "VISITS", "found"]

TEXT = """\
program forms

record Visit { user: string, page: string, n: int, at: timestamp, share: float?, tags: list<string> }

sink texts  = redis("last:{user}", form = string, expire = 1h)
sink pages  = redis("page:{user}:{n}", form = json)
sink users  = redis("user:{user}", form = hash, expire = 90m)
sink best   = redis("best:{page}", form = sorted_set, score = v => v.n)
sink recent = redis("recent", form = sorted_set, score = v => v.at)
sink log    = redis("{{log}}:{page}", form = list)
sink visits = redis("visits", form = stream, expire = 2h)
sink total  = redis("total:{key}", form = string)

KIND u {
  all = files("visits.jsonl", format = json).as(Visit)
  all.map(v => { user: v.user, page: v.page }).to(texts)
  all.to(pages)
  all.to(users)
  all.map(v => { page: v.page, user: v.user, n: v.n }).to(best)
  all.map(v => { user: v.user, at: v.at }).to(recent)
  all.to(log)
  all.to(visits)
  sums = all.map_to_pair(v => (v.page, v.n)).reduce_by_key((a, b) => a + b)
  sums.to(total)
}
"""

VISITS = (
    '{"user": "ann", "page": "/é", "n": 1, "at": "2026-01-02T03:04:05Z", "share": 0.5, "tags": ["x", "a b"]}\n'
    '{"user": "bob", "page": "/", "n": 2, "at": "2026-01-02T03:04:06.5Z", "share": null, "tags": []}\n'
    '{"user": "ann", "page": "/", "n": 3, "at": "2026-01-02T03:04:07Z", "share": null, "tags": ["\\"q\\""]}\n'
)


_ROWS = [
    '{"user":"ann","page":"/é","n":1,"at":"2026-01-02T03:04:05.000000Z","share":0.5,"tags":["x","a b"]}',
    '{"user":"bob","page":"/","n":2,"at":"2026-01-02T03:04:06.500000Z","share":null,"tags":[]}',
    '{"user":"ann","page":"/","n":3,"at":"2026-01-02T03:04:07.000000Z","share":null,"tags":["\\"q\\""]}',
]
_FIELDS: list[dict[str, str]] = [
    {"user": "ann", "page": "/é", "n": "1", "at": "2026-01-02T03:04:05.000000Z", "share": "0.5",
     "tags": '["x","a b"]'},
    {"user": "bob", "page": "/", "n": "2", "at": "2026-01-02T03:04:06.500000Z", "tags": "[]"},
    {"user": "ann", "page": "/", "n": "3", "at": "2026-01-02T03:04:07.000000Z", "tags": '["\\"q\\""]'},
]  # fmt: skip

FOUND: dict[str, Any] = {
    "last:ann": "/",
    "last:bob": "/",
    "page:ann:1": _ROWS[0],
    "page:bob:2": _ROWS[1],
    "page:ann:3": _ROWS[2],
    "user:ann": _FIELDS[2],
    "user:bob": _FIELDS[1],
    "best:/é": [("ann", 1.0)],
    "best:/": [("bob", 2.0), ("ann", 3.0)],
    "recent": [("bob", 1767323046.5), ("ann", 1767323047.0)],
    "{log}:/é": [_ROWS[0]],
    "{log}:/": [_ROWS[1], _ROWS[2]],
    "visits": _FIELDS,
    "total:/é": "1",
    "total:/": "5",
}
"""What each key holds."""


def found(client: redis.Redis) -> dict[str, Any]:
    """What each key holds that is not GHCM's own."""
    plain: Any = client
    keys = [key.decode() for key in plain.scan_iter() if not key.startswith(b"ghcm:")]
    return {key: _held(plain, key) for key in keys}


def _held(client: Any, key: str) -> object:
    match client.type(key).decode():
        case "string":
            return client.get(key).decode()
        case "hash":
            return {name.decode(): value.decode() for name, value in client.hgetall(key).items()}
        case "list":
            return [value.decode() for value in client.lrange(key, 0, -1)]
        case "zset":
            return [(member.decode(), score) for member, score in client.zrange(key, 0, -1, withscores=True)]
        case kind:
            assert kind == "stream", kind
            entries = [fields for _, fields in client.xrange(key)]
            return [{name.decode(): value.decode() for name, value in fields.items()} for fields in entries]
