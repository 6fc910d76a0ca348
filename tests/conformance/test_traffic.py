"""The traffic monitor of the examples."""

from pathlib import Path

from ghcm import driver
from tests.system.running import ghcm

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "traffic"


def test_both_front_ends_give_the_same_graph() -> None:
    assert driver.check(EXAMPLE / "traffic.istream") == driver.check(EXAMPLE / "traffic.py")


def test_the_program_is_canonical() -> None:
    assert ghcm("fmt", "--check", EXAMPLE / "traffic.istream", cwd=EXAMPLE).returncode == 0
