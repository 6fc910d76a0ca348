"""Each family of functions has one module of its name in every layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghcm.functions import FAMILIES, FUNCTIONS
from tests.conformance.functions.families import FAMILY_CASES

ROOT = Path(__file__).parents[3]
LAYERS = ("ghcm/functions", "ghcm/spg/reference/functions", "tests/conformance/functions")


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_has_a_module_for_each_family(layer: str) -> None:
    names = {path.name.split(".")[0] for path in (ROOT / layer).iterdir()}
    assert FAMILIES.keys() <= names


def test_no_two_families_have_a_function_of_one_name() -> None:
    assert len(FUNCTIONS) == sum(map(len, FAMILIES.values()))
    assert FAMILY_CASES.keys() == FAMILIES.keys()
