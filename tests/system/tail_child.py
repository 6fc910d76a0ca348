"""Runs a unit that tails logs in a process that tests may kill: `python tail_child.py BASE`; prints how many rows its
sink holds after every commit."""

import sys
from pathlib import Path
from threading import Event

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked

TEXT = """program tailing
record R { n: int, pad: string }
sink out = files("out", format = json, mode = append)
stream u { files("in/app.log*", format = json, tail = true).as(R).to(out) }
"""


def main(base: Path) -> None:
    program, committed = checked(TEXT), Event()
    connections = Connections(base)
    with Engine(
        Compiled(program), connections=connections, state=base / "state", commit_s=0.01, changed=committed.set
    ) as engine:
        while committed.wait(60):
            committed.clear()
            engine.check()
            print(sum(1 for _ in read(program.sink("out"), connections)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
