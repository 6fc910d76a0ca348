"""The rows of small replies in the store: kept with the answer that holds, and removed in their time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ghcm.runtime.jobs import replies
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, now_us

CALL = Instruction("c1", "traffic", "total", reply="here")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "jobs.sqlite")
    yield store
    store.close()


def answer(store: Store, id: str, rows: str | None, state: State = State.DONE) -> int | None:
    store.calls.accept(replace(CALL, id=id))
    store.calls.finish(id, Feedback(id, state), rows)
    call = store.calls.get(id)
    assert call is not None
    return call.ended


def test_rows_are_kept_with_the_answer_that_holds(store: Store) -> None:
    ended = answer(store, "c1", '[{"n":1}]')
    store.calls.finish("c1", Feedback("c1", State.DONE), '[{"n":2}]')
    assert store.replies.find("c1", ended) == '[{"n":1}]'
    cancelled = answer(store, "c2", None, State.CANCELLED)
    store.calls.finish("c2", Feedback("c2", State.DONE), '[{"n":3}]')
    assert store.replies.find("c2", cancelled) is None
    assert len(store.database.rows("SELECT * FROM replies")) == 1


def test_rows_are_removed_in_steps(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "_FORGOTTEN_AT_ONCE", 2)
    ended = {id: answer(store, id, "[]") for id in ("c1", "c2", "c3", "c4")}
    last = ended["c4"]
    assert last is not None
    store.replies.forget(last)
    found = {id for id, moment in ended.items() if store.replies.find(id, moment) is not None}
    assert "c4" in found and found <= {id for id, moment in ended.items() if moment == last}
    store.replies.forget(now_us() + 1)
    assert store.replies.find("c4", last) is None


def test_a_store_that_had_no_replies_has_them_from_now_on(tmp_path: Path) -> None:
    store = open_store(tmp_path / "jobs.sqlite")
    before = answer(store, "c1", None)
    with store.database.transaction() as connection:
        connection.execute("DROP TABLE replies")
        connection.execute("PRAGMA user_version = 6")
    store.close()
    store = open_store(tmp_path / "jobs.sqlite")
    assert store.replies.find("c1", before) is None
    assert store.replies.find("c2", answer(store, "c2", "[]")) == "[]"
    store.close()
