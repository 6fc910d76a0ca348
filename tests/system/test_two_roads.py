"""Instructions and data never share a road: a whole program, seen from the Redis that carries both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ghcm.runtime.pubsub.envelope import LIMIT
from tests.redis_server import RedisServer
from tests.system.running import running, until

pytestmark = pytest.mark.system

PROGRAM = """program roads

record Visit { page: string, note: string }

sink latest = redis("roads:latest", key = v => v.page, mode = upsert)

stream watch {
  visits = files("visits.jsonl", format = json).as(Visit)
  totals = visits.map_to_pair(v => (v.note, 1)).reduce_by_key((a, b) => a + b)
  visits.to(latest).publish(most(n = count()), every = 5)
}

responsive stream most(n: int = 1) { watch.totals.read().top(n, by = t => t.value).reply() }
"""
PAGES = 20


def test_no_record_is_in_what_a_cache_carries(tmp_path: Path, redis_server: RedisServer) -> None:
    lines = [json.dumps({"page": f"/{n}", "note": f"DATA-{n % 3}"}) for n in range(PAGES)]
    (tmp_path / "visits.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "roads.istream").write_text(PROGRAM)
    with redis_server.connect() as client, client.monitor() as monitor:
        with running(tmp_path, GHCM_REDIS=redis_server.url) as daemon:
            job = daemon.submit("roads.istream")
            until(lambda: daemon.job(job)["inputs_done"], "the inputs to be read")
            called = daemon.post("/programs/roads/units/most/calls?wait=60", {"n": 2})
            assert [row["value"] for row in called.json["data"]] == [7, 7], called.text

            def answered() -> bool:
                calls: Any = daemon.control.ask("calls", program="roads", limit=100)["calls"]
                return [call["state"] for call in calls] == ["done"] * (1 + PAGES // 5)

            until(answered, "the calls of the policy to be answered")
        redis_server.connect().exists("THE END")
        seen: list[str] = []
        for command in cast("Iterator[dict[str, object]]", monitor.listen()):
            seen.append(str(command["command"]))
            if "THE END" in seen[-1]:
                break
    envelopes = [command for command in seen if "ghcm:cache:" in command or command.startswith("XADD")]
    assert sum('"unit":"most"' in command for command in envelopes) >= 1 + PAGES // 5, "each call is an instruction"
    assert not [command for command in envelopes if "DATA-" in command]
    assert all(len(command) < LIMIT for command in envelopes)
    assert [command for command in seen if "DATA-" in command], "the data takes its own road"
