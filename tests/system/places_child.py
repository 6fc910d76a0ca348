"""Runs a program in a process that tests may kill: `python places_child.py PROGRAM FOLDER SNAPSHOTS`; prints "done"."""

import sys
from pathlib import Path

from ghcm.places import place
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.system.killed import count_down


def main(program: Path, folder: Path, snapshots: str) -> None:
    compiled = Compiled(checked(program.read_text(encoding="utf-8")))
    count_down()
    Engine(
        compiled,
        connections=Connections(folder),
        state=folder / "state",
        snapshots=place(folder, snapshots),
        job="job",
        commit_s=0.01,
        piece=500,
    ).run()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
