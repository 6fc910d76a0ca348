"""Seeds of generated programs that meet together what thousands meet: few enough for every run of the tests.

    python -m tests.laws.telling        chooses them anew (minutes); to be run where the generators have changed

The longer campaigns are those of `tests.laws.differential`.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from tests.laws.coverage import UNIVERSE, Coverage, watch_failures
from tests.laws.differential import case_of
from tests.laws.runs import reference_of
from tests.laws.spark_together import batch_cases, cases_of

__all__ = ["chosen", "met_together"]

FILE = Path(__file__).with_name("telling.json")
OF = {"native": 3_000, "spark": 1_500}
"""Of so many programs they are chosen."""
MOST = {"native": 400, "spark": 45}
_CHUNK = 50


def chosen(engine: str) -> tuple[list[int], int]:
    """The seeds for that engine, and how much their programs met when they were chosen."""
    found = json.loads(FILE.read_text(encoding="utf-8"))[engine]
    return found["seeds"], found["met"]


def met_together(engine: str, seeds: Sequence[int]) -> int:
    """How much these programs meet now. Asked in a process of its own, since what fails there is watched."""
    return len(set().union(*_met_by_each(engine, seeds, workers=1).values()))


def telling(met: Mapping[int, set[str]], most: int) -> tuple[list[int], int]:
    """At most so many seeds, each the one that adds most to what those before it meet; how much they meet."""
    left, known = dict(met), set[str]()
    seeds: list[int] = []
    while left and len(seeds) < most:
        seed = max(left, key=lambda each: (len(left[each] - known), -each))
        if not left[seed] - known:
            break
        known |= left.pop(seed)
        seeds.append(seed)
    return sorted(seeds), len(known)


def _met_by_each(engine: str, seeds: Sequence[int], workers: int) -> dict[int, set[str]]:
    chunks = [seeds[first : first + _CHUNK] for first in range(0, len(seeds), _CHUNK)]
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawned, initializer=_begin) as pool:
        return dict(chain.from_iterable(pool.map(partial(_met, engine), chunks)))


_COVERAGE = Coverage()


def _begin() -> None:
    watch_failures(_COVERAGE)


def _met(engine: str, seeds: Sequence[int]) -> list[tuple[int, set[str]]]:
    found: list[tuple[int, set[str]]] = []
    for seed, case in ((seed, case_of(seed)) for seed in seeds) if engine == "native" else cases_of(seeds):
        for of_kind in _COVERAGE.met.values():
            of_kind.clear()
        _COVERAGE.add(case.program, reference_of(case))
        met = ((kind, of_kind & UNIVERSE[kind]) for kind, of_kind in _COVERAGE.met.items())
        found.append((seed, {f"{kind}: {each}" for kind, of_kind in met for each in of_kind}))
    return found


def main() -> None:
    """Choose anew."""
    told: dict[str, object] = {}
    for engine, of in OF.items():
        seeds = range(of) if engine == "native" else [seed for seed, _ in batch_cases(of)]
        best, met = telling(_met_by_each(engine, seeds, workers=2), MOST[engine])
        told[engine] = {"met": met, "seeds": best}
        print(f"{engine}: {len(best)} of {of} programs meet {met} things")
    FILE.write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
