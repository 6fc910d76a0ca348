"""Whatever one asks of HTTP by its OpenAPI document, or against it, has an answer that the document tells of."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.campaigns import times
from tests.unit.supervisor.serving import CALLS, Served, serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.fixture(scope="module")
def document(shop: Served) -> BaseSchema:
    """The document, with names of what is there for half of what could be any text."""
    there = {
        "program": "shop",
        "unit": "total",
        "sink": "kept",
        "panel": "kept",
        "id": shop.post(f"{CALLS}?wait=60", {"item": "tea"}).json["id"],
    }
    schema = schemathesis.openapi.from_url(f"{shop.url}/openapi.json")

    @schema.hook
    def map_path_parameters(_context: object, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        named = parameters or {}
        known = sum(map(len, map(str, named.values()))) % 4
        return {name: there.get(name, text) if known else text for name, text in named.items()}

    return schema


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_documented(document: BaseSchema, mode: GenerationMode) -> None:
    asked = 0
    for found in document.exclude(path="/ready").get_all_operations():  # nothing is, where no daemon runs

        @settings(max_examples=times(6), deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=cast("Any", found).ok().as_strategy(generation_mode=mode))
        def answers(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        with suppress(Unsatisfiable):  # where there are no parameters, none can be wrong
            answers()
            asked += 1
    assert asked >= 15
