"""The rows that calls answer with: beside the answer or in Redis, on disk before anybody is told, gone in the end."""

import os
from collections.abc import Iterator

import pytest

from ghcm.runtime.jobs.calls import Call, CallStore
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Feedback, now_us
from ghcm.runtime.sinks.reply import load_reply
from tests.unit.supervisor.serving import CALLS, Served, serving

TEA = {"item": "tea"}
ROWS = [{"key": "tea", "value": 8}]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


def called(shop: Served) -> Call:
    """A call that is done."""
    answer = shop.post(f"{CALLS}?wait=30", TEA)
    assert answer.json["data"] == ROWS, answer.body
    call = shop.store.calls.get(answer.json["id"])
    assert call is not None and call.final
    return call


def redis_of(shop: Served) -> Connections:
    return shop.supervisor._connections("shop")


def test_few_rows_rest_beside_the_answer(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connections, "sync", lambda _: pytest.fail("Redis is synced for rows that it does not have"))
    call = called(shop)
    assert shop.store.replies.find(call.id, call.ended) == '[{"key":"tea","value":8}]'
    assert load_reply(redis_of(shop), call.id) is None
    assert shop.get(f"{CALLS}/{call.id}/data").json["rows"] == ROWS


def test_many_rows_are_brought_to_disk_in_redis_before_the_answer_is_stored(
    shop: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, steps = CallStore.finish, list[str]()

    def finished(self: CallStore, id: str, feedback: Feedback, reply: str | None = None) -> Feedback:
        steps.append("stored" if reply is None else "stored with rows")
        return finish(self, id, feedback, reply)

    monkeypatch.setattr("ghcm.runtime.calls.responder.LARGEST", 1)
    monkeypatch.setattr(Connections, "sync", lambda _: steps.append("synced"))
    monkeypatch.setattr(CallStore, "finish", finished)
    call = called(shop)
    assert steps == ["synced", "stored"]
    assert load_reply(redis_of(shop), call.id) == '[{"key":"tea","value":8}]'
    assert shop.get(f"{CALLS}/{call.id}/data").json["rows"] == ROWS


def test_rows_go_before_their_call(shop: Served) -> None:
    first, second = called(shop), called(shop)
    shop.store.replies.forget(second.ended or 0)
    gone = shop.get(f"{CALLS}/{first.id}/data")
    assert (gone.status, gone.json["code"]) == (404, "GHCM-329")
    assert shop.get(f"{CALLS}/{second.id}/data").status == 200
    shop.store.replies.forget(now_us() + 1)
    assert shop.get(f"{CALLS}/{second.id}/data").status == 404
    assert shop.get(f"{CALLS}/{second.id}").json["state"] == "done"


def test_whatever_is_said_of_calls_is_on_disk(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    call, fdatasync, synced = called(shop), os.fdatasync, list[int]()

    def sync(file: int) -> None:
        synced.append(file)
        fdatasync(file)

    monkeypatch.setattr("ghcm.runtime.jobs.database.os.fdatasync", sync)
    for path in (CALLS, f"{CALLS}/{call.id}", f"{CALLS}/{call.id}/data"):
        synced.clear()
        assert shop.get(path).status == 200
        assert len(synced) == 1, path
    for query in ("", "?wait=30"):
        synced.clear()
        assert shop.post(f"{CALLS}{query}", TEA).status in (200, 202)
        assert len(synced) == 1, query
