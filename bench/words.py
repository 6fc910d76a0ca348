"""Words per second, found by a regex and by splitting lines at blanks: GHCM's native engine in one slot beside a plain
Python `Counter`, one pass of Polars and Spark's DataFrame batch, in turn, in one run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import corpus
from bench.nexmark import run_own
from bench.table import Row
from ghcm.runtime.daemon.warm_standby import SLOT

__all__ = ["WORDS", "measure"]

_PROGRAMS = Path(__file__).parent / "programs"
WORDS = {"regex": _PROGRAMS / "wordcount.istream", "split": _PROGRAMS / "wordcount_split.istream"}
"""The programs, by what words are."""
_OWN = "GHCM, one slot"
_PEERS = {"counter": "Python Counter", "polars": "Polars, one pass", "spark": "Spark DataFrame"}


def measure(source: Path | None, repeats: int, runs: int, of: Sequence[str] = tuple(WORDS)) -> list[Row]:
    """`source`: a folder of text files, unpacked and repeated; None takes generated text of 100 MB."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text"
        if source is None:
            corpus.generated(text, 100)
        else:
            corpus.copy_of(source, text, repeats)
        size = sum(path.stat().st_size for path in text.iterdir()) / 1e6
        return [row for words in of for row in _rows(words, _best(words, folder, runs), f"{size:.0f} MB", runs)]


def _best(words: str, folder: Path, runs: int) -> dict[str, dict[str, float]]:
    """The best run of each. SystemExit where they have counted otherwise."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(runs):
        for name in (_OWN, *_PEERS):
            result = _ghcm(words, folder) if name == _OWN else _peer(name, words, folder / "text")
            if name not in best or result["seconds"] < best[name]["seconds"]:
                best[name] = result
    if len({(result["words"], result["different"]) for result in best.values()}) != 1:
        raise SystemExit(f"the counts of {words} differ: {best}")
    return best


def _rows(words: str, best: dict[str, dict[str, float]], size: str, runs: int) -> list[Row]:
    own = best[_OWN]["seconds"]
    return [
        Row(
            "words",
            f"{words}, {_PEERS.get(name, name)}",
            f"{result['words'] / result['seconds'] / 1e6:.2f} million words/s, {result['cpu']:.1f} CPU s",
            f"{result['seconds'] / own:.0%} of GHCM's time",
            f"{size}, best of {runs}",
        )
        for name, result in best.items()
    ]


def _peer(name: str, words: str, text: Path) -> dict[str, float]:
    """A peer in a process of its own."""
    return _done([sys.executable, "-m", "bench.peers", name, words, str(text)], {})


def _ghcm(words: str, folder: Path) -> dict[str, float]:
    """GHCM in a process of its own, with the threads that it has in the daemon; compiled beforehand."""
    return _done([sys.executable, "-m", "bench.words", words, str(folder)], SLOT)


def _done(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _run(words: str, folder: Path) -> dict[str, float]:
    import polars as pl

    program = folder / "words.istream"
    shutil.copy(WORDS[words], program)
    taken = run_own(program, folder)
    counts = pl.read_delta(str(folder / "out"))
    return {**taken, "words": int(counts["value"].sum()), "different": counts.height}


if __name__ == "__main__":
    print(json.dumps(_run(sys.argv[1], Path(sys.argv[2]))))
