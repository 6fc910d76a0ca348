"""Envelopes: the instruction that calls a unit and the feedback that says how the call went.

The only things that travel through msg caches. They hold references to data (sinks and versions), never data: an
encoded envelope is at most 64 KiB and a parameter is never a table of rows. Whether parameters fit the called unit is
checked where the unit's types are known, not here.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from ghcm.errors import GhcmError
from ghcm.source import Origin, SourceLine

FORMAT = 1
"""The version of the encoding; a reader refuses others and ignores fields it does not know."""

LIMIT = 64 * 1024
"""Bytes of an encoded envelope."""

_LONGEST_LINE = 1000


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
    waits); `deadline` in microseconds since 1970 UTC; `versions` the sink versions that the called unit has to read;
    `engine` who is to run it, empty: whom its input suits.
    """

    id: str
    program: str
    unit: str
    parameters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    reply: str | None = None
    deadline: int | None = None
    trace: str = ""
    publisher: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    engine: str = ""


@dataclass(frozen=True, slots=True)
class SinkVersion:
    """Where a result rests: the committed version of a sink and how many rows it added."""

    version: str
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a call failed, as in `GhcmError`: code (`GHCM-7xx`), what, why, what to do, where in the program."""

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
    watermark of the state that was read (microseconds); `error` only with `FAILED`; `engine` is who ran it; `dead`
    records failed and went to the dead letters.
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
    engine: str = ""
    dead: int = 0

    @property
    def final(self) -> bool:
        """Whether nothing comes after it."""
        return self.state in FINAL


class Unacceptable(GhcmError):
    """An instruction that can never be a call, whatever is tried."""


@contextmanager
def storable(instruction: Instruction) -> Generator[None]:
    """`Unacceptable` where it holds what no store takes: half characters, huge numbers, records within records."""
    try:
        yield
    except (UnicodeError, OverflowError, RecursionError) as error:
        message = f'an instruction to "{instruction.unit}" holds what cannot be stored'
        raise Unacceptable(message, code="GHCM-710", detail=f"{error}.") from error


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


def said_of(dead: int, rounds: Mapping[str, int]) -> str:
    """What a caller should know of a batch run that is done: rounds by iteration, and records that have failed."""
    said = [f"{task}: {count} round{'s' if count != 1 else ''}" for task, count in rounds.items()]
    said += [f"{dead} record{'s' if dead != 1 else ''} failed and went to the dead letters"] if dead else []
    return "; ".join(said)


def encode(envelope: Instruction | Feedback) -> bytes:
    """The envelope as compact JSON. GhcmError if it is over `LIMIT` bytes, holds rows or values that JSON has not."""
    subject = f'the feedback of call "{envelope.id}"'
    if isinstance(envelope, Instruction):
        subject = f'the instruction to "{envelope.unit}"'
        _refuse_rows(envelope.parameters)
    document = to_json(envelope)
    try:
        text = json.dumps({"v": FORMAT, **document}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unacceptable(f"{subject} cannot be written as JSON", code="GHCM-710", detail=str(error)) from error
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > LIMIT:
        raise Unacceptable(
            f"{subject} is too large: {len(data):,} bytes, the limit is {LIMIT:,}",
            code="GHCM-711",
            detail=_largest(document),
            hint="put the data in a sink and pass its version; instructions and feedback carry references only",
        )
    return data


def decode_instruction(data: bytes | str) -> Instruction:
    """The instruction in an encoded envelope; GhcmError says what is wrong with it."""
    instruction = _read(Instruction, _opened(data, "instruction"), "instruction")
    _refuse_rows(instruction.parameters)
    return instruction


def decode_feedback(data: bytes | str) -> Feedback:
    """The feedback in an encoded envelope; GhcmError says what is wrong with it."""
    return feedback_from_json(_opened(data, "feedback"))


def to_json(envelope: Instruction | Feedback | SinkVersion) -> dict[str, object]:
    """An envelope, or a part of one, as a JSON object; for feedback also what the call store keeps and HTTP shows."""
    return {part.name: _plain(getattr(envelope, part.name)) for part in _PARTS[type(envelope)]}


def feedback_from_json(document: Mapping[str, object]) -> Feedback:
    """The feedback that `to_json` wrote; GhcmError says what is wrong with it."""
    feedback = _read(Feedback, document, "feedback")
    if not 0 <= feedback.progress <= 1:
        raise _invalid("feedback", '"progress" is no number from 0 to 1', f"found {feedback.progress!r}")
    return feedback


def _plain(value: object) -> object:
    """The value as JSON has it."""
    match value:
        case None | str() | int() | float():
            return value
        case State():
            return _TEXTS[value]
        case Failed():
            return value.error.document()
        case dict() | MappingProxyType():
            items = cast("Mapping[str, object]", value).items()
            return {name: to_json(item) if isinstance(item, SinkVersion) else item for name, item in items}
        case _:  # what parameters hold: JSON already, or refused when it is written
            return value


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


def _opened(data: bytes | str, kind: str) -> Mapping[str, object]:
    """The JSON object of an encoded envelope. `kind` is what it should be ("instruction"), for messages."""
    if len(data) > LIMIT:
        raise _invalid(kind, "too large", f"{len(data):,} bytes, the limit is {LIMIT:,}")
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _invalid(kind, "no JSON", str(error)) from error
    if not isinstance(document, dict):
        raise _invalid(kind, "no JSON object", f"found {type(document).__name__}")
    found = cast("dict[str, object]", document)
    if (written := found.get("v")) != FORMAT:
        raise _invalid(kind, f"format {written!r} is not known", f"This GHCM reads format {FORMAT}.")
    return found


Reader: TypeAlias = Callable[[object, str, str], object]
"""Takes a value, the name of its field and the kind of envelope, for messages."""

Part = TypeVar("Part", Instruction, Feedback, SinkVersion, Failed)


def _hints(part: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields, without "or None": null stands for what is missing."""
    hints = get_type_hints(part)
    return {
        name: next(each for each in get_args(hint) if each is not NoneType) if isinstance(hint, UnionType) else hint
        for name, hint in hints.items()
    }


_HINTS = {part: _hints(part) for part in (Instruction, Feedback, SinkVersion, Failed, Origin)}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an envelope or of a part of one, and how it is read; asked for once, since calls wait for it."""

    name: str
    read: Reader
    needed: bool


def _read(part: type[Part], document: Mapping[str, object], kind: str) -> Part:
    """What the fields of an envelope, or of a part of one, say in a JSON object. What comes over a wire is refused with
    a reason, never believed; fields that are not known are passed over.
    """
    values: dict[str, Any] = {}
    for each in _PARTS[part]:
        name, value = each.name, document.get(each.name)
        if value is not None:
            values[name] = each.read(value, name, kind)
        if each.needed and value in (None, ""):
            what = "missing" if value is None else "empty"
            raise _invalid(kind, f'the field "{name}" is {what}', f"Found the fields {', '.join(document) or 'none'}.")
    return part(**values)


def _reader(expected: Any) -> Reader:
    """What takes a value of that type; true and false are no numbers."""
    if expected is object:
        return lambda value, name, kind: value
    if expected is State:
        return _read_state
    if expected in (SinkVersion, Failed):
        return partial(_read_part, cast("type[SinkVersion]", expected))
    if expected is SourceLine:
        return _read_place
    if get_origin(expected) is Mapping:
        inner = _reader(get_args(expected)[1])
        return lambda value, name, kind: {
            each: inner(item, f"{name}.{each}", kind) for each, item in _object(value, name, kind).items()
        }
    return partial(_read_plain, expected)


def _read_part(part: type[Part], value: object, name: str, kind: str) -> Part:
    return _read(part, _object(value, name, kind), name)


def _read_plain(expected: type, value: object, name: str, kind: str) -> object:
    if expected is float and type(value) is int:
        try:
            return float(value)
        except OverflowError as error:
            raise _invalid(kind, f'the field "{name}" is no float', str(error)) from error
    if not isinstance(value, expected) or isinstance(value, bool):
        raise _invalid(kind, f'the field "{name}" is no {expected.__name__}', f"found {value!r}"[:200])
    return value


def _read_state(value: object, name: str, kind: str) -> State:
    text = cast("str", _read_plain(str, value, name, kind))
    if text not in _STATES:
        raise _invalid(kind, f'unknown state "{text}"', f"Known states: {', '.join(_STATES)}.")
    return _STATES[text]


def _read_place(value: object, name: str, kind: str) -> SourceLine:
    items = _object(value, name, kind)
    at: dict[str, Any] = {each: _read_plain(hint, items.get(each), each, name) for each, hint in _HINTS[Origin].items()}
    return SourceLine(Origin(**at), str(items.get("text", "")))


def _object(value: object, name: str, kind: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _invalid(kind, f'the field "{name}" is no object', f"found {value!r}")
    return cast("dict[str, object]", value)


_PARTS = {
    part: [
        _Field(each.name, _reader(_HINTS[part][each.name]), each.default is MISSING and each.default_factory is MISSING)
        for each in fields(part)
    ]
    for part in (Instruction, Feedback, SinkVersion, Failed)
}
_STATES = {state.value: state for state in State}
_TEXTS = {state: text for text, state in _STATES.items()}


def _invalid(kind: str, what: str, detail: str) -> GhcmError:
    return GhcmError(f"not a valid {kind}: {what}", code="GHCM-710", detail=detail)
