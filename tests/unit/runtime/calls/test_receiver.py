"""Calls whose process has ended before they had an answer."""

from contextlib import closing
from pathlib import Path

from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.envelope import Instruction, State
from tests.unit.runtime.calls.test_calls import ask, serving, started


def test_a_call_whose_process_has_ended_waits_and_is_answered(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "jobs.sqlite")) as store:
        store.calls.started(Instruction("again", "small", "ask", reply="reply-again"), "engine-before")
        with started(serving(), tmp_path) as (_, connections):
            answer = ask(connections, "ask", id="again")
            assert (answer.state, answer.rows) == (State.DONE, 5)
        found = store.calls.get("again")
        assert found is not None and (found.deaths, found.attempts, found.max_attempts) == (1, 2, 3)
