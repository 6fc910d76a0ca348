"""The ids of calls: what callers name is theirs, and cannot be a call that the program makes."""

from collections.abc import Iterator

import pytest

from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.supervisor.access.callers import call_id
from tests.unit.supervisor.serving import CALLS, JOB, Served, serving


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


def test_nobody_outside_takes_the_id_of_a_policys_call(shop: Served) -> None:
    policys = f"{JOB}.watch.totals.0"
    taken = shop.post(f"{CALLS}?wait=60", {"item": "tea"}, Idempotency_Key=policys).json
    assert taken["state"] == "done"
    own = Instruction(policys, "shop", "total", {"item": "tea", "least": 0}, publisher="shop.watch")
    assert shop.store.calls.accept_own(own)
    call = shop.store.calls.get(policys)
    assert call is not None and call.instruction == own


@pytest.mark.parametrize("key", [".", "..", "once-1", f"{JOB}.watch.totals.1", "a:b", "-" * 64])
def test_a_key_is_the_same_call_wherever_it_is_looked_for(shop: Served, key: str) -> None:
    path = f"{CALLS}?wait=60"
    first = shop.post(path, {"item": "tea"}, Idempotency_Key=key)
    again = shop.post(path, {"item": "tea"}, Idempotency_Key=key)
    assert (first.status, again.status) == (200, 200)
    assert first.json["id"] == again.json["id"] == shop.get(first.headers["location"]).json["id"]
    assert shop.get(first.json["links"]["data"]).json["rows"] == [{"key": "tea", "value": 8}]
    other = shop.post(path, {"item": "coffee"}, Idempotency_Key=key)
    assert (other.status, other.json["code"]) == (409, "GHCM-325")


def test_ids_are_each_callers_own_and_none_of_a_program() -> None:
    pairs = [("", "a"), ("a", ""), ("ann", "1"), ("bob", "1"), ("an", "n1"), ("", "job.unit.policy.1")]
    ids = {call_id(caller, key) for caller, key in pairs}
    assert len(ids) == len(pairs)
    assert not any("." in id or "~" in id for id in ids)
