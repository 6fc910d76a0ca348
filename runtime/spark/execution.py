"""One call on Spark: from the instruction to its one final answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from ghcm.errors import GhcmError
from ghcm.fence import hold
from ghcm.runtime.calls.input_size import refuse_other_engine
from ghcm.runtime.jobs.calls import CallStore, Start
from ghcm.runtime.logs import log_end
from ghcm.runtime.pubsub.cache import Delivery, MessageCache
from ghcm.runtime.pubsub.connections import Connections, topic_of
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, SinkVersion, State, failure, now_us, said_of
from ghcm.runtime.retry import MENDED_US, waits_for
from ghcm.runtime.spark.failure import spark_failure
from ghcm.runtime.spark.programs import Job
from ghcm.runtime.spark.progress import Progress
from ghcm.runtime.spark.session import Session
from ghcm.spg.graph import Unit
from ghcm.spg.ops import To

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


log = logging.getLogger("ghcm.spark")


@dataclass(frozen=True, slots=True)
class Services:
    """What all executions share. `executor` names this process in the call store; `dead` is the folder of dead
    letters; `stopping` is set when the process ends: what does not get done before is left to the next. Calls that
    find no room, or a Redis that refuses, wait if `waits`, else they fail.
    """

    session: Session
    calls: CallStore
    connections: Connections
    executor: str
    dead: Path
    stopping: Event
    waits: bool = True


@dataclass
class Execution:
    """A delivered instruction on its way. Made by the thread that received it, `run` by a slot, watched by the
    driver.
    """

    services: Services
    job: Job
    unit: Unit
    delivery: Delivery
    cache: MessageCache
    progress: Progress | None = None
    abandoned: Event = field(default_factory=Event)
    """Set when its job is over: it is broken off, and the call is left to whoever decides what becomes of it."""
    finished: Event = field(default_factory=Event)
    later: bool = False
    """Whether it ended without an answer because its next attempt is yet to come."""

    @property
    def instruction(self) -> Instruction:
        """What was asked for."""
        return self.delivery.instruction

    @property
    def group(self) -> str:
        """The name of the run's Spark jobs."""
        return f"ghcm:{self.instruction.id}"

    def broken_off(self) -> bool:
        """Whether only what is done is to be answered here: somebody else runs it, or decides what becomes of it."""
        return self.abandoned.is_set() or self.services.stopping.is_set()

    def run(self, slot: int) -> None:
        """Answer the call. Raises only where Spark itself is gone: then the call is delivered again."""
        if self.broken_off():
            return
        asked = time.monotonic()
        spark = self._spark()
        if spark is None or self.broken_off():  # while Spark was starting
            return
        start, call = self.services.calls.started(self.instruction, self.services.executor)
        match start:
            case Start.ANSWERED:
                self.delivery.acknowledge(call.feedback)
            case Start.LATER:
                self.later = True
            case Start.RUN | Start.BUSY:  # the driver has each call once: an attempt before this could not be stored
                self.tell(Feedback(self.instruction.id, State.ACCEPTED))
                outcome = self._outcome(spark, slot, time.monotonic() - asked)
                if outcome.state is not State.DONE and self.broken_off():
                    log.info('call "%s" was broken off', self.instruction.id)
                    return
                if self._put_off(outcome):
                    return
                self.services.connections.sync()
                hold(self.services.connections.fence)
                feedback = self.services.calls.finish(self.instruction.id, replace(outcome, engine="spark"))
                self.delivery.acknowledge(feedback)
                log_end(log, self.instruction, feedback.state)

    def _put_off(self, outcome: Feedback) -> bool:
        """Whether it waits for room, a Redis that refuses, or its lease, which is no attempt that has failed."""
        error = outcome.error
        reason = "" if error is None else waits_for(error.code, error.message, patient=self.services.waits)
        if not reason:
            return False
        log.warning('call "%s" waits: %s', self.instruction.id, reason)
        self.later = self.services.calls.keep(self.instruction.id, reason, now_us() + MENDED_US)
        return self.later

    def waits(self) -> bool:
        """Whether its next attempt is yet to come: then it needs no slot."""
        calls = self.services.calls
        self.later = not self.broken_off() and calls.waits(self.instruction.id, self.services.executor)
        return self.later

    def look(self) -> None:
        """Tell how far the run is, or stop it where its answer is there already. Called by the driver now and then."""
        deadline = self.instruction.deadline
        if deadline is not None and deadline <= now_us():
            self.services.calls.expire_overdue()
        call = self.services.calls.get(self.instruction.id)
        if self.abandoned.is_set() or (call is not None and call.final):
            spark = self.services.session.started
            if spark is not None:
                spark.sparkContext.cancelJobGroup(self.group)
        elif self.progress is not None:
            share, doing = self.progress.look()
            feedback = Feedback(self.instruction.id, State.PROGRESS, progress=share, detail=doing)
            if self.services.calls.progress(self.instruction.id, feedback):
                self.tell(feedback)

    def tell(self, feedback: Feedback) -> None:
        """Send feedback to whoever waits."""
        if self.instruction.reply is not None:
            self.cache.send_feedback(self.instruction.reply, feedback)

    def _spark(self) -> SparkSession | GhcmError | None:
        """The session, which may have to be started, or why there is none; None where the call is broken off meanwhile.
        No call has begun before it is there.
        """
        try:
            return self.services.session.get_unless(self.broken_off)
        except GhcmError as error:
            return error

    def _outcome(self, spark: SparkSession | GhcmError, slot: int, waited: float) -> Feedback:
        """Run the job; what came of it as final feedback. `waited`: seconds for Spark."""
        id, began = self.instruction.id, time.monotonic()
        if isinstance(spark, GhcmError):
            return failure(id, spark)
        try:
            refuse_other_engine(self.unit.name, self.unit.engines, self.instruction.engine)
            result = self._run_job(spark, slot)
        except GhcmError as error:
            return failure(id, error)
        except Exception as error:  # whatever generated code and a user's edits raise belongs to this call only
            if self.services.session.gone:
                raise
            log.exception('call "%s" of "%s.%s" failed', id, self.job.program.name, self.unit.name)
            return failure(id, spark_failure(self.unit, error, self.job.bundle.line))
        timings = {"spark": round(time.monotonic() - began, 6), "start": round(waited, 6)}
        sinks = cast("Mapping[str, Mapping[str, Any]]", result["sinks"])
        versions = {name: SinkVersion(str(each["version"]), int(each["rows"])) for name, each in sinks.items()}
        self._publish(cast("Sequence[Mapping[str, Any]]", result.get("calls", ())), versions)
        dead = int(result["dead"])
        detail = said_of(dead, cast("Mapping[str, int]", result.get("rounds", {})))
        rows = int(result["rows"])
        return Feedback(id, State.DONE, 1.0, detail, sinks=versions, rows=rows, timings=timings, dead=dead)

    def _run_job(self, spark: SparkSession, slot: int) -> Mapping[str, Any]:
        instruction, context = self.instruction, spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", f"slot-{slot}")
        context.setJobGroup(self.group, f"{instruction.program}.{instruction.unit} {instruction.id}", True)
        self.progress = Progress(spark, self.group)
        try:
            return self.job.run_of(self.unit)(
                spark,
                dict(instruction.parameters),
                {
                    "call": instruction.id,
                    "base": str(self.job.base),
                    "redis": self.services.connections.url,
                    "sql": dict(self.services.connections.sql),
                    "kafka": self.services.connections.kafka.said(),
                    "patience": self.services.connections.patience,
                    "kept": self.services.connections.kept_s,
                    "dead": str(self.services.dead / self.job.program.name / self.unit.name),
                    "versions": dict(instruction.versions),
                    "progress": self.progress.say,
                    "fence": self.services.connections.fence,
                },
            )
        finally:
            self.progress = None
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]

    def _publish(self, calls: Sequence[Mapping[str, Any]], versions: Mapping[str, SinkVersion]) -> None:
        """Send the instructions of the unit's policies, each after it is in the store, as every call."""
        sequences: dict[str, int] = {}
        program = self.job.program
        for each in calls:
            task, unit = str(each["task"]), program.unit(str(each["unit"]))
            sequence = sequences[task] = sequences.get(task, -1) + 1
            id = f"{self.instruction.id}.{self.unit.name}.{task}.{sequence}"
            instruction = Instruction(
                id=id,
                program=program.name,
                unit=unit.name,
                parameters=cast("Mapping[str, object]", each["parameters"]),
                trace=self.instruction.trace or self.instruction.id,
                publisher=f"{program.name}.{self.unit.name}",
                versions=self._seen_after(each["after"], versions),
            )
            if not self.services.calls.accept_own(instruction):
                continue
            consumer = f"{self.job.id}.{self.unit.name}.publisher"
            cache = self.services.connections.cache(topic_of(program, unit), program.name, consumer)
            try:
                cache.send(instruction)
            finally:
                cache.close()

    def _seen_after(self, after: str | None, versions: Mapping[str, SinkVersion]) -> dict[str, str]:
        """The versions that the called unit has to read: of the sink that was written before."""
        for task in self.unit.tasks:
            if task.id == after and isinstance(task.op, To) and task.op.sink in versions:
                return {task.op.sink: versions[task.op.sink].version}
        return {}
