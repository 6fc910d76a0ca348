"""How the driver gives its slots to calls; no Spark is started."""

import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ghcm.runtime.calls.ordering import SerialQueue
from ghcm.runtime.jobs.store import open_store
from ghcm.runtime.pubsub.cache import Topic
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.runtime.retry import Retry
from ghcm.runtime.settings import Settings
from ghcm.runtime.spark.driver import Driver


def test_a_call_whose_process_has_ended_runs_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path / "jobs.sqlite", lambda _program, _unit: Retry())
    store.calls.started(Instruction("deadly", "work", "run"), "spark-before")
    assert store.calls.waits("deadly", "spark-now")
    store.calls.accept(Instruction("harmless", "work", "run"))
    driver = Driver(tmp_path, None, store, Settings(), lambda _event, _more: None)
    take_slots, free = driver._take_slots, driver._free  # pyright: ignore[reportPrivateUsage]
    assert len(take_slots("harmless")) == 1

    got = threading.Event()

    def take() -> None:
        assert sorted(take_slots("deadly")) == [0, 1]
        got.set()

    waiting = threading.Thread(target=take)
    waiting.start()
    while free.qsize():  # it takes what there is, one by one
        assert not got.is_set()
    assert not got.is_set()
    free.put(0)
    assert got.wait(60)
    waiting.join()
    store.close()


def test_a_mistake_of_ours_ends_no_watch_over_cancelled_and_late_calls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(tmp_path / "jobs.sqlite")) as store:
        driver = Driver(tmp_path, None, store, Settings(), lambda _event, _more: None)
        line = SerialQueue[Any](store.calls, "work", cast("Any", ["run", 7]))  # 7 is no name of a unit
        line.join(Instruction("stuck", "work", "run"), object())
        with pytest.raises(TypeError):
            line.step()
        receiver = cast("Any", SimpleNamespace(line=line))
        driver._receivers["work-1", "run", Topic("work")] = receiver  # pyright: ignore[reportPrivateUsage]
        watching = driver._watcher  # pyright: ignore[reportPrivateUsage]
        watching.start()
        while len([each for each in caplog.records if each.message == "cannot see whose turn it is"]) < 2:
            assert watching.is_alive()
        driver._stopping.set()  # pyright: ignore[reportPrivateUsage]
        watching.join(30)
