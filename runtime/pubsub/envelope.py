"""Envelopes: the instruction that calls a unit and the feedback that says how the call went.

The only things that travel through msg caches. They hold references to data (sinks and versions), never data: an
encoded envelope is at most 64 KiB and a parameter is never a table of rows. Whether parameters fit the called unit is
checked where the unit's types are known, not here.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeVar, cast

from ghcm.errors import GhcmError
from ghcm.source import Place

FORMAT = 1
"""The version of the encoding; a reader refuses others and ignores fields it does not know."""

LIMIT = 64 * 1024
"""Bytes of an encoded envelope."""

_LONGEST_LINE = 1000

_EMPTY: Mapping[str, object] = MappingProxyType({})


class State(Enum):
    """How far a call is. `ACCEPTED` and `PROGRESS` may come several times, exactly one of the others comes last."""

    ACCEPTED = "accepted"
    PROGRESS = "progress"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


FINAL = frozenset({State.DONE, State.FAILED, State.EXPIRED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Instruction:
    """A call of a unit. `id` is unique and the idempotency key; `reply` the address that feedback goes to (None: nobody
    waits); `deadline` in microseconds since 1970 UTC; `versions` the sink versions that the called unit has to read.
    """

    id: str
    program: str
    unit: str
    parameters: Mapping[str, object] = field(default_factory=lambda: _EMPTY)
    reply: str | None = None
    deadline: int | None = None
    trace: str = ""
    publisher: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class SinkVersion:
    """Where a result rests: the committed version of a sink and how many rows it added."""

    version: str
    rows: int


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a call failed, as in `GhcmError`: a stable code (`GHCM-7xx`), what, why, what to do, and the place in the
    program.
    """

    code: str
    message: str
    detail: str = ""
    hint: str = ""
    place: Place | None = None

    @classmethod
    def of(cls, error: GhcmError) -> Failed:
        """What a caller is told of an error, no longer than an envelope can hold."""
        place = error.place and Place(error.place.origin, error.place.text[:_LONGEST_LINE])
        return cls(error.code, error.message[:4000], error.detail[:4000], error.hint[:1000], place)

    @property
    def error(self) -> GhcmError:
        """The error that was told."""
        return GhcmError(self.message, code=self.code, detail=self.detail, hint=self.hint, place=self.place)


@dataclass(frozen=True, slots=True)
class Feedback:
    """How the call `id` goes or went. `progress` from 0 to 1; `sinks` by name; `timings` in seconds; `as_of` the
    watermark of the state that was read (microseconds); `error` only with `FAILED`.
    """

    id: str
    state: State
    progress: float = 0.0
    detail: str = ""
    sinks: Mapping[str, SinkVersion] = field(default_factory=lambda: MappingProxyType({}))
    rows: int | None = None
    error: Failed | None = None
    timings: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    as_of: int | None = None

    @property
    def final(self) -> bool:
        """Whether nothing comes after it."""
        return self.state in FINAL


def new_id() -> str:
    """A new unique id for a call or a trace, sortable by time to the millisecond.

    >>> new_id() != new_id()
    True
    """
    return f"{int(time.time() * 1000):011x}{uuid.uuid4().hex[:21]}"


def now_us() -> int:
    """The wall clock in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def failure(id: str, error: GhcmError) -> Feedback:
    """The final feedback of a call that ended with this error."""
    return Feedback(id, State.FAILED, error=Failed.of(error))


def encode(envelope: Instruction | Feedback) -> bytes:
    """The envelope as compact JSON. GhcmError if it is over `LIMIT` bytes, holds rows or values that JSON has not."""
    match envelope:
        case Instruction():
            subject = f'the instruction to "{envelope.unit}"'
            document = _instruction_to_json(envelope)
        case Feedback():
            subject = f'the feedback of call "{envelope.id}"'
            document = feedback_to_json(envelope)
    try:
        text = json.dumps({"v": FORMAT, **document}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise GhcmError(f"{subject} cannot be written as JSON", code="GHCM-710", detail=str(error)) from error
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LIMIT:
        raise GhcmError(
            f"{subject} is too large: {len(data):,} bytes, the limit is {LIMIT:,}",
            code="GHCM-711",
            detail=_largest(document),
            hint="put the data in a sink and pass its version; instructions and feedback carry references only",
        )
    return data


def decode_instruction(data: bytes | str) -> Instruction:
    """The instruction in an encoded envelope; GhcmError says what is wrong with it."""
    document = document_of(data, "instruction", version=FORMAT, limit=LIMIT)
    parameters = mapping(document, "parameters", "instruction")
    _refuse_rows(parameters)
    versions = mapping(document, "versions", "instruction")
    return Instruction(
        id=text_of(document, "id", "instruction"),
        program=text_of(document, "program", "instruction"),
        unit=text_of(document, "unit", "instruction"),
        parameters=parameters,
        reply=optional(document, "reply", str, "instruction"),
        deadline=optional(document, "deadline", int, "instruction"),
        trace=optional(document, "trace", str, "instruction") or "",
        publisher=optional(document, "publisher", str, "instruction") or "",
        versions={name: expect(version, str, f"versions.{name}", "instruction") for name, version in versions.items()},
    )


def decode_feedback(data: bytes | str) -> Feedback:
    """The feedback in an encoded envelope; GhcmError says what is wrong with it."""
    return feedback_from_json(document_of(data, "feedback", version=FORMAT, limit=LIMIT))


def feedback_to_json(feedback: Feedback) -> dict[str, object]:
    """The feedback as a JSON object; also what the call store keeps and HTTP shows."""
    return {
        "id": feedback.id,
        "state": feedback.state.value,
        "progress": feedback.progress,
        "detail": feedback.detail,
        "sinks": {name: {"version": sink.version, "rows": sink.rows} for name, sink in feedback.sinks.items()},
        "rows": feedback.rows,
        "error": None if feedback.error is None else feedback.error.error.document(),
        "timings": dict(feedback.timings),
        "as_of": feedback.as_of,
    }


def feedback_from_json(document: Mapping[str, object]) -> Feedback:
    """The feedback that `feedback_to_json` wrote; GhcmError says what is wrong with it."""
    error = mapping(document, "error", "feedback") or None
    progress = document.get("progress", 0.0)
    if isinstance(progress, bool) or not isinstance(progress, int | float) or not 0 <= progress <= 1:
        raise invalid("feedback", '"progress" is no number from 0 to 1', f"found {progress!r}")
    sinks = mapping(document, "sinks", "feedback")
    timings = mapping(document, "timings", "feedback")
    return Feedback(
        id=text_of(document, "id", "feedback"),
        state=_state(document),
        progress=float(progress),
        detail=optional(document, "detail", str, "feedback") or "",
        sinks={name: _sink_version(name, sinks) for name in sinks},
        rows=optional(document, "rows", int, "feedback"),
        error=None if error is None else _failed(error),
        timings={name: number(value, f"timings.{name}", "feedback") for name, value in timings.items()},
        as_of=optional(document, "as_of", int, "feedback"),
    )


def _failed(document: Mapping[str, object]) -> Failed:
    text_of(document, "code", "error")
    text_of(document, "message", "error")
    place = mapping(document, "place", "error")
    for name, type_ in (("file", str), ("line", int), ("column", int)) if place else ():
        expect(place.get(name), type_, name, "place")
    return Failed.of(GhcmError.of(document))


def _instruction_to_json(instruction: Instruction) -> dict[str, object]:
    _refuse_rows(instruction.parameters)
    return {
        "id": instruction.id,
        "program": instruction.program,
        "unit": instruction.unit,
        "parameters": dict(instruction.parameters),
        "reply": instruction.reply,
        "deadline": instruction.deadline,
        "trace": instruction.trace,
        "publisher": instruction.publisher,
        "versions": dict(instruction.versions),
    }


def _refuse_rows(parameters: Mapping[str, object]) -> None:
    """A parameter may be a scalar, a record, a list of scalars; a list of records is a table and belongs in a sink."""
    for name, value in parameters.items():
        items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
        if any(isinstance(item, Mapping) for item in items):
            raise GhcmError(
                f'parameter "{name}" holds data: a list of {len(items)} records',
                code="GHCM-712",
                detail="An instruction carries references; instructions and data never share a road.",
                hint="put the data in a sink and pass its version",
            )


def _largest(document: Mapping[str, object]) -> str:
    parameters = document.get("parameters") or document
    named = cast("Mapping[str, object]", parameters)
    sizes = {name: len(json.dumps(value, ensure_ascii=False).encode()) for name, value in named.items()}
    name = max(sizes, key=lambda name: sizes[name])
    return f'The largest part is "{name}" with {sizes[name]:,} bytes.'


def _state(document: Mapping[str, object]) -> State:
    text = text_of(document, "state", "feedback")
    try:
        return State(text)
    except ValueError:
        known = ", ".join(state.value for state in State)
        raise invalid("feedback", f'unknown state "{text}"', f"Known states: {known}.") from None


def _sink_version(name: str, sinks: Mapping[str, object]) -> SinkVersion:
    entry = mapping(sinks, name, "feedback")
    return SinkVersion(
        text_of(entry, "version", f"sinks.{name}"), expect(entry.get("rows", 0), int, f"sinks.{name}.rows", "feedback")
    )


T = TypeVar("T")


def document_of(data: bytes | str, kind: str, *, version: int, limit: int) -> Mapping[str, object]:
    """The JSON object in an encoded envelope of at most `limit` bytes, written in format `version`."""
    if len(data) > limit:
        raise invalid(kind, "too large", f"{len(data):,} bytes, the limit is {limit:,}")
    try:
        document: object = json.loads(data)
    except ValueError as error:
        raise invalid(kind, "no JSON", str(error)) from error
    if not isinstance(document, dict):
        raise invalid(kind, "no JSON object", f"found {type(document).__name__}")
    found = cast("dict[str, object]", document)
    written = found.get("v")
    if written != version:
        raise invalid(kind, f"format {written!r} is not known", f"This GHCM reads format {version}.")
    return found


def text_of(document: Mapping[str, object], name: str, kind: str) -> str:
    """A text that must be there and not be empty."""
    value = document.get(name)
    if value is None:
        raise invalid(kind, f'the field "{name}" is missing', f"Found the fields {', '.join(document) or 'none'}.")
    text = expect(value, str, name, kind)
    if not text:
        raise invalid(kind, f'the field "{name}" is empty', "")
    return text


def mapping(document: Mapping[str, object], name: str, kind: str) -> Mapping[str, object]:
    """An object; an empty one where it is missing or null."""
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(kind, f'the field "{name}" is no object', f"found {value!r}")
    return cast("dict[str, object]", value)


def optional(document: Mapping[str, object], name: str, expected: type[T], kind: str) -> T | None:
    """A value of that type, or None where it is missing or null."""
    value = document.get(name)
    return None if value is None else expect(value, expected, name, kind)


def number(value: object, name: str, kind: str) -> float:
    """A number, whole or not."""
    return float(expect(value, int, name, kind)) if isinstance(value, int) else expect(value, float, name, kind)


def expect(value: object, expected: type[T], name: str, kind: str) -> T:
    """The value, if it is of that type; true and false are no numbers."""
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise invalid(kind, f'the field "{name}" is no {expected.__name__}', f"found {value!r}"[:200])
    return value


def invalid(kind: str, what: str, detail: str) -> GhcmError:
    """The refusal, to be raised."""
    return GhcmError(f"not a valid {kind}: {what}", code="GHCM-710", detail=detail)
