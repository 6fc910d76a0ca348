"""Generated programs do on the native engine what they do in the reference: those of two thousand that tell most."""

import pytest

from tests.laws.coverage import UNIVERSE
from tests.laws.differential import describe, run_all

PROGRAMS = 2_000
THINNED = 8
"""Of programs that meet nothing that those before have not met, one in so many runs on the engine."""
LEAST = 0.95


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_generated_programs_on_the_native_engine() -> None:
    coverage, failures = run_all(PROGRAMS, thinned=THINNED)
    print("\n".join(coverage.lines()))
    assert not failures, "\n".join(describe(seed) for seed, _ in failures[:3])
    assert coverage.programs == PROGRAMS
    assert coverage.columns > PROGRAMS
    shares = {kind: coverage.share(kind) for kind in UNIVERSE}
    assert all(share >= LEAST for share in shares.values()), "\n".join(coverage.lines())
