"""A few random kills in each run of the tests; `python -m tests.system.kill_storm --kills 200` is the long one."""

from pathlib import Path

import pytest

from tests.campaigns import times
from tests.system.kill_storm import storm, storm_over_services

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_a_storm_over_kafka_and_all_but_spark(tmp_path: Path) -> None:
    found = storm_over_services(tmp_path, kills=8, seed=5, spark=False)
    struck = {each.removesuffix(" paused") for each in found.kills}
    assert struck == {"daemon", "engine", "http", "kafka", "redis"}
    assert found.accepted


@pytest.mark.timeout(900)
def test_a_storm_over_the_spark_driver_too(tmp_path: Path) -> None:
    found = storm(tmp_path, kills=times(6), seed=2, spark=True)
    assert set(found.kills) == {"engine", "http", "redis", "spark"}
    assert found.accepted
