"""Each family of functions has one module of its name in every layer, and names of helpers of jobs are unique."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from ghcm.functions import FAMILIES, FUNCTIONS
from tests.conformance.functions.families import FAMILY_CASES

ROOT = Path(__file__).parents[3]
LAYERS = (
    "ghcm/functions",
    "ghcm/spg/reference/functions",
    "codegen/spark/functions",
    "codegen/templates/spark/functions",
    "tests/conformance/functions",
)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_has_a_module_for_each_family(layer: str) -> None:
    names = {path.name.split(".")[0] for path in (ROOT / layer).iterdir()}
    assert FAMILIES.keys() <= names


def test_no_two_families_have_a_function_of_one_name() -> None:
    assert len(FUNCTIONS) == sum(map(len, FAMILIES.values()))
    assert FAMILY_CASES.keys() == FAMILIES.keys()


def test_no_two_templates_have_a_helper_of_one_name() -> None:
    """A job takes its helpers by name from all templates."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "codegen/templates/spark").rglob("*.j2"))
    bodies = [ast.parse(text).body for text in texts if "{%" not in text and "{{ " not in text]
    named = Counter(node.name for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    assert len(named) > 200
    assert [name for name, count in named.items() if count > 1] == []
