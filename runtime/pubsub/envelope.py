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
from typing import TypeVar, assert_never, cast

from ghcm.errors import GhcmError
from ghcm.source import SourceLine

FORMAT = 1
"""The version of the encoding; a reader refuses others and ignores fields it does not know."""

LIMIT = 64 * 1024
"""Bytes of an encoded envelope."""

_LONGEST_LINE = 1000

_EMPTY: Mapping[str, object] = MappingProxyType({})

T = TypeVar("T")


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
    """Why a call failed, as in `GhcmError`: a stable code (`GHCM-7xx`), what, why, what to do, and where in the
    program.
    """

    code: str
    message: str
    detail: str = ""
    hint: str = ""
    place: SourceLine | None = None

    @classmethod
    def of(cls, error: GhcmError) -> Failed:
        """What a caller is told of an error, no longer than an envelope can hold."""
        place = error.place and SourceLine(error.place.origin, error.place.text[:_LONGEST_LINE])
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
        case _:
            assert_never(envelope)
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
    fields = _decoded(data, "instruction")
    parameters = fields.mapping("parameters")
    _refuse_rows(parameters)
    versions = fields.mapping("versions")
    return Instruction(
        id=fields.text("id"),
        program=fields.text("program"),
        unit=fields.text("unit"),
        parameters=parameters,
        reply=fields.optional("reply", str),
        deadline=fields.optional("deadline", int),
        trace=fields.optional("trace", str) or "",
        publisher=fields.optional("publisher", str) or "",
        versions={name: fields.expect(version, str, f"versions.{name}") for name, version in versions.items()},
    )


def decode_feedback(data: bytes | str) -> Feedback:
    """The feedback in an encoded envelope; GhcmError says what is wrong with it."""
    return feedback_from_json(_decoded(data, "feedback").values)


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
    fields = _Fields(document, "feedback")
    error = fields.mapping("error") or None
    progress = document.get("progress", 0.0)
    if isinstance(progress, bool) or not isinstance(progress, int | float) or not 0 <= progress <= 1:
        raise fields.invalid('"progress" is no number from 0 to 1', f"found {progress!r}")
    sinks = fields.mapping("sinks")
    timings = fields.mapping("timings")
    return Feedback(
        id=fields.text("id"),
        state=_state(fields),
        progress=float(progress),
        detail=fields.optional("detail", str) or "",
        sinks={name: _sink_version(name, _Fields(sinks, "feedback")) for name in sinks},
        rows=fields.optional("rows", int),
        error=None if error is None else _failed(_Fields(error, "error")),
        timings={name: fields.number(value, f"timings.{name}") for name, value in timings.items()},
        as_of=fields.optional("as_of", int),
    )


def _failed(fields: _Fields) -> Failed:
    fields.text("code")
    fields.text("message")
    place = _Fields(fields.mapping("place"), "place")
    for name, type_ in (("file", str), ("line", int), ("column", int)) if place.values else ():
        place.expect(place.values.get(name), type_, name)
    return Failed.of(GhcmError.of(fields.values))


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


def _state(fields: _Fields) -> State:
    text = fields.text("state")
    try:
        return State(text)
    except ValueError:
        known = ", ".join(state.value for state in State)
        raise fields.invalid(f'unknown state "{text}"', f"Known states: {known}.") from None


def _sink_version(name: str, sinks: _Fields) -> SinkVersion:
    entry = _Fields(sinks.mapping(name), f"sinks.{name}")
    return SinkVersion(entry.text("version"), sinks.expect(entry.values.get("rows", 0), int, f"sinks.{name}.rows"))


def _decoded(data: bytes | str, kind: str) -> _Fields:
    """The fields of an encoded envelope."""
    empty = _Fields({}, kind)
    if len(data) > LIMIT:
        raise empty.invalid("too large", f"{len(data):,} bytes, the limit is {LIMIT:,}")
    try:
        document: object = json.loads(data)
    except ValueError as error:
        raise empty.invalid("no JSON", str(error)) from error
    if not isinstance(document, dict):
        raise empty.invalid("no JSON object", f"found {type(document).__name__}")
    found = _Fields(cast("dict[str, object]", document), kind)
    written = found.values.get("v")
    if written != FORMAT:
        raise found.invalid(f"format {written!r} is not known", f"This GHCM reads format {FORMAT}.")
    return found


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a JSON object, read with care: what comes over a wire is refused with a reason, never believed.
    `kind` is what it should be ("instruction"), for the message.
    """

    values: Mapping[str, object]
    kind: str

    def text(self, name: str) -> str:
        """A text that must be there and not be empty."""
        value = self.values.get(name)
        if value is None:
            found = ", ".join(self.values) or "none"
            raise self.invalid(f'the field "{name}" is missing', f"Found the fields {found}.")
        text = self.expect(value, str, name)
        if not text:
            raise self.invalid(f'the field "{name}" is empty', "")
        return text

    def mapping(self, name: str) -> Mapping[str, object]:
        """An object; an empty one where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.invalid(f'the field "{name}" is no object', f"found {value!r}")
        return cast("dict[str, object]", value)

    def optional(self, name: str, expected: type[T]) -> T | None:
        """A value of that type, or None where it is missing or null."""
        value = self.values.get(name)
        return None if value is None else self.expect(value, expected, name)

    def number(self, value: object, name: str) -> float:
        """A number, whole or not."""
        return float(self.expect(value, int, name)) if isinstance(value, int) else self.expect(value, float, name)

    def expect(self, value: object, expected: type[T], name: str) -> T:
        """The value, if it is of that type; true and false are no numbers."""
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise self.invalid(f'the field "{name}" is no {expected.__name__}', f"found {value!r}"[:200])
        return value

    def invalid(self, what: str, detail: str) -> GhcmError:
        """The refusal, to be raised."""
        return GhcmError(f"not a valid {self.kind}: {what}", code="GHCM-710", detail=detail)
