"""Words per second: GHCM's native engine in one slot beside a plain Python `Counter`, one pass of Polars and Spark's
DataFrame batch, in turn, in one run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import corpus
from bench.table import Row
from ghcm.runtime.daemon.processes import SLOT

__all__ = ["measure"]

PROGRAM = Path(__file__).parent / "programs" / "wordcount.istream"


def measure(source: Path | None, repeats: int, runs: int) -> list[Row]:
    """`source`: a folder of text files, unpacked and repeated; None takes generated text of 100 MB."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        if source is None:
            corpus.generated(text, 100)
        else:
            corpus.copy_of(source, text, repeats)
        size = sum(path.stat().st_size for path in text.iterdir()) / 1e6
        contestants: dict[str, Callable[[], dict[str, float]]] = {
            "GHCM, one slot": lambda: ghcm(Path(folder)),
            "Python Counter": lambda: peer("counter", text),
            "Polars, one pass": lambda: peer("polars", text),
            "Spark DataFrame": lambda: peer("spark", text),
        }
        best: dict[str, dict[str, float]] = {}
        for _ in range(runs):
            for name, run in contestants.items():
                result = run()
                if name not in best or result["seconds"] < best[name]["seconds"]:
                    best[name] = result
    totals = {(result["words"], result["different"]) for result in best.values()}
    if len(totals) != 1:
        raise SystemExit(f"the counts differ: {best}")
    own = best["GHCM, one slot"]["seconds"]
    return [
        Row(
            "words",
            name,
            f"{result['words'] / result['seconds'] / 1e6:.2f} million words/s",
            f"{result['seconds'] / own:.2f} x its time",
            f"{size:.0f} MB, best of {runs}",
        )
        for name, result in best.items()
    ]


def peer(name: str, text: Path) -> dict[str, float]:
    """A peer in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.peers", name, str(text)], capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def ghcm(folder: Path) -> dict[str, float]:
    """GHCM in a process of its own, with the threads that it has in the daemon; compiled beforehand."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    command, environment = [sys.executable, "-m", "bench.words", str(folder)], {**os.environ, **SLOT}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _run(folder: Path) -> dict[str, float]:
    import polars as pl

    from ghcm.driver import build
    from ghcm.runtime.bundle import Bundle
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.slot.engine import Engine

    bundle = Bundle.open(build(PROGRAM, folder / "words.ghcm"))
    with tempfile.TemporaryDirectory() as state:
        engine = Engine(bundle, connections=Connections(folder), state=Path(state))
        start = time.perf_counter()
        engine.run()
        seconds = time.perf_counter() - start
    counts = pl.read_delta(str(folder / "out"))
    return {"seconds": seconds, "words": int(counts["value"].sum()), "different": counts.height}


if __name__ == "__main__":
    print(json.dumps(_run(Path(sys.argv[1]))))
