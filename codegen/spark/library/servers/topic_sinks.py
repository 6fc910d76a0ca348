"""Topics of Kafka as sinks: all messages of a run are made, and kept, before Spark's own connector sends the first, as
none can be taken back. Keys and values are the texts that the native engine writes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ghcm.codegen.spark.library.job import Job, Refused, Written, refusal
from ghcm.codegen.spark.library.servers.message_parts import headers_of
from ghcm.codegen.spark.library.servers.topics import HEADERS, client_options, explaining, kafka_trouble, know_kafka
from ghcm.codegen.spark.library.sql import bound, matching, named, quoted, text, variable, when
from ghcm.codegen.spark.library.tables.texts import csv_text, json_line, json_value
from ghcm.codegen.spark.library.types import (
    STRING,
    columns_of,
    from_arrow,
    has_columns,
    plain,
    plain_columns,
    record_type,
    type_of,
)
from ghcm.errors import GhcmError
from ghcm.fence import hold
from ghcm.formats.csv_records import line_writer
from ghcm.topics import trouble
from ghcm.types import Duration, Float, Struct, parts
from ghcm.values import cell_writer, compact, key_writer, own_writer

_MADE_MS = "3000"
"""How long a topic that was made a moment ago may be unknown to the broker that is asked."""
_WAITING = 64 << 20
"""Bytes of messages that a client holds; one that is larger is none."""
_OF_A_MESSAGE = 100
"""Bytes that a message takes besides its key and its value."""
_COLUMNS = {"key": "string", "value": "string", "headers": HEADERS}
"""What Spark's connector takes; headers may lack."""


def write_kafka(  # noqa: PLR0913  each says something else of the sink
    job: Job,
    rows: DataFrame,
    sink: str,
    topic: str,
    element: T.DataType,
    key: str = "string(NULL)",
    key_type: T.DataType = STRING,
    *,
    format: str = "json",
    separator: str = ",",
    headers: str = "",
) -> None:
    """Have each row sent as a message when all else of the run is done; a run that fails on its way, or comes again,
    sends them again. `headers`: the column that gives those of messages.
    """
    job.at = Written(sink, topic)
    options = client_options(job)
    know_kafka(job)
    find_topic(job, options, topic)
    job.progress(len(job.sinks) / (len(job.sinks) + 2), f"writing {sink}")
    job.asked.append(rows)
    made = job.keep(topic_messages(rows, element, key, key_type, format, separator, headers))
    before = job.sinks.get(sink, {"rows": 0})["rows"]  # of another pipeline of the unit
    job.sinks[sink] = {"version": job.context["call"], "rows": before + made.count()}

    def send() -> None:
        hold(job.fence)
        send_messages(job, made, sink, topic)

    job.later.append(send)


def find_topic(job: Job, options: dict[str, str], topic: str) -> None:
    """Ask for a topic, which brokers may make then. Refused where there is none, or this user may not write to it."""
    java: Any = job.spark
    brokers, clients = options["bootstrap.servers"], java._jvm.org.apache.kafka.clients
    with explaining(brokers, topic):
        admin = clients.admin.Admin.create(options)
        try:
            asked = clients.admin.DescribeTopicsOptions().includeAuthorizedOperations(True)
            may = admin.describeTopics([topic], asked).allTopicNames().get().get(topic).authorizedOperations()
            if may is not None and "WRITE" not in map(str, may):
                raise refusal(trouble("rights", brokers, topic, "It may read it, and not write to it."))
        except Exception as error:
            if "UnknownTopicOrPartitionException" not in str(error):
                raise
            have_made(clients, options, topic)
        finally:
            admin.close()


def have_made(clients: Any, options: dict[str, str], topic: str) -> None:
    """Ask as those do that send, for whom brokers may make a topic."""
    serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
    asks = {"key.serializer": serializer, "value.serializer": serializer, "max.block.ms": _MADE_MS}
    producer = clients.producer.KafkaProducer(producing(options) | asks)
    try:
        producer.partitionsFor(topic)
    finally:
        producer.close()


def producing(options: dict[str, str]) -> dict[str, str]:
    """The options of a client that sends: a message may be as large as the topic takes, and a batch of them waits for
    brokers for four times as long as these may take to answer.
    """
    patience = int(options["request.timeout.ms"])
    others = {
        name: value for name, value in options.items() if name not in ("isolation.level", "default.api.timeout.ms")
    }
    return others | {
        "max.block.ms": str(patience),
        "delivery.timeout.ms": str(4 * patience),
        "max.request.size": str(_WAITING),
        "buffer.memory": str(_WAITING),
        "compression.type": "lz4",
        "linger.ms": "20",
    }


def send_messages(job: Job, made: DataFrame, sink: str, topic: str) -> None:
    """Send all messages, and return when the brokers have them."""
    job.at = Written(sink, topic)
    job.progress(0.97, f"sending {sink}")
    options = client_options(job)
    know_kafka(job)
    writer = made.write.format("kafka").option("topic", topic)
    try:
        writer.options(**{f"kafka.{name}": value for name, value in producing(options).items()}).save()
    except Exception as error:
        said = str(error)
        if re.search(r"org[.]apache[.]kafka[.][\w.]+Exception", said):
            raise refusal(kafka_trouble(said, options["bootstrap.servers"], topic)) from None
        if "UnknownReason" not in said:
            raise
        # Spark's driver does not always know the classes of a package that was fetched.
        find_topic(job, options, topic)
        raise refusal(unsent(job, made, options, topic)) from None


def unsent(job: Job, made: DataFrame, options: dict[str, str], topic: str) -> GhcmError:
    """Why a topic that can be written to has not taken all messages, as far as that can be found out."""
    java: Any = job.spark
    brokers, kafka = options["bootstrap.servers"], java._jvm.org.apache.kafka
    admin = kafka.clients.admin.Admin.create(options)
    asked = kafka.common.config.ConfigResource(kafka.common.config.ConfigResource.Type.TOPIC, topic)
    try:
        with explaining(brokers, topic):
            limit = int(admin.describeConfigs([asked]).all().get().get(asked).get("max.message.bytes").value())
    except Refused:  # this user may not ask
        limit = _WAITING
    finally:
        admin.close()
    most = made.selectExpr("max(octet_length(value) + coalesce(octet_length(key), 0))").collect()[0][0]
    if most + _OF_A_MESSAGE > min(limit, _WAITING):
        return trouble("too large", brokers, topic, f"It takes {limit:,} bytes, and one has {most:,}.")
    return trouble("refused", brokers, topic, "Spark does not say why; the logs of its workers do.")


# --- messages --------------------------------------------------------------------------------------------------------


def topic_messages(
    rows: DataFrame, element: T.DataType, key: str, key_type: T.DataType, format: str, separator: str, headers: str
) -> DataFrame:
    """The `key` and `value` of the message of each row, and its `headers` if these are asked for."""
    more = list[str]()
    if headers:
        fields = columns_of(element).fields
        more = [named(headers_of(field), "headers") for field in fields if field.name == headers]
        element = T.StructType([field for field in fields if field.name != headers])
    held = [*parts(record_type(element)), *parts(type_of(key_type))]
    if any(isinstance(each, Float | Duration) for each in held):  # Java writes other digits
        return messages_in_python(rows, element, key, key_type, format, separator, more)
    columns, value = columns_of(element).fields, "`@value`"
    if format == "csv":
        texts = {f"@{number}": csv_text(quoted(each.name), each.dataType) for number, each in enumerate(columns)}
        cells = [csv_cell(quoted(name), of.dataType, separator) for name, of in zip(texts, columns, strict=True)]
        nothing = text('""' if len(cells) == 1 else "")
        value = f"concat_ws({', '.join([text(separator), *(f'coalesce({cell}, {nothing})' for cell in cells)])})"
    elif format == "text":
        texts = {"@value": quoted(columns[0].name)}
    else:
        texts, value = {"@value": json_line(element)}, small_escapes(value)
    texts["@key"] = keys_json(key, key_type) if has_columns(key_type) else csv_text(key, key_type)
    name = small_escapes("`@key`") if is_nested(key_type) else "`@key`"
    made = rows.selectExpr(*(named(each, column) for column, each in texts.items()), *more)
    return made.selectExpr(named(name, "key"), named(value, "value"), *(["headers"] if headers else []))


def messages_in_python(
    rows: DataFrame,
    element: T.DataType,
    key: str,
    key_type: T.DataType,
    format: str,
    separator: str,
    more: Sequence[str],
) -> DataFrame:
    """As `topic_messages`, of values that Python alone writes so."""
    record, type_ = record_type(element), type_of(key_type, nullable=not has_columns(key_type))
    row_of, key_of, value_text = from_arrow(record), from_arrow(type_), value_writer(record, format, separator)
    key_text = key_writer(type_) if has_columns(key_type) else cell_writer(type_)

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            keys, values = (column.to_pylist(maps_as_pydicts="strict") for column in batch.columns[:2])
            texts: list[list[str | None]] = [
                [key_text(key_of(each)) for each in keys],
                [value_text(row_of(each)) for each in values],
            ]
            columns = [*(pyarrow.array(each, pyarrow.string()) for each in texts), *batch.columns[2:]]
            yield pyarrow.record_batch(columns, names=names)

    names = [*_COLUMNS] if more else ["key", "value"]
    taken = rows.selectExpr(named(plain(key, key_type), "@key"), named(plain_columns(element), "@row"), *more)
    return taken.mapInArrow(write, ", ".join(f"{name} {_COLUMNS[name]}" for name in names))


def value_writer(record: Struct, format: str, separator: str) -> Callable[[tuple[Any, ...]], str]:
    """The function that gives the text of a record."""
    if format == "text":
        return lambda row: str(row[0])
    if format == "json":
        to_json = own_writer(record)
        return lambda row: compact(to_json(row))
    line, cells = line_writer(separator), [cell_writer(field.type) for field in record.fields]
    return lambda row: line(write(value) for write, value in zip(cells, row, strict=True))


def csv_cell(cell: str, type_: T.DataType, separator: str) -> str:
    """The text of a value as a cell of a line, in quotes where `line_writer` has them; null of null."""
    special = matching(cell, "|".join(map(re.escape, (separator, '"', "\r", "\n"))))
    held = small_escapes(cell) if is_nested(type_) else cell
    in_quotes = f"concat('\"', replace({held}, '\"', '\"\"'), '\"')"
    return when(f"{cell} = '' OR {special}", in_quotes, cell)


def keys_json(key: str, type_: T.StructType) -> str:
    """Several keys as an array of JSON."""
    each = variable()
    values = ", ".join(json_value(f"{each}.{quoted(part.name)}", part.dataType) for part in type_.fields)
    return bound(key, each, f"concat('[', concat_ws(',', {values}), ']')")


def is_nested(type_: T.DataType) -> bool:
    """Whether the text of a value is JSON of its parts."""
    return isinstance(type_, T.ArrayType | T.MapType | T.StructType)


def small_escapes(json: str) -> str:
    """JSON as Spark writes it with the escapes of control characters in small letters."""
    small = json
    for letter in "ABCDEF":
        pattern = rf"(?<!\\)((?:\\\\)*\\u00[01]){letter}"
        small = f"regexp_replace({small}, {text(pattern)}, {text(f'$1{letter.lower()}')})"
    return when(f"contains({json}, {text(_ESCAPE)})", small, json)


_ESCAPE = "\\u00"
"""How escapes begin, and texts that look like them."""
