"""Runs a small program in a process that tests may kill: `python engine_child.py BASE`; prints "done" at the end."""

import sys
from pathlib import Path

from ghcm.runtime.sources import pieces
from tests.unit.runtime.small_operators import engine, word_count


def main(base: Path) -> None:
    pieces._PIECE = 2000
    engine(word_count("*.txt"), base, commit_s=0.002).run()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
