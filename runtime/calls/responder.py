"""The units of an engine that are called: instructions from their msg caches, answers to the store and the caller.

The receiver's thread takes instructions and hands them to the loop; another thread stores answers. The loop only runs
the calls. When units may start is the engine's matter. Exactly one final answer is the call store's doing; without a
store (unit tests) the msg cache alone decides.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from threading import Event, Thread

from ghcm.errors import GhcmError
from ghcm.fence import hold
from ghcm.runtime.calls.input_size import too_large
from ghcm.runtime.calls.ordering import SerialQueue, serialized_with
from ghcm.runtime.calls.receiver import CALLS_AT_ONCE, Receiver
from ghcm.runtime.calls.run import CallRun, Outcome
from ghcm.runtime.engine.publisher import Publisher
from ghcm.runtime.engine.scheduler import Timer
from ghcm.runtime.engine.services import Services, plain
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.jobs.replies import LARGEST
from ghcm.runtime.logs import log_end
from ghcm.runtime.pubsub.cache import Delivery, MessageCache
from ghcm.runtime.pubsub.connections import spark_topic_of, topic_of
from ghcm.runtime.pubsub.envelope import Failed, Feedback, Instruction, State, failure, now_us, said_of
from ghcm.runtime.retry import MENDED_US, waits_for
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.sinks.reply import reply_text, store_reply
from ghcm.runtime.worker import Worker
from ghcm.spg.graph import Unit

_log = logging.getLogger(__name__)

_BATCHES_AT_ONCE = 4
_LOOK_S = 0.25
"""How often to look whether a batch call that runs has been cancelled, which is noted in the store alone."""

_RETIRE_S = 3600.0
"""Calls have deadlines; one that runs longer than this is broken off with its unit."""

_CLOSING_S = 30.0
"""How long the writers of a call that has ended may take to close."""


class Responder:
    """Answers the calls of one unit. `executor` is different after each start of the process, `generation` for each of
    a unit that comes, goes and comes again. `spark_wanted` is called when a call was left to Spark.
    """

    def __init__(
        self,
        unit: Unit,
        services: Services,
        calls: CallStore | None,
        executor: str,
        watermark_of: Callable[[str, str], int],
        spark_wanted: Callable[[], None],
        generation: int = 0,
    ) -> None:
        self.unit = unit
        self.answered = 0
        self.failed = 0
        self._services = services
        self._calls = calls
        self._watermark_of = watermark_of
        self._running: dict[str, tuple[CallRun, Timer | None]] = {}
        self.closed = False
        self._last_taken = False  # nothing comes to the loop any more
        self._open, self._idle = 0, Event()
        connections, program, post = services.connections, services.program, services.scheduler.post
        # One that comes may live beside the one that went, which still answers.
        consumer = f"{services.job}.{unit.name}" + (f".{generation}" if generation else "")
        self._cache: MessageCache = connections.cache(topic_of(program, unit), program.name, consumer)
        queue: SerialQueue[Delivery] = SerialQueue(calls, program.name, serialized_with(program, unit))
        self._spark_wanted = spark_wanted
        self._spark_cache: MessageCache | None = None
        at_once = _BATCHES_AT_ONCE if unit.kind == "batch" else CALLS_AT_ONCE
        self._receiver = Receiver(
            unit.name, self._cache, calls, executor, queue, self._begin, self._left_to_spark, at_once
        )
        self._answers = Worker(f"{unit.name}-answers", post)
        self._dead_letters = DeadLetterWriter(services.open_dead_writer(unit, "dead"), self._answers, self._lost)
        self._publisher = Publisher(unit.name, services, self._lost)

    @property
    def takes(self) -> bool:
        """Whether its calls come to it, or it wants none. From any thread."""
        return self._receiver.takes

    def start(self) -> None:
        """Begin to take instructions. Generated code is loaded now, not by the first call."""
        self._services.code(self.unit)
        self._receiver.start()

    def upgrade(self, unit: Unit, services: Services) -> None:
        """Run the calls that come from now on by another version of the program; in the loop."""
        self.unit = unit
        self._services = services
        self._receiver.queue.units = serialized_with(services.program, unit)
        self._publisher.services = services

    def retire(self) -> None:
        """Take no more instructions, answer those at hand, then close; returns at once."""
        self._receiver.stop()

        def end() -> None:
            self.drain(_RETIRE_S)
            # What its last call has published is on its way before this.
            self._publisher.worker.submit(lambda: None, lambda _: self.close(), lambda _: self.close())

        Thread(target=end, name=f"ghcm-{self.unit.name}-retire", daemon=True).start()

    def drain(self, timeout: float) -> bool:
        """Take no more instructions and wait until those at hand are answered; whether they are. Not in the loop."""
        end = time.monotonic() + timeout
        self._receiver.stop()
        self._receiver.join(end)

        def taken(_: object) -> None:
            self._last_taken = True
            self._look()

        # Behind a call whose turn has come just now; what comes after it finds that it is too late.
        self._answers.submit(lambda: None, taken, taken)
        return self._idle.wait(max(0.0, end - time.monotonic()))

    def _look(self) -> None:
        if not self._open and self._last_taken:
            self._idle.set()

    def close(self) -> None:
        """Take no more instructions; calls at hand are left unacknowledged, so they are delivered again."""
        self.closed = True
        self._receiver.stop()
        self._cache.close()
        if self._spark_cache is not None:
            self._spark_cache.close()
        self._dead_letters.close()
        self._publisher.close()
        self._idle.set()  # nobody needs wait any more

    def join(self, deadline: float) -> None:
        """Wait for the threads, or for the deadline (monotonic clock); not in the loop."""
        self._receiver.join(deadline)
        self._answers.join(deadline)
        self._publisher.worker.join(deadline)

    def status(self) -> dict[str, object]:
        """How many calls were answered, as JSON."""
        return {
            "state": "stopping" if self._receiver.stopping else "running",
            "answered": self.answered,
            "failed": self.failed,
            "running": len(self._running),
            "trouble": self._answers.troubled,
            "dead": self._dead_letters.count,
        }

    def _left_to_spark(self, instruction: Instruction) -> bool:
        """Whether a call asks for Spark, or reads too much, and is sent there; in the thread that receives."""
        unit, services = self.unit, self._services
        if "spark" not in unit.engines or instruction.engine == "native":
            return False
        why = "its caller asks for it" if instruction.engine == "spark" else ""
        if not (why := why or too_large(services.program, unit, instruction, services.connections)):
            return False
        _log.info('call "%s" goes to Spark: %s', instruction.id, why)
        if self._spark_cache is None:
            consumer = f"{services.job}.{unit.name}"
            topic = spark_topic_of(services.program, unit)
            self._spark_cache = services.connections.cache(topic, services.program.name, consumer)
        self._spark_cache.send(instruction)
        self._spark_wanted()
        return True

    # --- the loop ----------------------------------------------------------------------------------------------------

    def _begin(self, delivery: Delivery) -> None:
        self._services.scheduler.begin_call(delivery.instruction.id, lambda: self._run(delivery))

    def _run(self, delivery: Delivery) -> None:
        instruction = delivery.instruction
        if self.closed or instruction.id in self._running:
            self._make_room(instruction.id)
            return
        self._open += 1
        try:
            run = CallRun(instruction, self.unit, self._services, self._watermark_of, partial(self._answer, delivery))
        except GhcmError as error:
            self._answer(delivery, Outcome(error=error))
            return
        timer: Timer | None = None
        if instruction.deadline is not None:
            left = (instruction.deadline - now_us()) / 1e6
            late = GhcmError("the deadline has passed before the call was answered", code="GHCM-743")
            timer = self._services.scheduler.at(time.monotonic() + left, lambda: run.cancel(late))
        self._running[instruction.id] = (run, timer)
        run.start()
        if self.unit.kind == "batch":
            self._watch(instruction.id, run)

    def _watch(self, id: str, run: CallRun) -> None:
        """Have a run tell how far it is, and break it off if its call has its answer: it was cancelled, or is late."""
        if id not in self._running or self._calls is None:
            return
        answered = partial(run.tell, self._calls)

        def look() -> None:
            self._answers.submit(answered, seen, self._lost)

        def seen(over: bool) -> None:
            if over:
                run.cancel(GhcmError("the call has been answered", code="GHCM-743"))
            elif id in self._running:
                self._services.scheduler.at(time.monotonic() + _LOOK_S, look)

        self._services.scheduler.at(time.monotonic() + _LOOK_S, look)

    def _answer(self, delivery: Delivery, outcome: Outcome) -> None:
        """The call has ended: dead letters, the reply's rows, the store, the feedback, the acknowledgement, in this
        order.
        """
        run, timer = self._running.pop(delivery.instruction.id, (None, None))
        if timer is not None:
            timer.cancel()
        if self.closed:
            return
        if reason := self._waits_for(outcome.error):
            self._put_off(delivery, reason, run)
            return
        id_ = delivery.instruction.id
        for letter in outcome.dead_letters:
            self._dead_letters.note(letter)

        def stored(feedback: Feedback) -> None:
            self._count(feedback, outcome, id_)

        def not_stored(error: Exception) -> None:
            failed = unit_failure(self.unit, "reply", error, self._services.compiled.line)
            if reason := self._waits_for(failed):
                self._dead_letters.take_back(outcome.dead_letters)
                self._put_off(delivery, reason, run)
                return
            job = partial(self._store, delivery, Outcome(error=failed))
            self._answers.submit(job, stored, partial(self._gone, delivery))

        def committed() -> None:
            self._answers.submit(partial(self._store, delivery, outcome), stored, not_stored)

        def prepared(version: str | None) -> None:
            self._dead_letters.commit(version, committed, not_stored)

        self._dead_letters.prepare(outcome.dead_letters, plain(f"{id_}-dead"), prepared, not_stored)

    def _count(self, feedback: Feedback, outcome: Outcome, call: str) -> None:
        self.answered += 1
        self.failed += feedback.state is not State.DONE
        versions = {name: sink.version for name, sink in (outcome.sinks or {}).items()}
        document = self._publisher.document
        instructions = (document(task, each, versions, call, outcome.program) for task, each in outcome.publications)
        self._publisher.send(tuple(instructions))
        self._close_call(call)

    def _waits_for(self, error: GhcmError | None) -> str:
        """What a call waits for that has ended with this; empty where it has failed."""
        if error is None or self._calls is None:
            return ""
        return waits_for(error.code, error.message, patient=self._services.waits)

    def _put_off(self, delivery: Delivery, reason: str, run: CallRun | None) -> None:
        """Have a call wait, which is no attempt that has failed. What it has prepared or committed is there already
        when it begins once more.
        """
        id = delivery.instruction.id

        def note() -> None:
            if run is not None:  # two writers of one version would take each other's files
                run.join(time.monotonic() + _CLOSING_S)
            if self._calls is None or not self._calls.keep(id, reason, now_us() + MENDED_US):
                delivery.give_back()  # it has its answer, which could not be told
                return
            _log.warning('call "%s" waits: %s', id, reason)
            self._receiver.later(delivery)

        self._answers.submit(note, lambda _: self._close_call(id), partial(self._gone, delivery))

    def _gone(self, delivery: Delivery, error: Exception) -> None:
        self._lost(error)
        self._receiver.repeat(delivery.instruction.id)
        delivery.give_back()
        self._close_call(delivery.instruction.id)

    def _close_call(self, id: str) -> None:
        self._open -= 1
        self._make_room(id)
        self._look()

    def _make_room(self, id: str) -> None:
        self._services.scheduler.end_call(id)
        self._receiver.make_room()
        if self._receiver.queue.in_use:
            self._answers.submit(partial(self._receiver.over, id), lambda _: None, self._lost)

    def _lost(self, error: Exception) -> None:
        _log.error('unit "%s" could not store an answer: %s', self.unit.name, error, exc_info=error)

    # --- the answering thread ----------------------------------------------------------------------------------------

    def _store(self, delivery: Delivery, outcome: Outcome) -> Feedback:
        instruction, reply = delivery.instruction, None
        if outcome.error is None and outcome.reply is not None:
            reply = reply_text(outcome.rows, outcome.reply.schema)
            if self._calls is None or len(reply) > LARGEST:
                store_reply(self._services.connections, instruction.id, reply)
                reply = None
        feedback = _feedback(instruction.id, outcome)
        hold(self._services.connections.fence)
        if self._calls is not None:
            feedback = self._calls.finish(instruction.id, replace(feedback, engine="native"), reply)
        delivery.acknowledge(feedback)
        log_end(_log, instruction, feedback.state)
        return feedback


def _feedback(id_: str, outcome: Outcome) -> Feedback:
    error = outcome.error
    if error is not None:
        if error.code == "GHCM-743":
            return Feedback(id_, State.EXPIRED, error=Failed.of(error))
        return failure(id_, error)
    sinks = outcome.sinks or {}
    rows = len(outcome.rows) if outcome.reply is not None else sum(sink.rows for sink in sinks.values())
    timings, dead, as_of = {"run": round(outcome.seconds, 6)}, len(outcome.dead_letters), outcome.as_of
    detail = said_of(dead, outcome.rounds)
    return Feedback(id_, State.DONE, 1.0, detail, sinks=sinks, rows=rows, timings=timings, as_of=as_of, dead=dead)


class Responders:
    """The responders by unit. `watermark` gives that of a table, in the loop; `spark_wanted` as in `Responder`."""

    def __init__(
        self, job: str, calls: CallStore | None, watermark: Callable[[str, str], int], spark_wanted: Callable[[], None]
    ) -> None:
        self._spark_wanted = spark_wanted
        self._calls = calls
        self._watermark = watermark
        self._executor = f"{job}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._generations: dict[str, int] = {}
        self._by_unit: dict[str, Responder] = {}
        self._retired: list[Responder] = []
        """Those of units that the program has no more: they may have calls at hand."""
        self.started = False

    def __len__(self) -> int:
        return len(self._by_unit)

    def add(self, unit: Unit, services: Services) -> None:
        """One more, which takes calls if the others do."""
        generation = self._generations[unit.name] = self._generations.get(unit.name, -1) + 1
        told = self._watermark, self._spark_wanted
        responder = Responder(unit, services, self._calls, self._executor, *told, generation)
        self._by_unit[unit.name] = responder
        if self.started:
            responder.start()

    def start(self) -> None:
        """Take calls from now on; in the loop."""
        self.started = True
        for responder in self._by_unit.values():
            responder.start()

    def upgrade(self, units: Iterable[Unit], services: Callable[[Unit], Services]) -> None:
        """Be those of another version of the program, between two steps: what is no more answers what it has taken.
        `services` are those that a unit runs with.
        """
        after = {unit.name: unit for unit in units}
        for name in [name for name in self._by_unit if name not in after]:
            responder = self._by_unit.pop(name)
            responder.retire()
            self._retired = [each for each in self._retired if not each.closed] + [responder]
        for name, unit in after.items():
            if name in self._by_unit:
                self._by_unit[name].upgrade(unit, services(unit))
            else:
                self.add(unit, services(unit))

    def all(self) -> list[Responder]:
        """Each of them, and those that only answer what they have at hand."""
        return [*self._by_unit.values(), *self._retired]

    def status(self) -> dict[str, dict[str, object]]:
        """How each stands, as JSON."""
        return {name: responder.status() for name, responder in self._by_unit.items()}
