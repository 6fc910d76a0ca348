"""Every row of every table has an example, and each gives what it says: on the reference and in both native forms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ghcm.aggregates import AGGREGATES
from ghcm.expr import Call, walk
from ghcm.functions import FUNCTIONS, Example
from ghcm.manual import aggregates
from ghcm.manual.aggregates import Aggregated
from ghcm.manual.forms import FORMS
from ghcm.operators import OPERATORS, Pipeline
from ghcm.runtime.contract import Form
from ghcm.spg.ops import Map
from ghcm.support import Yes
from tests.unit.manual.executing import by_form, by_reference_engine, program_of

OF_FUNCTIONS = [
    pytest.param(row.name, each, id=f"{row.name}: {each.text}") for row in FUNCTIONS.values() for each in row.examples
]
FORM_EXAMPLES = [pytest.param(each, id=each.text) for form in FORMS for each in form.examples]
OTHERS = [
    *(
        pytest.param(each, id=f"{operator.name}: {each.text.splitlines()[-1]}")
        for operator in OPERATORS.values()
        for each in operator.examples
    ),
    *(
        pytest.param(each, id=f"{name.value}: {each.text}")
        for name, examples in aggregates.EXAMPLES.items()
        for each in examples
    ),
]


def missing() -> Iterator[str]:
    """What has to be added, one instruction for each gap."""
    for row in FUNCTIONS.values():
        if not row.examples:
            yield f"""add to the row of "{row.name}": shows={{'{row.signature}': '<its value as JSON>'}},"""
        elif row.failures and not any(each.fails for each in row.examples):
            example = f"""'<what fails>': Failure.{row.failures[0].name}"""
            yield f"""add to what "{row.name}" shows: {example},"""
    for operator in OPERATORS.values():
        name = operator.name
        if isinstance(operator.reference, Yes) and not operator.examples:
            example = f""".example("memory([...]).{name}(...)", '<each record as JSON>')"""
            yield f'add to the row of "{name}" in ghcm/operators: {example}'
    for aggregate in AGGREGATES.keys() - aggregates.EXAMPLES.keys():
        example = f'Aggregated("{aggregate.value}(value)", "[1, 2, null]", "<the result as JSON>")'
        yield f"add to EXAMPLES of ghcm/manual/aggregates.py: _F.{aggregate.name}: ({example},),"


def test_every_row_of_every_table_has_an_example() -> None:
    gaps = list(missing())
    assert not gaps, "\n".join(["", *gaps, "then: python docs/build_reference.py"])


@pytest.mark.parametrize(("name", "example"), OF_FUNCTIONS)
def test_functions_give_what_is_shown(name: str, example: Example, tmp_path: Path) -> None:
    program = program_of(example)
    task = program.unit("example").tasks[1]
    assert isinstance(task.op, Map)
    called = {each.function for each in walk(task.op.function.body) if isinstance(each, Call)}
    assert name in called, f'the example of "{name}" does not use it: {sorted(called)}'
    _gives_what_is_shown(example, tmp_path)


@pytest.mark.parametrize("example", OTHERS)
def test_operators_and_aggregates_give_what_is_shown(example: Pipeline | Aggregated, tmp_path: Path) -> None:
    shown = sorted(example.gives if isinstance(example, Pipeline) else [example.gives])
    assert sorted(by_reference_engine(example, tmp_path)) == shown
    for found in _by_forms(example, tmp_path):
        assert sorted(found) == shown


@pytest.mark.parametrize("example", FORM_EXAMPLES)
def test_forms_give_what_is_shown(example: Example, tmp_path: Path) -> None:
    _gives_what_is_shown(example, tmp_path)


def _gives_what_is_shown(example: Example, base: Path) -> None:
    found = by_reference_engine(example, base)
    shown = f"dead letter ({example.fails.value})" if example.fails else example.gives
    assert [line.split(": ", 1)[0] if example.fails else line for line in found] == [shown]
    assert _by_forms(example, base) == [found, found]


def _by_forms(example: Example | Aggregated | Pipeline, base: Path) -> list[list[str]]:
    forms: tuple[Form, ...] = ("rows", "columns")
    return [by_form(example, form, base) for form in forms]
