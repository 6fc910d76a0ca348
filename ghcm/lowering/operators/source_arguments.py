"""What sources of several kinds are given: formats, constant times, and whether they may be without end."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ghcm.codes import Code
from ghcm.errors import attempt
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.lowering.drafts import Bound, Flow, Raw, RawSource, Step
from ghcm.lowering.expressions.constants import NotConstant, constant
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.types import LINE
from ghcm.spg.connectors import Connector, Format
from ghcm.spg.ops import Source
from ghcm.support import Never
from ghcm.types import Collection, Shape, Timestamp

ENVELOPES = "debezium"
"""The format whose records are JSON in envelopes."""


def format_given(step: Step, default: str) -> Format:
    """The format as said; `tsv` is csv with a tab, `eve` (Suricata's eve.json) is JSON lines."""
    name = step.given.choice("format", default)
    name = "json" if name == ENVELOPES else name
    separator, keeps_empty = step.given.string("separator"), step.given.flag("keep_empty")
    plain = Format("csv", "\t") if name == "tsv" else Format("json" if name == "eve" else name)
    plain = replace(plain, keeps_empty=keeps_empty)
    if keeps_empty and plain.name != "csv":
        message = f'"keep_empty" is for csv and tsv, and the format here is {name}'
        step.report(Code.ARGUMENT_UNKNOWN, message, step.given.span("keep_empty"))
    if separator is None:
        return plain
    if name != "csv":
        message = f'"separator" is for csv, and the format here is {name}'
        step.report(Code.ARGUMENT_UNKNOWN, message, step.given.span("separator"))
    elif len(separator) != 1 or separator in '"\n\r' or not separator.isascii():
        wanted = "one ASCII character that is neither a quote nor a line end"
        step.given.wrong("separator", wanted)
    else:
        return replace(plain, separator=separator)
    return plain


def of_format(step: Step, connector: Connector, format_: Format, *, bounded: bool) -> Bound:
    """What a source of a format gives: raw records, or lines of text; `bounded`: it ends."""
    bounded = bounded or must_end(step)
    if format_.name != "text":
        envelope = _envelope(step)
        return Raw((RawSource(step.name, connector, (), bounded, step.span, step.given, envelope),))
    collection = Collection(Shape.STREAM, LINE, bounded)
    return Flow(step.add(Source(connector), collection), collection)


def _envelope(step: Step) -> str | None:
    """Where in a value the envelope stands that its record is in; None where there is none."""
    written = step.given.expr("format")
    if isinstance(written, ast.Ref) and written.name == ENVELOPES:
        return step.given.string("envelope") or ""
    if step.given.expr("envelope") is not None:
        message = '"envelope" says where an envelope of Debezium stands, and the format here is another'
        step.report(Code.ARGUMENT_UNKNOWN, message, step.given.span("envelope"))
    return None


def must_end(step: Step) -> bool:
    """Whether the unit has to end; its endless source is then reported and taken as one that ends, so that checks go
    on.
    """
    unit = step.unit
    if unit.lives_on:
        return False
    if not isinstance(step.operator.support(unit.engine), Never):
        kind = "responsive" if unit.declaration.responsive else "batch"
        message = f'"{step.name}" never ends here, and a {kind} unit must end'
        hints = {"generate": "generate(rows = ...) ends.", "files": "Without follow and tail it ends."}
        hints["table"] = "Without follow it ends."
        hints["kafka"] = "With until = latest it ends."
        hint = hints.get(step.name, "A stream unit can read it.")
        step.report(Code.ENDLESS_BATCH, message, hint=hint)
    return True


def time_given(step: Step, name: str, wanted: str) -> int | None:
    """A constant time in microseconds; None where it is missing or was reported, as not what is `wanted`."""
    written = step.given.expr(name)
    if written is None:
        return None
    if isinstance(written, ast.Literal) and isinstance(written.value, str):
        with suppress(ValueError):
            time = datetime.fromisoformat(written.value)
            time = time if time.tzinfo else time.replace(tzinfo=UTC)
            return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    elif isinstance(written, ast.Literal | ast.Apply):
        value = attempt(whole, written, Scope(step.context), f'"{name}" of "{step.name}"')
        if value is None:
            return None
        with suppress(NotConstant):
            found = constant(value)
            if value.type == Timestamp() and isinstance(found, int):
                return found
    step.given.wrong(name, f'{wanted} "2026-01-02T03:04:05Z"')
    return None
