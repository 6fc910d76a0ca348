"""Whatever one asks of HTTP by its OpenAPI document, or against it, has an answer that the document tells of."""

# What Schemathesis says of its types is not whole.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportArgumentType=false

import asyncio
import socket
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
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

from ghcm.runtime.daemon.control import ControlServer
from ghcm.runtime.daemon.daemon import Daemon, answers
from ghcm.runtime.daemon.locks import Lock
from ghcm.runtime.settings import load_settings
from tests.campaigns import times
from tests.unit.supervisor.serving import CALLS, JSON, Served, serving

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ELSEWHERE = ["/ready", "/programs/{program}/sinks/{sink}/events"]
"""No daemon runs that would be ready; an answer that has no end is none to read whole: see `test_sink_events`."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A caller: its header, the document, how often each operation is asked in each mode, and the status of what it may
    not do.
    """

    headers: Mapping[str, str]
    document: BaseSchema
    times: int
    refused: int | None


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A shop that wants a token of everybody, and has a daemon that answers on its control socket."""
    with serving(tmp_path_factory.mktemp("closed"), access={"required": True}) as served, _daemon(served):
        yield served


@contextmanager
def _daemon(served: Served) -> Generator[None]:
    """A daemon that answers requests, and has started no processes."""
    state, lasting, opened = served.supervisor.state, asyncio.Event(), threading.Event()

    async def answer() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            lock = Lock(state)
            daemon = Daemon(load_settings({"state": state.path}), lock, served.store, listener)
            control = ControlServer(state.control, partial(answers, daemon), lambda *_: None)
            await control.open()
            opened.set()
            await lasting.wait()
            await control.close()
            lock.release()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(answer(),), name="daemon")
    thread.start()
    assert opened.wait(60)
    yield
    loop.call_soon_threadsafe(lasting.set)
    thread.join(60)
    loop.close()


@pytest.fixture(params=["open", "all scopes", "one scope", "no token"])
def asking(request: pytest.FixtureRequest) -> Asking:
    served: Served = request.getfixturevalue("shop" if request.param == "open" else "closed")
    everything = served.token("call:*,read:*,cancel:*,submit", seconds=3600)
    headers = {"all scopes": everything, "one scope": served.token("read:shop/total", seconds=3600)}.get(
        request.param, {}
    )
    refused = {"one scope": 403, "no token": 401}.get(request.param)
    return Asking(headers, document(served, everything), 4 if request.param == "open" else 1, refused)


def document(served: Served, headers: Mapping[str, str]) -> BaseSchema:
    """The document, with names of what is there for half of what could be any text."""
    called = served.ask("POST", f"{CALLS}?wait=60", {"item": "tea"}, {**JSON, **headers})
    there = {"program": "shop", "unit": "total", "sink": "kept", "panel": "kept", "id": called.json["id"]}
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json", headers=dict(headers))

    @schema.hook
    def map_path_parameters(_context: object, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
        named = parameters or {}
        known = sum(map(len, map(str, named.values()))) % 4
        return {name: there.get(name, text) if known else text for name, text in named.items()}

    return schema


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_documented(asking: Asking, mode: GenerationMode) -> None:
    asked, seen = 0, set[int]()
    for found in asking.document.exclude(path=ELSEWHERE).get_all_operations():

        @settings(max_examples=times(asking.times), deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=cast("Any", found).ok().as_strategy(generation_mode=mode))
        def answers(case: Any) -> None:
            answer = case.call_and_validate(checks=CHECKS, headers=dict(asking.headers))
            seen.add(answer.status_code)

        with suppress(Unsatisfiable):  # where there are no parameters, none can be wrong
            answers()
            asked += 1
    assert asked >= 15
    assert asking.refused in (None, *seen)
