"""The loop takes care of calls before data."""

from __future__ import annotations

import math
import time

import pytest

from ghcm.runtime.engine.scheduler import Pace, Progress, Scheduler


class Steps:
    """Notes its steps; the last one stops the loop."""

    def __init__(self, name: str, told: list[str], scheduler: Scheduler, *, urgent: bool = False) -> None:
        self.name, self.urgent = name, urgent
        self._told, self._scheduler = told, scheduler

    def step(self) -> Progress:
        self._told.append(self.name)
        if not self.urgent:
            self._scheduler.stop()
        return Progress.DONE

    def fail(self, error: Exception) -> None:
        raise error

    def stepped(self, seconds: float) -> None: ...


def test_sources_rest_a_few_times_as_long_as_the_loop_has_worked_where_somebody_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduler = Scheduler()
    pace = Pace(scheduler)
    scheduler.held.note(0.01)
    assert pace.rest() == 0.0
    monkeypatch.setattr("ghcm.runtime.engine.scheduler._CALM_S", math.inf)
    scheduler.wake(Steps("call", [], scheduler, urgent=True))
    scheduler.held.note(0.01)
    assert pace.rest() == pytest.approx(0.03)
    scheduler.held.note(10.0)
    assert pace.rest() == 0.1


def test_data_waits_until_the_call_at_hand_has_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.engine.scheduler._WAY_S", 60.0)
    scheduler, told = Scheduler(), list[str]()

    def answer() -> None:
        told.append("answer")
        scheduler.end_call("id")

    scheduler.begin_call("id", lambda: None)
    scheduler.wake(Steps("data", told, scheduler))
    scheduler.at(time.monotonic() + 0.01, answer)
    scheduler.run()
    assert told == ["answer", "data"]


def test_data_has_its_turn_where_a_call_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghcm.runtime.engine.scheduler._WAY_S", 0.001)
    scheduler, told = Scheduler(), list[str]()
    scheduler.begin_call("id", lambda: None)
    scheduler.wake(Steps("data", told, scheduler))
    scheduler.run()
    assert told == ["data"]
