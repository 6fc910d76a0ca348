"""The JSON documents of programs, units and calls, as OpenAPI describes them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from ghcm.runtime.jobs.calls import Call
from ghcm.runtime.pubsub.envelope import to_json
from ghcm.supervisor.catalogue import KnownProgram
from ghcm.supervisor.models import json_schema
from ghcm.values.timestamps import timestamp_text


class CallPlace(BaseModel):
    """A source position, and the text of its line."""

    file: str
    line: int
    column: int
    text: str


class CallError(BaseModel):
    """Why a call failed, what to do, and where in the program."""

    code: str
    message: str
    detail: str = ""
    hint: str = ""
    place: CallPlace | None = None


class SinkDocument(BaseModel):
    """The version of a sink that a call wrote."""

    version: str
    rows: int


class RetryDocument(BaseModel):
    """That a call is tried again: at which attempt it is, of how many, and when that begins if it has not yet."""

    attempt: int
    max_attempts: int | None
    next: str | None


class CallDocument(BaseModel):
    """A call. `state` is accepted, running, done, failed, expired or cancelled; the last four never change."""

    id: str
    program: str
    unit: str
    state: str
    progress: float
    detail: str
    parameters: dict[str, Any]
    publisher: str
    accepted: str
    started: str | None
    ended: str | None
    deadline: str | None
    attempts: int
    retry: RetryDocument | None
    """Where a process has ended that ran it, or where it waits for room."""
    rows: int | None
    dead: int
    """How many records have failed; they are dead letters."""
    sinks: dict[str, SinkDocument]
    error: CallError | None
    timings: dict[str, float]
    engine: str
    """Who ran it, native or spark; empty before its answer."""
    as_of: str | None
    links: dict[str, str]
    data: list[Any] | None = None
    """The rows, where the request waited for them and they are few; all of them are at `links.data`."""


class UnitDocument(BaseModel):
    """A unit. `parameters` are JSON schemas by name; `calls` is where a responsive unit is called."""

    name: str
    kind: str
    responsive: bool
    parameters: dict[str, Any]
    required: list[str]
    calls: str | None


class ProgramDocument(BaseModel):
    """A program, as its latest job has it. `version` is 1, and one more for each time that the job grew."""

    name: str
    job: str
    version: int
    state: str
    units: list[UnitDocument]


class JobDocument(BaseModel):
    """A job. `state` is submitted, starting, running, stopping, done, failed or stopped."""

    id: str
    program: str
    version: int
    state: str
    reason: str
    error: CallError | None
    restarts: int
    submitted: str
    started: str | None
    ended: str | None


class ChangeDocument(BaseModel):
    """What became of a part of a program that ran already: kept, added, swapped or dropped."""

    change: str
    part: str
    unit: str
    name: str
    note: str


class SubmittedDocument(JobDocument):
    """A job that was submitted, and what has changed of it where it was there."""

    changes: list[ChangeDocument] | None


class BrokenOff(BaseModel):
    """Calls that had not ended: the program's own, which run when it is resumed, and those of others, which failed."""

    kept: int
    answered: int


class StoppedDocument(JobDocument):
    """A job that was stopped, and what became of its calls."""

    calls: BrokenOff


def job(told: Mapping[str, Any]) -> JobDocument:
    """A job, as the daemon tells of it."""
    times = {name: _moment(told[name]) for name in ("submitted", "started", "ended")}
    return JobDocument.model_validate({**told, **times})


def submitted(answer: Mapping[str, Any]) -> SubmittedDocument:
    """What the daemon answers to a program."""
    growth = answer.get("growth")
    changes = None if growth is None else growth["changes"]
    return SubmittedDocument.model_validate({**job(answer["job"]).model_dump(), "changes": changes})


def stopped(answer: Mapping[str, Any]) -> StoppedDocument:
    """What the daemon answers to a stop."""
    return StoppedDocument.model_validate({**job(answer["job"]).model_dump(), "calls": answer["calls"]})


def call(found: Call, data: list[Any] | None = None) -> dict[str, Any]:
    """The document of a call, as `CallDocument` says."""
    feedback = found.feedback
    told = to_json(feedback)
    here = f"/programs/{found.program}/units/{found.unit}/calls/{found.id}"
    return {
        "id": found.id,
        "program": found.program,
        "unit": found.unit,
        "state": found.state.value,
        "progress": 1.0 if found.state.value == "done" else feedback.progress,
        "detail": feedback.detail,
        "parameters": dict(found.instruction.parameters),
        "publisher": found.instruction.publisher,
        "accepted": timestamp_text(found.accepted),
        "started": _moment(found.started),
        "ended": _moment(found.ended),
        "deadline": _moment(found.instruction.deadline),
        "attempts": found.attempts,
        "retry": _retry(found),
        **{part: told[part] for part in ("rows", "dead", "sinks", "error", "timings", "engine")},
        "as_of": _moment(feedback.as_of),
        "links": {"self": here, "data": f"{here}/data"},
        "data": data,
    }


def _retry(found: Call) -> dict[str, Any] | None:
    if not found.deaths and found.next_attempt is None:
        return None
    following = None if found.final else _moment(found.next_attempt)
    return {"attempt": found.deaths + (not found.final), "max_attempts": found.max_attempts, "next": following}


def program(known: KnownProgram) -> ProgramDocument:
    """One program."""
    units = [
        UnitDocument(
            name=unit.name,
            kind=unit.kind,
            responsive=unit.responsive,
            parameters={parameter.name: json_schema(parameter.type) for parameter in unit.parameters},
            required=[parameter.name for parameter in unit.parameters if parameter.required],
            calls=f"/programs/{known.program.name}/units/{unit.name}/calls" if unit.responsive else None,
        )
        for unit in known.program.units
    ]
    return ProgramDocument(
        name=known.program.name, job=known.job.id, version=known.job.version, state=known.job.state.value, units=units
    )


def _moment(micros: int | None) -> str | None:
    return None if micros is None or abs(micros) >= 2**62 else timestamp_text(micros)
