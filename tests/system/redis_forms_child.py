"""Runs a program that appends to Redis, in a process that tests may kill: `python redis_forms_child.py BASE URL`."""

import sys
from pathlib import Path

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.system.killed import count_down

TEXT = """\
program forms

record Row { n: int, name: string }

sink all   = redis("all", form = list)
sink part  = redis("part:{name}", form = list)
sink moves = redis("moves", form = stream)
sink last  = redis("last:{n}", form = json)
sink best  = redis("best", form = sorted_set, score = r => r.n)
sink sums  = redis("sum:{key}", form = string)

stream u {
  rows = files("*.jsonl", format = json).as(Row)
  rows.to(all)
  rows.to(part)
  rows.to(moves)
  rows.to(last)
  rows.to(best)
  totals = rows.map_to_pair(r => (r.name, r.n)).reduce_by_key((a, b) => a + b)
  totals.to(sums)
}
"""


def main(base: Path, url: str) -> None:
    connections = Connections(base, url)
    count_down()
    Engine(
        Compiled(checked(TEXT)), connections=connections, state=base / "state", job="forms", commit_s=0.002, piece=2000
    ).run()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
