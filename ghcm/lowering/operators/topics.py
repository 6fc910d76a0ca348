"""The source `kafka`: where reading of a topic begins and ends, and which fields hold what besides the values of its
messages.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ghcm.codes import Code
from ghcm.errors import Reported, listed, sound, suggest
from ghcm.formats.avro_schema import conversions, read_schema
from ghcm.formats.messages import PARTS, holds_raw, value_of
from ghcm.language import ast
from ghcm.lowering.drafts import SOURCES, Bound, RawSource, Step, rule
from ghcm.lowering.expressions.regex import BadPattern, canonical
from ghcm.lowering.operators.source_arguments import format_given, of_format, time_given
from ghcm.spg.connectors import Format, Kafka
from ghcm.types import Int, Struct, strip

_STARTS = "earliest, latest, offsets such as [(0, 1200), (1, 900)], or a constant time"


@rule(SOURCES, "kafka")
def kafka(step: Step) -> Bound:
    """Records of a topic."""
    topic, pattern = _topics(step)
    format_ = format_given(step, "json")
    until, lost = step.given.choice("until", ""), step.given.choice("lost", "fail")
    connector = Kafka(topic, format_, ends=bool(until), lost=lost, fields=_fields(step, format_), pattern=pattern)
    connector = _emptied(step, _written(step, _started(step, connector)))
    if until and connector.start == "latest":
        message = '"start" and "until" of "kafka" are the same moment, so that there is nothing to read'
        step.report(Code.OUT_OF_RANGE, message, step.given.span("until"))
    return of_format(step, connector, format_, bounded=connector.ends)


def _emptied(step: Step, connector: Kafka) -> Kafka:
    """The connector, for which a message without a value has null in its fields where one says that it is deleted."""
    if "deleted" not in dict(connector.fields) or connector.format.name == "raw":
        return connector
    if connector.format.name != "json":
        message = f'"deleted" is for json and raw, and the format here is {connector.format.name}'
        step.report(Code.ARGUMENT_UNKNOWN, message, step.given.span("deleted"))
    return replace(connector, absent="{}")


def _topics(step: Step) -> tuple[str, str]:
    """The topic or the pattern; the other one is empty."""
    given = step.given
    said = [name for name in ("topic", "pattern") if given.expr(name) is not None]
    if len(said) != 1:
        hint = 'kafka("visits") or kafka(pattern = "visits[.].*").'
        message = '"kafka" reads a topic or those that match a pattern' + (", not both" if said else "")
        raise step.report(Code.ARGUMENT_KIND, message, hint=hint)
    if said == ["topic"]:
        return sound(given.topic("topic")), ""
    try:
        return "", canonical(sound(given.string("pattern"))).text
    except BadPattern as bad:
        message = f'the pattern of "kafka" is not understood: {bad.reason}'
        detail = "Patterns keep to what RE2, Java and Python read alike."
        span = given.span("pattern")
        raise step.report(Code.BAD_PATTERN, message, span, detail=detail, hint=bad.hint) from bad


def _started(step: Step, connector: Kafka) -> Kafka:
    """The connector, which begins as `start` says."""
    written = step.given.expr("start")
    match written:
        case None:
            return connector
        case ast.Ref(name="earliest" | "latest" as start):
            return replace(connector, start=start)
        case ast.ListExpr(items=items) if connector.topic:
            return replace(connector, offsets=_offsets(step, items))
        case ast.ListExpr():
            message = "offsets are those of the partitions of one topic, and a pattern may match several"
            hint = "earliest, latest or a constant time is where all of them begin."
            step.report(Code.ARGUMENT_KIND, message, written.span, hint=hint)
            return connector
        case _:
            return replace(connector, start_us=time_given(step, "start", f"{_STARTS} such as"))


def _offsets(step: Step, items: Sequence[ast.Expr]) -> tuple[tuple[int, int], ...]:
    """Partitions, each once, with the offsets where reading begins."""
    found: dict[int, int] = {}
    for item in items:
        match item:
            case ast.TupleExpr(
                items=(ast.Literal(value=int(partition), type=Int()), ast.Literal(value=int(offset), type=Int()))
            ) if partition not in found:
                found[partition] = offset
            case ast.TupleExpr(items=(ast.Literal(value=int(partition)), _)) if partition in found:
                step.report(Code.ARGUMENT_KIND, f"partition {partition} has two offsets", item.span)
            case _:  # whatever else is written is no pair
                message = '"start" of "kafka" is a list of pairs of a partition and an offset'
                step.report(Code.ARGUMENT_KIND, message, item.span, hint="start = [(0, 1200), (1, 900)].")
    if not items:
        step.given.wrong("start", _STARTS)
    return tuple(sorted(found.items()))


def _written(step: Step, connector: Kafka) -> Kafka:
    """The connector with the schema of its values, if they are Avro."""
    given, format_ = step.given, connector.format.name
    if format_ != "avro":
        for name in ("schema", "schema_id"):
            if given.expr(name) is not None:
                message = f'"{name}" is for avro, and the format here is {format_}'
                step.report(Code.ARGUMENT_UNKNOWN, message, given.span(name))
        return connector
    if given.expr("schema") is None:
        message, hint = '"kafka" lacks the schema of its values', 'schema = "visit.avsc" names the file that has it.'
        raise step.report(Code.ARGUMENT_MISSING, message, hint=hint)
    number = given.integer("schema_id")
    if number is not None and number >= 2**32:
        step.report(Code.OUT_OF_RANGE, f"there is no schema {number} in any registry", given.span("schema_id"))
    return replace(connector, schema=_schema(step, sound(given.string("schema"))), schema_id=number)


def _schema(step: Step, path: str) -> str:
    """The schema of a file, which stands beside the program, as JSON."""
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema

    span = step.given.span("schema")
    try:
        text = (Path("" if span is None else span.source.name).parent / path).read_text(encoding="utf-8")
        read_schema(text)
        parse_schema(json.loads(text))
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, SchemaParseException) as error:
        why = str(error)
    except (UnknownType, LookupError, TypeError) as error:
        why = f"it is no schema of Avro: {error!r}"
    else:
        return json.dumps(json.loads(text), separators=(",", ":"))
    raise step.report(Code.BAD_FORMAT, f'the schema "{path}" cannot be read', span, detail=f"{why}.")


def _fields(step: Step, format_: Format) -> tuple[tuple[str, str], ...]:
    """The parts of messages that are asked for, each with its field; what cannot be is reported and left out."""
    by_field: dict[str, str] = {}
    for word in PARTS:
        written, span = step.given.expr(word), step.given.span(word)
        if written is None:
            continue
        if not isinstance(written, ast.Ref):
            step.given.wrong(word, "the name of a field of the record")
        elif format_.name == "text":
            message = f'"{word}" is for records, and text gives lines, which have no field for it'
            hint = "format = raw, with .as(Record), reads texts into a field beside others."
            step.report(Code.ARGUMENT_UNKNOWN, message, span, hint=hint)
        elif (other := by_field.setdefault(written.name, word)) != word:
            message = f'field "{written.name}" cannot hold both the {other} and the {word} of messages'
            step.report(Code.FIELD_TWICE, message, span, hint="Each has a field of its own.")
    return tuple((word, field) for field, word in by_field.items())


def check_message(step: Step, source: RawSource, connector: Kafka, element: Struct) -> None:
    """Report fields that cannot hold what they are to hold of messages."""
    wrong = [_unfit(step, source, element, word, name) for word, name in connector.fields]
    if element.fields and not value_of(connector.fields, element).fields:
        message = f'no field of "{element}" is left for the values of messages'
        wrong.append(step.report(Code.BAD_FORMAT, message, source.span))
    elif connector.format.name == "avro":
        span = None if source.given is None else source.given.span("schema")
        found = conversions(read_schema(connector.schema), value_of(connector.fields, element))
        wrong += [step.report(Code.BAD_FORMAT, each, span) for each in found if isinstance(each, str)]
    elif connector.format.name == "raw" and not holds_raw(value_of(connector.fields, element)):
        names = value_of(connector.fields, element).names
        message = f'raw values are one field of "{element}", a string or bytes'
        detail = f"Left for it {'is' if len(names) == 1 else 'are'} {listed(names)}."
        wrong.append(step.report(Code.BAD_FORMAT, message, source.span, detail=detail))
    if any(wrong):
        raise Reported


def _unfit(step: Step, source: RawSource, element: Struct, word: str, name: str) -> Reported | None:
    field, span = element.get(name), None if source.given is None else source.given.span(word)
    if field is None:
        message, detail = f'"{element}" has no field "{name}"', f"It has {listed(element.names)}."
        return step.report(Code.NO_FIELD, message, span, detail=detail, hint=suggest(name, element.names))
    message = f'field "{name}" cannot hold the {word} of messages'
    if name in (*dict(element.cases), *(need for _, need, _ in element.needs)):
        detail = f'Not all records of "{element}" have it alike.'
    elif not PARTS[word].holds(strip(field.type)):
        detail = f'It is "{field.type}"; it can be {PARTS[word].types}.'
    else:
        return None
    return step.report(Code.BAD_FORMAT, message, span, detail=detail)
