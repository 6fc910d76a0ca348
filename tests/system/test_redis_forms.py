"""Keys of Redis for other applications, while engine and Redis are killed with SIGKILL: each record is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.campaigns import times
from tests.system.private_redis import PrivateRedis

ROOT = Path(__file__).resolve().parents[2]
KILLS = times(5)
ROWS = 24_000


@pytest.mark.slow
def test_kill_9_of_engine_and_redis_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance, server = random.Random(12), PrivateRedis(tmp_path)
    for number in range(3):
        rows = [{"n": n, "name": chance.choice("abc")} for n in range(number, ROWS, 3)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    url, kills = server.start(), 0
    command = [sys.executable, "-m", "tests.system.redis_forms_child", str(tmp_path), url]
    try:
        for _ in range(KILLS):
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                _, errors = process.communicate(timeout=chance.uniform(0.8, 2.0))
                assert process.returncode == 0, errors
                break  # it was faster than its murderer
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
            if kills % 3 == 0:
                server.kill()
                server.start()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
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
