"""Each family of functions has cases of its own."""

from __future__ import annotations

from pathlib import Path

from ghcm.functions import FAMILIES, FUNCTIONS
from tests.conformance.functions.families import FAMILY_CASES

ROOT = Path(__file__).parents[3]


def test_each_family_has_a_module_of_cases() -> None:
    names = {path.stem for path in (ROOT / "tests/conformance/functions").iterdir()}
    assert FAMILIES.keys() <= names


def test_no_two_families_have_a_function_of_one_name() -> None:
    assert len(FUNCTIONS) == sum(map(len, FAMILIES.values()))
    assert FAMILY_CASES.keys() == FAMILIES.keys()
