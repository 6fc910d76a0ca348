"""Generated programs do on the native engine what they do in the reference: those that tell most."""

import pytest

from tests.campaigns import times
from tests.laws.coverage import UNIVERSE, Coverage
from tests.laws.differential import describe, run_all
from tests.laws.telling import chosen

PROGRAMS = 2_000
THINNED = 8
"""Of programs that meet nothing that those before have not met, one in so many runs on the engine."""
LEAST = 0.95


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_the_native_engine() -> None:
    seeds = sorted({*chosen("native")[0], *range(times(150))})
    coverage, failures = run_all(seeds)
    if not _is_whole(coverage):  # the generators have changed since these were chosen
        more, failed = run_all(range(PROGRAMS), thinned=THINNED)
        coverage.merge(more)
        failures += failed
    print("\n".join(coverage.lines()))
    assert not failures, "\n".join(describe(seed) for seed, _ in failures[:3])
    assert coverage.programs >= len(seeds)
    assert coverage.columns > coverage.programs
    assert _is_whole(coverage), "\n".join(coverage.lines())


def _is_whole(coverage: Coverage) -> bool:
    return all(coverage.share(kind) >= LEAST for kind in UNIVERSE)
