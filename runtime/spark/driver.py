"""The driver: receives the instructions of all batch units and runs them in a few slots of one Spark session."""

import logging
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.runtime.calls.ordering import SerialQueue, serialized_with
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import Store
from ghcm.runtime.logs import about
from ghcm.runtime.pubsub.cache import Delivery, MessageCache, Topic
from ghcm.runtime.pubsub.connections import Connections, spark_topic_of
from ghcm.runtime.pubsub.envelope import Unacceptable
from ghcm.runtime.settings import Settings
from ghcm.runtime.spark.execution import Execution, Services
from ghcm.runtime.spark.programs import Job, open_jobs
from ghcm.runtime.spark.session import Session, java_process
from ghcm.spg.graph import Unit

log = logging.getLogger("ghcm.spark")

_LOOK_SECONDS = 0.25
_RECEIVE_SECONDS = 5.0
_RETRY_SECONDS = 0.5


@dataclass
class _Receiver:
    """What takes the instructions of one unit; `version` is what it runs, which changes as its program does; `open`
    the calls that it has taken and that are not over; `line` where they wait if they take turns.
    """

    version: tuple[Job, Unit]
    services: Services
    cache: MessageCache
    line: SerialQueue[Execution]
    stopped: threading.Event = field(default_factory=threading.Event)
    abandoned: threading.Event = field(default_factory=threading.Event)
    open: int = 0


class Driver:
    """`tell` reports events to the parent; `leases` is where that notes which programs it has; calls that find no room
    wait for it if `waits`. Threads: one receiver per unit, a few slots, one that watches.
    """

    def __init__(
        self,
        state: Path,
        redis: str | None,
        store: Store,
        settings: Settings,
        tell: Callable[[str, dict[str, object]], None],
        *,
        leases: Path | None = None,
        waits: bool = True,
    ) -> None:
        self._leases = leases
        self._state = StateDirectory(state)
        self._redis = redis
        self._kafka = settings.kafka
        self._store = store
        self._tell = tell
        self._sql = settings.sql
        self._patience = settings.patience
        self._kept_s = settings.keep.answers
        slots = self._slot_count = settings.limits.batches
        self.session = Session(settings.spark, slots, state / "spark")
        self._waits = waits
        self._slots = ThreadPoolExecutor(slots, "ghcm-slot")
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for slot in range(slots):
            self._free.put(slot)
        self._alone = threading.Lock()
        self._executor = f"spark-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._jobs: dict[str, Job] = {}
        self._receivers: dict[tuple[str, str, Topic], _Receiver] = {}
        self._running: dict[str, Execution] = {}
        self._later: list[tuple[_Receiver, Execution]] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="ghcm-watch", daemon=True)
        self.on_gone: Callable[[], None] = lambda: None
        """Called when Spark has ended by itself: this process can do nothing but end too."""
        self.trouble = ""
        """Why Spark cannot start."""

    def start(self) -> None:
        """Serve the jobs that are there; Spark starts beside."""
        self._watcher.start()
        self.refresh()
        threading.Thread(target=self._prewarm, name="ghcm-prewarm", daemon=True).start()

    def refresh(self) -> None:
        """Look which jobs are to be served now."""
        with self._lock:
            jobs = open_jobs(self._store, self._state, self._jobs)
            served = {
                (job.id, unit.name, spark_topic_of(job.program, unit)): (job, unit)
                for job in jobs.values()
                for unit in job.units
            }
            for name in [name for name in self._receivers if name not in served]:
                receiver = self._receivers.pop(name)
                receiver.stopped.set()
                if name[0] not in jobs:
                    receiver.abandoned.set()
                receiver.cache.wake()
                self._close_idle(receiver)
            for name, (job, unit) in served.items():
                if name in self._receivers:  # calls that are taken from now on run as this version has it
                    self._receivers[name].version = (job, unit)
                    self._receivers[name].line.units = serialized_with(job.program, unit)
                else:
                    self._receive_from(job, unit)
            self._jobs = jobs

    def release(self, job: str, patience: float) -> bool:
        """Break off the calls of a job that is over, which stay without an answer, unless they are done; whether that
        took no more than `patience` (seconds).
        """
        self.refresh()
        with self._lock:
            running = [each for each in self._running.values() if each.job.id == job]
        end = time.monotonic() + patience
        return all(each.finished.wait(max(0.0, end - time.monotonic())) for each in running)

    def status(self) -> dict[str, object]:
        """What is served and what runs, as JSON."""
        with self._lock:
            units = [f"{job.program.name}.{unit.name}" for job, unit in (e.version for e in self._receivers.values())]
            running = sorted(self._running)
        return {"units": sorted(units), "running": running, "ready": self.session.started is not None}

    def stop(self, patience: float) -> None:
        """Take no more instructions, wait for what runs as long as `patience` (seconds), then end Spark. What is not
        done by then has no answer, and is delivered again to the next driver.
        """
        self._stopping.set()
        with self._lock:
            receivers = list(self._receivers.values())
        for receiver in receivers:
            receiver.stopped.set()
            receiver.cache.wake()
        end = time.monotonic() + patience
        with self._lock:  # those that were broken off before have had their time
            waiting = [each for each in self._running.values() if not each.abandoned.is_set()]
        self._slots.shutdown(wait=False, cancel_futures=True)
        for execution in waiting:
            execution.finished.wait(max(0.0, end - time.monotonic()))
        self.session.stop()
        for receiver in receivers:
            receiver.cache.close()

    # --- receiving ---------------------------------------------------------------------------------------------------

    def _receive_from(self, job: Job, unit: Unit) -> None:
        connections = Connections(job.base, self._redis, self._kafka, self._patience, self._sql, self._kept_s)
        if self._leases is not None:
            connections.fence = Fence(job.program.name, self._leases)
        cache = connections.cache(spark_topic_of(job.program, unit), job.program.name, f"{job.id}.spark")
        dead, stopping = self._state.dead.absolute(), self._stopping
        services = Services(self.session, self._store.calls, connections, self._executor, dead, stopping, self._waits)
        line: SerialQueue[Execution] = SerialQueue(
            self._store.calls, job.program.name, serialized_with(job.program, unit)
        )
        topic = spark_topic_of(job.program, unit)
        receiver = self._receivers[job.id, unit.name, topic] = _Receiver((job, unit), services, cache, line)
        name = f"ghcm-receive {job.program.name}.{unit.name}"
        threading.Thread(target=self._receive, args=(receiver,), name=name, daemon=True).start()

    def _receive(self, receiver: _Receiver) -> None:
        program, name = receiver.version[0].program.name, receiver.version[1].name
        while not (self._stopping.is_set() or receiver.stopped.is_set()):
            try:
                delivery = receiver.cache.receive(name, _RECEIVE_SECONDS)
                if delivery is not None:
                    self._delivered(receiver, delivery)
            except Exception as error:  # the cache or the store is away: what was not acknowledged comes again
                log.warning("%s.%s cannot take instructions just now: %s", program, name, error)
                receiver.stopped.wait(_RETRY_SECONDS)

    def _delivered(self, receiver: _Receiver, delivery: Delivery) -> None:
        version, abandoned = receiver.version, receiver.abandoned
        execution = Execution(receiver.services, *version, delivery, receiver.cache, abandoned=abandoned)
        if not receiver.line.units:
            self._submit(receiver, execution)
            return
        with delivery.attempted():
            receiver.line.join(delivery.instruction, execution)
        self._advance()

    def _advance(self) -> None:
        """Begin the calls whose turn it is."""
        with self._lock:
            receivers = list(self._receivers.values())
        for receiver in receivers:
            execution = receiver.line.step()
            if execution is not None:
                self._submit(receiver, execution)

    def _submit(self, receiver: _Receiver, execution: Execution) -> None:
        with self._lock:
            receiver.open += 1
        # Where the slots are shut down the driver stops, and the call is delivered again to the next.
        with suppress(RuntimeError):
            self._slots.submit(self._take, receiver, execution)

    # --- running -----------------------------------------------------------------------------------------------------

    def _take(self, receiver: _Receiver, execution: Execution) -> None:
        try:
            self._execute(execution)
        finally:
            with self._lock:
                if execution.later:
                    self._later.append((receiver, execution))
                else:
                    receiver.open -= 1
                    self._close_idle(receiver)
            receiver.line.leave(execution.instruction.id)
        with suppress(GhcmError):  # the store is away: the watcher tries again
            self._advance()

    def _close_idle(self, receiver: _Receiver) -> None:
        """Give back the cache of a unit that is served no more, once its last answer has left."""
        if receiver.stopped.is_set() and not receiver.open and not self._stopping.is_set():
            receiver.cache.close()

    def _execute(self, execution: Execution) -> None:
        id = execution.instruction.id
        with self._lock:
            first = self._running.setdefault(id, execution)
        if first is not execution:  # sent twice: the first one answers, and both are acknowledged then
            if first.abandoned.is_set():  # but one that is broken off answers nothing
                first.finished.wait()
                execution.delivery.give_back()
            return
        held: list[int] = []
        try:
            if execution.waits():
                return
            held = self._take_slots(id)
            self._tell("call", {"id": id, "unit": execution.instruction.unit, "state": "running"})
            with about(execution.instruction):
                execution.run(held[0])
        except Unacceptable as error:
            execution.delivery.refuse(error)
        except GhcmError as error:
            log.error('call "%s" could not be answered and is tried again: %s', id, error)
            self._stopping.wait(_RETRY_SECONDS)
            execution.delivery.give_back()
        except Exception:  # Spark is gone, or the store: the call is not answered, so the next driver has it
            log.exception('call "%s" was broken off', id)
            self.on_gone()
        finally:
            for slot in held:
                self._free.put(slot)
            with self._lock:
                del self._running[id]
            execution.finished.set()
            if held:
                self._tell("call", {"id": id, "unit": execution.instruction.unit, "state": "over"})

    def _take_slots(self, call: str) -> list[int]:
        """One slot for a call; all of them for one whose process has ended before, so that none dies with it again."""
        if not self._store.calls.suspected(call):
            return [self._free.get()]
        with self._alone:  # two that take them one by one would wait for each other
            return [self._free.get() for _ in range(self._slot_count)]

    def _watch(self) -> None:
        """Tell progress, stop what is cancelled or too late. The store has no way to wake us."""
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self._advance()  # a call that ended elsewhere was another's turn, and told nobody
            except GhcmError as error:
                log.warning("cannot see whose turn it is just now: %s", error.message)
            except Exception:  # nobody else looks at cancelled and late calls
                log.exception("cannot see whose turn it is")
                self._stopping.wait(_RETRY_SECONDS)
            with self._lock:
                running = list(self._running.values())
                later, self._later = self._later, []
            for receiver, execution in later:
                self._try_again(receiver, execution)
            for execution in running:
                try:
                    execution.look()
                except Exception as error:  # what Spark's tracker raises while a job ends is no reason to stop watching
                    log.debug("cannot look at %s: %s", execution.instruction.id, error)

    def _try_again(self, receiver: _Receiver, execution: Execution) -> None:
        """Begin a call once more if its time has come, or find out in a slot what has become of it meanwhile."""
        with suppress(Exception):  # the store is away, or there is a mistake: the slot says which
            if execution.waits():
                with self._lock:
                    self._later.append((receiver, execution))
                return
        execution.finished.clear()
        with suppress(RuntimeError):  # as in `_submit`
            self._slots.submit(self._take, receiver, execution)

    def _prewarm(self) -> None:
        try:
            spark = self.session.get()
        except GhcmError as error:
            log.error("%s", error)
            self.trouble = error.message
            self._tell("trouble", {"reason": error.message, "hint": error.hint})
            return
        process = java_process(spark)
        self._tell("ready", {"pid": os.getpid(), "java": process.pid if process is not None else None})
        if process is not None:
            process.wait()
            if not self._stopping.is_set():
                log.error("Spark's Java process has ended with %s", process.returncode)
                self.on_gone()
