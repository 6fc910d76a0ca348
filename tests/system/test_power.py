"""A few losses of power in each run of the tests; `python -m tests.system.power --losses 200` is the long one."""

from pathlib import Path

import pytest

from tests.campaigns import times
from tests.system.power import machine

pytestmark = [pytest.mark.system, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_a_loss_of_power_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    found = machine(tmp_path, losses=times(3), seed=1)
    assert found.accepted
    assert found.answers
