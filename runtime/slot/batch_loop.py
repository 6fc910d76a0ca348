"""The loop of batch calls: beside that of the streams, which none of their steps is to hold up.

Batches sort and join all of their input at once, which takes longer than a step of a stream may. What they read of the
streams' tables is copied by the streams' loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Thread

from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Services

_log = logging.getLogger(__name__)


class BatchLoop:
    """A thread that starts with the first unit. `streams` is the loop of the streams; `failed` is told what the loop
    has ended with, if it was not stopped.
    """

    def __init__(self, streams: Scheduler, failed: Callable[[BaseException], None], *, tame_collector: bool) -> None:
        self._streams = streams
        self._failed = failed
        self._scheduler = Scheduler(tame_collector=tame_collector, prompt=False)
        self._thread = Thread(target=self._run, name="ghcm-batch", daemon=True)

    def services(self, services: Services) -> Services:
        """The services of an engine for a unit that runs in this loop."""
        copy = services.copy_table
        assert copy is not None, "an engine has the tables of its streams"

        def copied(unit: str, task: str, key: object, one: bool) -> list[tuple[object, object]]:
            return self._streams.call(partial(copy, unit, task, key, one))

        if self._thread.ident is None:
            self._thread.start()
        return replace(services, scheduler=self._scheduler, copy_table=copied)

    def close(self) -> None:
        """End the loop, and wait until it has."""
        if self._thread.ident is not None:
            self._scheduler.stop()
            self._thread.join()

    def _run(self) -> None:
        try:
            self._scheduler.run()
        except BaseException as error:  # a bug of the engine
            _log.exception("the loop of batch calls has failed")
            self._failed(error)
