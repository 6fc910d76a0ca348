"""Keys of Redis for other applications, while engine and Redis are killed with SIGKILL: each record is there once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.campaigns import times
from tests.system.killed import killed
from tests.system.private_redis import PrivateRedis

KILLS = times(5)
ROWS = 24_000


@pytest.mark.slow
def test_kill_9_of_engine_and_redis_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance, server = random.Random(12), PrivateRedis(tmp_path)
    for number in range(3):
        rows = [{"n": n, "name": chance.choice("abc")} for n in range(number, ROWS, 3)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    url, kills = server.start(), 0
    child = "tests.system.redis_forms_child"
    try:
        while kills < KILLS and killed(child, tmp_path, url, after_s=chance.uniform(0.05, 0.4)):
            kills += 1
            if kills % 3 == 0:
                server.kill()
                server.start()
        assert not killed(child, tmp_path, url, after_s=0)
        assert kills > 0
        client: Any = redis.Redis.from_url(url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType]
        appended = [json.loads(row)["n"] for row in client.lrange("all", 0, -1)]
        parts = [json.loads(row)["n"] for name in "abc" for row in client.lrange(f"part:{name}", 0, -1)]
        moved = [int(fields["n"]) for _, fields in client.xrange("moves")]
        for each in (appended, parts, moved):
            assert sorted(each) == list(range(ROWS))
        assert sum(1 for _ in client.scan_iter("last:*", 10_000)) == ROWS
        assert client.zcard("best") == 3
        assert sum(int(client.get(f"sum:{name}")) for name in "abc") == sum(range(ROWS))
        left = [key for key in client.scan_iter("ghcm:*") if not key.endswith(":@versions")]
        assert all(0 < client.ttl(key) <= 3600 for key in left)  # what a killed writer had not prepared
    finally:
        server.stop()
