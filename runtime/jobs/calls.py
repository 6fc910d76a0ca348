"""The calls: what was accepted, who runs it, and its one final answer."""

import json
import logging
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from ghcm.errors import GhcmError
from ghcm.runtime.jobs.database import Database
from ghcm.runtime.jobs.replies import keep_reply
from ghcm.runtime.pubsub import envelope
from ghcm.runtime.pubsub.envelope import Failed, Feedback, Instruction, State, decode_instruction, encode, now_us
from ghcm.runtime.retry import Retry
from ghcm.values.timestamps import timestamp_text

_log = logging.getLogger(__name__)

RetryOf: TypeAlias = Callable[[str, str], Retry]
"""The retry policy of calls, by program and unit."""

FORGOTTEN_AT_ONCE = 1000
_OPEN = "SELECT count(*) FROM calls INDEXED BY calls_open WHERE final = 0 AND program = ?1"
"""By itself SQLite goes through all calls of the program, most of which have their answer."""

DAEMON = "daemon"
"""The publisher of the calls by which batch units start that are not responsive."""

_KEPT = "its program was stopped; it is run when that is resumed"
_CUT_OFF = "the daemon ended while it ran; it is run again"


class CallState(Enum):
    """Where a call stands. The last four are final: they never change."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Start(Enum):
    """What an executor has to do with an instruction that it received."""

    RUN = "run"
    """Execute it, then `finish`. Also when another executor had begun and is gone."""
    BUSY = "busy"
    """This executor is at it already: leave it unacknowledged."""
    LATER = "later"
    """Its next attempt is yet to come: ask again."""
    ANSWERED = "answered"
    """It has its final answer: send that answer as feedback and acknowledge."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as stored. `feedback` is the latest; times in microseconds since 1970 UTC; `attempts` counts starts,
    `deaths` those of processes that ran it; `executor` who runs or ran it. `next_attempt`: when it may be begun, where
    it waits for that; `max_attempts`: the number of deaths that ends it, known from the first death on.
    """

    id: str
    program: str
    unit: str
    state: CallState
    instruction: Instruction
    feedback: Feedback
    executor: str | None
    attempts: int
    deaths: int
    max_attempts: int | None
    next_attempt: int | None
    accepted: int
    started: int | None
    ended: int | None

    @property
    def final(self) -> bool:
        """Whether the call has its answer."""
        return self.feedback.final

    @property
    def waits_for(self) -> str:
        """Why it is begun again, and not yet; empty where it does not wait for that."""
        return self.feedback.detail if self.state is CallState.ACCEPTED and self.next_attempt is not None else ""

    @property
    def own(self) -> bool:
        """Whether the program made it, by a policy or to start a unit: then nobody outside would make it again."""
        publisher = self.instruction.publisher
        return publisher == DAEMON or publisher.startswith(f"{self.program}.")


class Taken(envelope.Unacceptable):
    """An instruction whose id belongs to another call."""


class CallStore:
    """All calls of a Supervisor. Every method is one transaction. `retry` gives the policy for the calls of a program's
    unit whose process ends before they have an answer; None where nobody begins any.
    """

    def __init__(self, database: Database, retry: RetryOf | None) -> None:
        self._database = database
        self._retry = retry

    def accept(self, instruction: Instruction, *, wait: bool = True) -> Call:
        """Note a new call before its instruction is sent; a repeated id gives the call as it stands.

        `Taken` if that id was another call, `Unacceptable` if nothing can store what it holds; `Busy` where somebody
        else writes and this is not to `wait`.
        """
        with self._database.transaction(wait=wait) as connection, envelope.storable(instruction):
            return self._accepted(connection, instruction)

    def accept_own(self, instruction: Instruction) -> bool:
        """Accept a call that a program makes by itself; whether it is to be sent. Where its id is another call's, this
        one has failed, which stands in the store under an id that nobody can take; the program goes on.
        """
        try:
            self.accept(instruction)
        except Taken as error:
            _log.error('a call of "%s" by "%s" failed: %s', instruction.unit, instruction.publisher, error)
            failed = replace(instruction, id=f"{instruction.id}~")
            with self._database.transaction() as connection, envelope.storable(failed):
                self._accepted(connection, failed)
                _finish(connection, envelope.failure(failed.id, error))
            return False
        return True

    def get(self, id: str) -> Call | None:
        """The call of that id, or None."""
        rows = self._database.rows("SELECT * FROM calls WHERE id = ?", id)
        return _call(rows[0]) if rows else None

    def find(
        self,
        program: str | None = None,
        unit: str | None = None,
        state: CallState | None = None,
        limit: int = 100,
        before: tuple[int, str] | None = None,
    ) -> list[Call]:
        """The calls that fit, newest first; those that come behind one that was accepted then and has that id."""
        rows = self._database.rows(
            "SELECT * FROM calls WHERE (?1 IS NULL OR program = ?1) AND (?2 IS NULL OR unit = ?2)"
            " AND (?3 IS NULL OR state = ?3) AND (?5 IS NULL OR (accepted, id) < (?5, ?6))"
            " ORDER BY accepted DESC, id DESC LIMIT ?4",
            program,
            unit,
            state and state.value,
            limit,
            *(before or (None, None)),
        )
        return [_call(row) for row in rows]

    def ended_since(self, moment: int) -> list[Call]:
        """The calls that had their answer at this moment (microseconds) or later, in that order."""
        rows = self._database.rows("SELECT * FROM calls WHERE final = 1 AND ended >= ? ORDER BY ended", moment)
        return [_call(row) for row in rows]

    def open_calls(self, program: str, unit: str | None = None) -> int:
        """How many calls wait or run, for limits."""
        rows = self._database.rows(_OPEN + " AND (?2 IS NULL OR unit = ?2)", program, unit)
        return int(rows[0][0])

    def open_calls_of(self, publisher: str) -> int:
        """How many calls of this publisher wait or run, for quotas; those of before an upgrade count for nobody."""
        rows = self._database.rows("SELECT count(*) FROM calls WHERE final = 0 AND publisher = ?", publisher)
        return int(rows[0][0])

    def first_open(self, program: str, units: Collection[str]) -> str | None:
        """The id of the call without an answer that was accepted first, of these units; None if all have one."""
        rows = self._database.rows(
            "SELECT id FROM calls INDEXED BY calls_open WHERE final = 0 AND program = ?"
            " AND unit IN (SELECT value FROM json_each(?)) ORDER BY rowid LIMIT 1",
            program,
            json.dumps(sorted(units)),
        )
        return str(rows[0]["id"]) if rows else None

    def started(self, instruction: Instruction, executor: str) -> tuple[Start, Call]:
        """Note that this executor begins; what it has to do. `executor` is different after each start of its process.

        A call that was never accepted here (sent by a policy) is accepted first; one whose deadline has passed expires.
        One that an executor had begun that is gone waits as its retry policy says, or fails if it was begun too often.
        """
        now = now_us()
        with self._database.transaction() as connection, envelope.storable(instruction):
            call = self._accepted(connection, instruction)
            if instruction.deadline is not None and instruction.deadline <= now:
                _finish(connection, _expired(call))
                call = self._accepted(connection, instruction)
            if call.final:
                return Start.ANSWERED, call
            if call.state is CallState.RUNNING and call.executor == executor:
                return Start.BUSY, call
            if call.state is CallState.RUNNING:
                call = self._bereaved(connection, call, now)
            if call.final:
                return Start.ANSWERED, call
            if call.next_attempt is not None and call.next_attempt > now:
                return Start.LATER, call
            detail = _attempt(call.deaths, call.max_attempts) if call.deaths else ""
            feedback = Feedback(call.id, State.ACCEPTED, detail=detail)
            connection.execute(
                "UPDATE calls SET state = 'running', executor = ?, attempts = attempts + 1, started = ?,"
                " next_attempt = NULL, feedback = ? WHERE id = ?",
                (executor, now, _text(feedback), call.id),
            )
            begun = replace(call, state=CallState.RUNNING, executor=executor, attempts=call.attempts + 1, started=now)
            return Start.RUN, replace(begun, next_attempt=None, feedback=feedback)

    def waits(self, id: str, executor: str) -> bool:
        """Whether the next attempt of this call is yet to come. Notes that another executor is gone that had begun."""
        call, now = self.get(id), now_us()
        if call is not None and call.state is CallState.RUNNING and call.executor != executor:
            with self._database.transaction() as connection:
                call = self.get(id)
                if call is not None and call.state is CallState.RUNNING and call.executor != executor:
                    call = self._bereaved(connection, call, now)
        return call is not None and not call.final and (call.next_attempt or now) > now

    def suspected(self, id: str) -> bool:
        """Whether a process has ended while it ran this call."""
        call = self.get(id)
        return call is not None and call.deaths > 0

    def progress(self, id: str, feedback: Feedback) -> bool:
        """Keep the latest progress; False if the call is over already, so the executor may stop."""
        statement = "UPDATE calls SET feedback = ? WHERE id = ? AND final = 0"
        return self._database.change(statement, _text(feedback), id) == 1

    def finish(self, id: str, feedback: Feedback, reply: str | None = None) -> Feedback:
        """Give the call its final answer, unless it has one, with the rows of its `reply` if they are to be kept here;
        the answer that holds. GhcmError if unknown.
        """
        if not feedback.final or feedback.id != id:
            raise ValueError(f"no final feedback of call {id}: {feedback}")
        with self._database.transaction() as connection:
            _finish(connection, feedback, reply)
            row = connection.execute("SELECT feedback FROM calls WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise GhcmError(f'there is no call "{id}"', code="GHCM-323", hint="list the calls to see their ids")
        return envelope.feedback_from_json(json.loads(row["feedback"]))

    def cancel(self, id: str) -> Feedback:
        """Cancel the call if it has no answer yet; the answer that holds."""
        return self.finish(id, Feedback(id, State.CANCELLED))

    def keep(self, id: str, why: str = _KEPT, next_attempt: int | None = None) -> bool:
        """Have a call without an answer wait as if nobody had begun with it, until `next_attempt` (microseconds) at
        least; False if it has its answer.
        """
        feedback = Feedback(id, State.ACCEPTED, detail=why)
        return self._database.change(_WAIT + " AND final = 0", _text(feedback), next_attempt, id) == 1

    def cut_off(self) -> None:
        """Have all calls that ran wait, since who ran them has ended with the daemon, which is no fault of theirs; and
        count the time of all that are open from now on.
        """
        for call in self.unanswered():
            if call.state is CallState.RUNNING:
                self.keep(call.id, _CUT_OFF)
        self.renew()

    def renew(self, program: str | None = None) -> int:
        """Count the time of the open calls of a program, or of all, from now on, since nobody could have run them; how
        many.
        """
        statement = (
            "UPDATE calls INDEXED BY calls_open SET accepted = ?1 WHERE final = 0 AND (?2 IS NULL OR program = ?2)"
        )
        return self._database.change(statement, now_us(), program)

    def answered(self, id: str) -> bool:
        """Whether the work on this call can be dropped because it has its answer."""
        rows = self._database.rows("SELECT final FROM calls WHERE id = ?", id)
        return bool(rows) and bool(rows[0]["final"])

    def expire_overdue(self, now: int | None = None) -> list[Call]:
        """End all calls whose deadline has passed; the calls that were ended, so that their feedback can be sent."""
        moment = now_us() if now is None else now
        found = map(_call, self._database.rows("SELECT * FROM calls WHERE final = 0 AND deadline <= ?", moment))
        ended = [call.id for call in found if self.finish(call.id, _expired(call)).state is State.EXPIRED]
        return [call for call in map(self.get, ended) if call is not None]

    def unanswered(self, program: str | None = None) -> list[Call]:
        """Calls without an answer, oldest first, to be sent again after a crash of the cache."""
        rows = self._database.rows(
            "SELECT * FROM calls INDEXED BY calls_open WHERE final = 0 AND (?1 IS NULL OR program = ?1) ORDER BY rowid",
            program,
        )
        return [_call(row) for row in rows]

    def sync(self) -> None:
        """Bring to disk what was noted before."""
        self._database.sync()

    def forget(self, ended_before: int) -> int:
        """Remove answered calls that ended before this moment, `FORGOTTEN_AT_ONCE` at most, so that nobody waits for
        it; how many. The call by which a batch unit of a job has started stays with the job, lest it starts once more.
        """
        own = "SELECT 1 FROM jobs WHERE calls.id = jobs.id || '.' || calls.unit"
        over = f"SELECT rowid FROM calls WHERE final = 1 AND ended < ? AND NOT EXISTS ({own}) LIMIT {FORGOTTEN_AT_ONCE}"
        return self._database.change(f"DELETE FROM calls WHERE rowid IN ({over})", ended_before)

    def _accepted(self, connection: sqlite3.Connection, instruction: Instruction) -> Call:
        """The call of this instruction as it stands, noted where it is new, within a transaction."""
        id, program, unit = instruction.id, instruction.program, instruction.unit
        if (call := self.get(id)) is not None:
            if (call.program, call.unit, call.instruction.publisher) == (program, unit, instruction.publisher):
                return call
            raise Taken(
                f'the id "{id}" belongs to a call of "{call.program}.{call.unit}"',
                code="GHCM-325",
                detail=f'That was made by "{call.instruction.publisher}", and not by "{instruction.publisher}".',
                hint="give every call an id of its own; the same id means the same call",
            )
        feedback, now, text = Feedback(id, State.ACCEPTED), now_us(), encode(instruction).decode()
        connection.execute(
            "INSERT INTO calls (id, program, unit, publisher, state, final, instruction, feedback, attempts, accepted,"
            " deadline) VALUES (?, ?, ?, ?, 'accepted', 0, ?, ?, 0, ?, ?)",
            (id, program, unit, instruction.publisher, text, _text(feedback), now, instruction.deadline),
        )
        return Call(
            id, program, unit, CallState.ACCEPTED, instruction, feedback, None, 0, 0, None, None, now, None, None
        )

    def _bereaved(self, connection: sqlite3.Connection, call: Call, now: int) -> Call:
        """A call whose executor is gone, as its retry policy has it: it waits, or has failed; within a transaction."""
        deaths, retry = call.deaths + 1, self._retry and self._retry(call.program, call.unit)
        if retry is not None and deaths >= retry.attempts:
            _finish(connection, _deadly(call.instruction, deaths))
        else:
            at = now if retry is None else now + int(retry.interval(deaths) * 1e6)
            most = None if retry is None else retry.attempts
            why = f"{_attempt(deaths, most)} begins at {timestamp_text(at)}: the process that ran it has ended"
            connection.execute(_WAIT, (_text(Feedback(call.id, State.ACCEPTED, detail=why)), at, call.id))
            connection.execute("UPDATE calls SET deaths = ?, max_attempts = ? WHERE id = ?", (deaths, most, call.id))
        return _call(connection.execute("SELECT * FROM calls WHERE id = ?", (call.id,)).fetchone())


_WAIT = (
    "UPDATE calls SET state = 'accepted', executor = NULL, started = NULL, feedback = ?, next_attempt = ? WHERE id = ?"
)


def _attempt(deaths: int, most: int | None) -> str:
    return f"attempt {deaths + 1}" + (f" of {most}" if most is not None else "")


def _finish(connection: sqlite3.Connection, feedback: Feedback, reply: str | None = None) -> None:
    """The only statement that gives a call its final answer."""
    ended = now_us()
    changed = connection.execute(
        "UPDATE calls SET state = ?, final = 1, feedback = ?, ended = ? WHERE id = ? AND final = 0",
        (feedback.state.value, _text(feedback), ended, feedback.id),
    )
    if changed.rowcount and reply is not None:
        keep_reply(connection, feedback.id, ended, reply)


def _text(feedback: Feedback) -> str:
    return json.dumps(envelope.to_json(feedback))


def _call(row: sqlite3.Row) -> Call:
    return Call(
        id=row["id"],
        program=row["program"],
        unit=row["unit"],
        state=CallState(row["state"]),
        instruction=decode_instruction(row["instruction"]),
        feedback=envelope.feedback_from_json(json.loads(row["feedback"])),
        executor=row["executor"],
        attempts=row["attempts"],
        deaths=row["deaths"],
        max_attempts=row["max_attempts"],
        next_attempt=row["next_attempt"],
        accepted=row["accepted"],
        started=row["started"],
        ended=row["ended"],
    )


def _expired(call: Call) -> Feedback:
    error = Failed("GHCM-743", "the deadline has passed before the call was answered", call.waits_for)
    return Feedback(call.id, State.EXPIRED, error=error)


def _deadly(instruction: Instruction, deaths: int) -> Feedback:
    begun = "once, and the process" if deaths == 1 else f"{deaths} times, and each time the process"
    why = f'a call of unit "{instruction.unit}" was begun {begun} that ran it ended before it had an answer'
    return Feedback(instruction.id, State.FAILED, error=Failed("GHCM-759", why))
