"""The traffic monitor of the examples."""

from pathlib import Path

from ghcm import driver
from tests.system.running import ghcm

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "traffic"


def test_the_program_is_canonical_and_right() -> None:
    assert ghcm("fmt", "--check", EXAMPLE / "traffic.istream", cwd=EXAMPLE).returncode == 0
    assert driver.check(EXAMPLE / "traffic.istream").name == "traffic"
