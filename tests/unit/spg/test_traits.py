"""The traits of operations: each has them, and the labels that they give name fields of theirs."""

from dataclasses import fields
from string import Formatter
from typing import get_args

import pytest

from ghcm.spg.ops import Op
from ghcm.spg.traits import Arity, Role, traits_of

OPERATIONS = get_args(Op)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_its_facts(operation: type) -> None:
    facts = traits_of(object.__new__(operation))
    named = {name for _, name, _, _ in Formatter().parse(facts.label) if name}
    assert named <= {each.name for each in fields(operation)}
    assert (facts.arity is Arity.NONE) == (facts.role is Role.SOURCE)


def test_what_is_no_operation_has_none() -> None:
    with pytest.raises(KeyError):
        traits_of(3)
