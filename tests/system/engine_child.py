"""Runs a small program in a process that tests may kill: `python engine_child.py BASE`; prints "done" at the end."""

import sys
from pathlib import Path

from ghcm.runtime.pubsub.connections import Connections
from tests.system.killed import count_down
from tests.unit.runtime.small_operators import engine, word_count


def main(base: Path) -> None:
    count_down()
    engine(word_count("*.txt"), base, connections=Connections(base), commit_s=0.002, piece=2000).run()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
