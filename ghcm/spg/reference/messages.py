"""Messages of topics into records: each by itself, its value in the format of the source and its other parts as the
fields that hold them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from ghcm import types
from ghcm.formats.messages import Message, value_of
from ghcm.spg.connectors import Format, Kafka
from ghcm.spg.reference import avro
from ghcm.spg.reference.decoding import Bad, attempt, decoded


def records_of(
    messages: Sequence[Message], place: str, connector: Kafka, element: types.Struct
) -> Iterator[tuple[object, ...] | Bad]:
    """The records of a partition, which `place` names (topic/partition); offsets begin at 0."""
    for offset, message in enumerate(messages):
        known = {"deleted": message.value is None}
        if message.value is None and connector.absent:
            message = replace(message, value=connector.absent.encode())  # noqa: PLW2901
        text = (message.value or b"").decode(errors="replace")
        yield attempt(text, f"{place}:{offset}", partial(_record, message, place, offset, connector, element, known))


def _record(
    message: Message, place: str, offset: int, connector: Kafka, element: types.Struct, also: Mapping[str, object]
) -> tuple[object, ...]:
    topic, _, number = place.rpartition("/")
    known: dict[str, object] = {
        **also,
        "key": message.key,
        "timestamp": message.time_ms * 1000 if message.time_ms >= 0 else None,
        "headers": message.headers,
        "origin": topic,
        "partition": int(number or 0),
        "offset": offset,
    }
    row = {name: _part(known[word], element.field_of(name).type) for word, name in connector.fields}
    value = value_of(connector.fields, element)
    if connector.format.name == "raw":
        (field,) = value.fields
        row[field.name] = _part(message.value, field.type)
    elif message.value is None:
        raise ValueError("the message has no value")
    elif connector.format.name == "text":
        return message.value.decode(), place, offset
    elif connector.format.name == "avro":
        found = avro.record_of(message.value, connector.schema, connector.schema_id, value)
        row |= zip(value.names, found, strict=True)
    else:
        row |= zip(value.names, _value(message.value, connector.format, value), strict=True)
    return tuple(row[name] for name in element.names)


def _part(part: object, type_: types.Type) -> object:
    """A part of a message as the value of a field; ValueError where it is none of its type."""
    match type_:
        case types.Nullable(of=of):
            return None if part is None else _part(part, of)
        case _ if part is None:
            raise ValueError(f"expected {type_}, found nothing")
        case types.String() if isinstance(part, bytes):
            return part.decode()
        case types.Timestamp() if cast("int", part) > types.INT_MAX:
            raise ValueError("the time does not fit into timestamp")
        case types.Map(value=value):
            return {name: _part(held, value) for name, held in cast("Sequence[tuple[str, object]]", part)}
        case types.List(item=types.Struct(fields=(_, value))):
            return [(name, _part(held, value.type)) for name, held in cast("Sequence[tuple[str, object]]", part)]
        case _:  # the rest is what it is
            return part


def _value(data: bytes, format_: Format, element: types.Struct) -> tuple[object, ...]:
    """The one record of a value: a JSON object in one line or in several, or cells in the order of the fields."""
    if format_.name == "csv":
        header = format_.separator.join(field.path or field.name for field in element.fields)
        data = header.encode() + b"\n" + data
    else:
        data = data.replace(b"\n", b"\r")
    found = list(decoded(data, "", format_, element))
    if len(found) != 1:
        raise ValueError("the message is not one record")
    (row,) = found
    if isinstance(row, Bad):
        raise ValueError(row.detail)
    return row
