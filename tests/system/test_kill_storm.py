"""A few random faults in each run of the tests; `python -m tests.system.kill_storm` is the long one."""

from pathlib import Path

import pytest

from tests.campaigns import times
from tests.system.kill_storm import storm

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_a_storm_over_kafka_and_all_but_spark(tmp_path: Path) -> None:
    found = storm(tmp_path, 8, seed=5, spark=False, over=True, longest=2.0)
    assert len(found.struck) == 8
    assert found.callers.accepted


@pytest.mark.timeout(900)
def test_a_storm_over_the_spark_driver_too(tmp_path: Path) -> None:
    found = storm(tmp_path, times(6), seed=2, spark=True, longest=2.0)
    assert found.struck
    assert found.callers.accepted
