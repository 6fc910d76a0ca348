"""Topics of Kafka: Spark's own connector reads the messages that are there when reading begins, each of them a record.

Which those are is asked once for a run: Spark would ask again for each of its jobs, and find more each time.
"""

import json
import logging
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ghcm.codegen.spark.library.doubts import Decoded, Opening
from ghcm.codegen.spark.library.files.records import BROKEN, json_text, with_records
from ghcm.codegen.spark.library.job import Job, Refused, Step, refusal
from ghcm.codegen.spark.library.lines import LINE_COLUMNS, NOT_UTF8, accepted, empty
from ghcm.codegen.spark.library.servers.message_parts import part_columns
from ghcm.codegen.spark.library.sql import fails, first, matching, named, text
from ghcm.codegen.spark.library.types import columns_of, record_columns, record_type
from ghcm.errors import GhcmError
from ghcm.formats.avro_schema import other_schema, registry_head
from ghcm.formats.avro_values import record_reader
from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.topics import PASSED_OVER, gone, gone_from, matched, no_kafka, started, trouble, unmatched
from ghcm.types import Struct

_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
_OLDER = "4.2.0"
"""The version that is taken where there is none of Spark's own: packages appear later than Spark, and 4.3 runs it."""
_PRESENT = "org.apache.hadoop:hadoop-client-runtime,org.apache.hadoop:hadoop-client-api"
"""What the package asks for and every Spark has: four fifths of all."""
_AT_ONCE = 500_000
"""Messages of a partition that one task of Spark reads."""
_PATIENCE_S = 30.0

_log = logging.getLogger(__name__)

_Parts: TypeAlias = dict[str, dict[int, tuple[int, int]]]
"""By topic and partition what is to be read: from one offset to before another."""
_NO_FIELDS: Mapping[str, str] = {}
_NO_OFFSETS: Mapping[int, int] = {}
_NO_VALUE = fails("`@none`", "bad_record", "the message has no value")
_NOT_ONE = "the message is not one record"
_BLANK = fails(matching("`@text`", r"\A[ \t\r\n]*\z"), "bad_record", _NOT_ONE)

HEADERS = "array<struct<key: string, value: binary>>"
"""The headers of a message, as Spark's connector has them."""
_LOADED = (
    f"key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, headers {HEADERS}"
)
"""What Spark's connector gives of messages."""
_MESSAGE = (
    "coalesce(string(value), '') AS `@text`",
    "value IS NULL AS `@none`",
    "concat(topic, '/', partition) AS `@file`",
    "offset AS `@number`",
)


class Topics(NamedTuple):
    """Which messages are read: those that are there now of a topic, or with `pattern` of all whose names it matches as
    a whole. They begin with those of `start_us` (microseconds since 1970; None: the oldest), or by partition with
    `offsets`. `lost`, as in `Kafka`, is about messages that are not there, or go while others are read.
    """

    name: str
    pattern: bool = False
    start_us: int | None = None
    offsets: Mapping[int, int] = _NO_OFFSETS
    lost: str = "fail"


class Avro(NamedTuple):
    """With which schema, as data of JSON, values were written, and its number in a registry, if they have that."""

    schema: Mapping[str, Any]
    schema_id: int | None = None


def read_kafka(
    job: Job,
    step: Step,
    topics: Topics,
    *,
    format: str = "json",
    separator: str = ",",
    fields: Mapping[str, str] = _NO_FIELDS,
    avro: Avro | None = None,
    absent: str = "",
) -> DataFrame:
    """The records of topics; what does not fit is a dead letter. `fields`, `absent`: as in `Kafka`."""
    job.at = step
    held = set(fields.values())
    value = StructType([each for each in columns_of(step.input).fields if each.name not in held])
    raw = [("value", name) for name in value.names if format == "raw"]
    parts, unfit = part_columns([*fields.items(), *raw], columns_of(step.input))
    rows = _messages(job, step, topics, headers="headers" in fields)
    text_of, rest = _MESSAGE[0], list[str](_MESSAGE[1:])
    if absent:
        text_of, rest[0] = f"coalesce(string(value), {text(absent)}) AS `@text`", "false AS `@none`"
    rows = rows.selectExpr(text_of, *rest, *parts, *([named(unfit, "@unfit")] if unfit else []))
    errors = ["`@unfit`" if unfit else None, None if raw else _NO_VALUE]
    if format == "text":
        errors.append(NOT_UTF8)
    elif not raw:
        struct = record_type(value)
        if avro is not None:
            opening = _avro_value(struct, avro)
        else:
            opening = json_text(struct) if format == "json" else _cells_text(struct, separator)
        rows = with_records(rows, value, opening)
        errors += [_BLANK if format == "json" else None, BROKEN]
    if error := first(*errors):
        rows = accepted(job, step, rows, error, ())
    return rows.selectExpr(*(LINE_COLUMNS if format == "text" else record_columns(step.input)))


def _cells_text(struct: Struct, separator: str) -> Opening:
    """The function that reads the cells in a text, which are those of all fields in their order."""

    def open_reader() -> Callable[[bytes], Decoded]:
        records = CsvRecords(struct)
        records.begin([field.path or field.name for field in struct.fields])

        def found_in(message: bytes) -> Decoded:
            found: list[Decoded] = []
            for cells, raw, _ in csv_records(BytesIO(message), separator):
                try:
                    row = records.take(cells, raw, "")
                    found += [(row, None)] if row is not None else []
                except ValueError as error:
                    found.append((None, str(error)))
            return found[0] if len(found) == 1 else (None, _NOT_ONE)

        return found_in

    return open_reader


def _avro_value(struct: Struct, avro: Avro) -> Opening:
    """The function that reads the record in a value."""

    def open_reader() -> Callable[[bytes], Decoded]:
        head, read = registry_head(avro.schema_id), record_reader(json.dumps(avro.schema), struct)

        def found_in(message: bytes) -> Decoded:
            if not message.startswith(head):
                return None, other_schema(message)
            try:
                return read(message[len(head) :]), None
            except ValueError as error:
                return None, str(error)

        return found_in

    return open_reader


# --- the messages ----------------------------------------------------------------------------------------------------


def _messages(job: Job, step: Step, topics: Topics, *, headers: bool) -> DataFrame:
    """The messages as Spark's connector gives them, which stay the same however often they are read."""
    options = client_options(job)
    know_kafka(job)
    with explaining(options["bootstrap.servers"], topics.name):
        parts = _parts(job, options, topics)
    fails_on_loss = topics.lost == "fail"
    job.topics |= {topic: (step, each if fails_on_loss else {}) for topic, each in parts.items()}
    if not parts:
        return empty(job, _LOADED)
    reader = job.spark.read.format("kafka")
    reader = reader.option("assign", json.dumps({topic: sorted(each) for topic, each in parts.items()}))
    for name, index in (("startingOffsets", 0), ("endingOffsets", 1)):
        offsets = {topic: {number: part[index] for number, part in each.items()} for topic, each in parts.items()}
        reader = reader.option(name, json.dumps(offsets))
    reader = reader.option("failOnDataLoss", fails_on_loss).option("maxRecordsPerPartition", _AT_ONCE)
    reader = reader.option("kafkaConsumer.pollTimeoutMs", options["default.api.timeout.ms"])
    reader = reader.option("includeHeaders", headers)
    return reader.options(**{f"kafka.{name}": value for name, value in options.items()}).load()


def _parts(job: Job, options: dict[str, str], topics: Topics) -> _Parts:
    """What is to be read of partitions that have messages. Refused where topics are not there, or messages of them."""
    found: _Parts = {}
    for topic, each in _limits(job, options, topics).items():
        limits = _begun(topics, each) if topics.offsets else each
        if parts := {number: (start, end) for number, (start, end) in limits.items() if 0 <= start < end}:
            found[topic] = parts
    return found


def _limits(job: Job, options: dict[str, str], topics: Topics) -> _Parts:
    """Of all partitions the offset of the oldest message, or of the first one of the time (-1: of none), and the one
    behind the newest.
    """
    java: Any = job.spark
    kafka = java._jvm.org.apache.kafka
    clients, specs = kafka.clients.admin, kafka.clients.admin.OffsetSpec
    committed = clients.ListOffsetsOptions(kafka.common.IsolationLevel.READ_COMMITTED)
    first = specs.earliest() if topics.start_us is None else specs.forTimestamp(max(0, topics.start_us // 1000))
    admin = clients.Admin.create(options)
    try:
        names = matched(topics.name, admin.listTopics().names().get()) if topics.pattern else [topics.name]
        if not names:
            raise refusal(unmatched(topics.name, options["bootstrap.servers"]))
        known = admin.describeTopics(names).allTopicNames().get()
        numbers = [(name, each.partition()) for name in names for each in known.get(name).partitions()]
        partitions = [kafka.common.TopicPartition(*each) for each in numbers]

        def offsets(spec: Any) -> list[int]:
            found = admin.listOffsets(dict.fromkeys(partitions, spec), committed).all().get()
            return [found.get(each).offset() for each in partitions]

        ends, starts = offsets(specs.latest()), offsets(first)
    finally:
        admin.close()
    limits: _Parts = {name: {} for name in names}
    for (name, number), start, end in zip(numbers, starts, ends, strict=True):
        limits[name][number] = start, end
    return limits


def _begun(topics: Topics, limits: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """The partitions of a topic, which begin with the offsets that are said. Refused where one is not there, unless the
    oldest will do.
    """
    offsets, errors = started(topics.name, topics.offsets, limits)
    for error in errors:
        if topics.lost == "fail":
            raise refusal(error)
        _log.warning(PASSED_OVER, error.message, error.detail)
    return limits | {number: (offset, limits[number][1]) for number, offset in offsets.items()}


# --- the connector ---------------------------------------------------------------------------------------------------

_fetching = Lock()


def know_kafka(job: Job) -> None:
    """Have Spark know its connector for Kafka, as `know_package` does."""
    know_package(job, _PACKAGE, "org.apache.spark.sql.kafka010.KafkaSourceProvider")


def know_package(job: Job, package: str, provider: str) -> None:
    """Have Spark know what a package of its own provides: it was started with it, or its Ivy fetches it once and keeps
    it. Refused where that fails. This thread, with which Spark plans, sees it from now on.
    """
    java: Any = job.spark
    loader = java._jsparkSession.sharedState().jarClassLoader()
    java._jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
    with _fetching:
        if loader.getResource(f"{provider.replace('.', '/')}.class") is not None:
            return
        said: list[str] = []
        for version in (job.spark.version, _OLDER):
            job.progress(0.0, f"fetching {package}:{version}")
            try:
                job.spark.sql(f'ADD JAR "ivy://{package}:{version}?exclude={_PRESENT}"')
                return
            except Exception as error:  # whatever Ivy and the network have to say
                said.append(_cause(str(error)))
        package = f"{package}:{job.spark.version}"
        hint = "see that the repository of packages is reached (a mirror is named in ~/.ivy2/ivysettings.xml), or "
        hint += f"start Spark with the package: spark-submit --packages {package}"
        raise Refused("GHCM-749", f"Spark cannot fetch its package {package}", said[0], hint)


def client_options(job: Job) -> dict[str, str]:
    """What clients in Java are opened with. Passwords and keys stand in it as they are: Spark neither logs nor shows
    the options of readers. Refused where there are no brokers, or a file is missing.
    """
    said: Mapping[str, str] = job.context.get("kafka") or {}
    if not said.get("bootstrap"):
        raise refusal(no_kafka())
    patience = str(int(float(job.context.get("patience") or _PATIENCE_S) * 1000))
    options = {
        "bootstrap.servers": said["bootstrap"],
        "security.protocol": said.get("security_protocol", "PLAINTEXT"),
        "isolation.level": "read_committed",
        "default.api.timeout.ms": patience,
        "request.timeout.ms": patience,
    }
    if mechanism := said.get("sasl_mechanism"):
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        user, password = (_in_quotes(said.get(name, "")) for name in ("username", "password"))
        login = f"org.apache.kafka.common.security.{kind}LoginModule required username={user} password={password};"
        options |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
    if "SSL" in options["security.protocol"]:
        options |= _certificates(said)
    return options


def _certificates(said: Mapping[str, str]) -> dict[str, str]:
    """The options for TLS. Files are read here: workers need not have them."""

    def read(name: str) -> str:
        try:
            return Path(said[name]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Refused("GHCM-739", f'{name} of [kafka], "{said[name]}", cannot be read') from None

    options: dict[str, str] = {}
    if "ca_file" in said:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": read("ca_file")}
    if "cert_file" in said:
        chain, key = read("cert_file"), read("key_file" if "key_file" in said else "cert_file")
        options |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
        options |= {"ssl.key.password": said["key_password"]} if "key_password" in said else {}
    return options


def _in_quotes(value: str) -> str:
    """A text as the options of a login module have it."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- what is wrong ---------------------------------------------------------------------------------------------------

_EXCEPTIONS = {
    "missing": "UnknownTopicOrPartition",
    "user": "SaslAuthentication|UnsupportedSaslMechanism|IllegalSaslState",
    "rights": "(?:Topic|Group|Cluster)Authorization",
    "tls": "SslAuthentication|InvalidConfiguration",
    "too large": "RecordTooLarge",
    "away": "Timeout|Disconnect|Network|BootstrapResolution",
}
"""What exceptions of Kafka mean, by their names."""
_LOSS = "may have been lost|KAFKA_DATA_LOSS|OffsetOutOfRange"
_AWAY = "Cannot fetch record for offset|No resolvable bootstrap"


@contextmanager
def explaining(brokers: str, topic: str) -> Generator[None]:
    """What clients of Kafka say, as a job says it."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "Py4JJavaError":
            raise
        raise refusal(kafka_trouble(str(error), brokers, topic)) from None


def unreadable_topic(job: Job, error: Exception) -> dict[str, str] | None:
    """What is wrong with a topic of the run, if that is why it has failed. Spark's driver does not always know the
    classes of a package that was fetched, and passes errors of Kafka on without a word: each topic is looked at.
    """
    said = str(error)
    if not re.search(r"UnknownReason|Kafka|kafka", said):
        return None
    for topic, (step, parts) in job.topics.items():
        try:
            _look(job, topic, parts)
            if re.search(_LOSS, said):
                raise refusal(gone(f'messages of topic "{topic}" that were to be read are gone', _cause(said)))
            if re.search(rf"{_AWAY}|org[.]apache[.]kafka[.][\w.]+Exception", said):
                brokers = client_options(job)["bootstrap.servers"]
                raise refusal(kafka_trouble(said, brokers, topic))
        except Refused as found:
            return {**found.parts, "task": step.task, "origin": step.origin}
    return None


def _look(job: Job, topic: str, parts: dict[int, tuple[int, int]]) -> None:
    """Refused where a topic cannot be asked, or no longer holds the messages that are to be read."""
    options = client_options(job)
    with explaining(options["bootstrap.servers"], topic):
        there = _parts(job, options, Topics(topic)).get(topic, {})
    for partition, (start, _) in parts.items():
        low, high = there.get(partition, (start, start))
        if not low <= start < high:
            detail = f"It holds offsets {low} to {high}." if high > low else "It holds none now."
            raise refusal(gone_from(topic, partition, start, detail))


def kafka_trouble(said: str, brokers: str, topic: str) -> GhcmError:
    """The error that an exception with all its causes means."""
    exceptions = {why: rf"org\.apache\.kafka\.[\w.]+\.(?:{names})Exception" for why, names in _EXCEPTIONS.items()}
    why = next((why for why, pattern in exceptions.items() if re.search(pattern, said)), "refused")
    return trouble("away" if re.search(_AWAY, said) else why, brokers, topic, _cause(said))


def _cause(said: str) -> str:
    """The innermost cause that the text of an exception of Java names, without its class."""
    found = re.findall(r"(?m)^(?:Caused by)?: (\S.*)$", said) or said.splitlines()[:1]
    return re.sub(r"^(?:[\w$]+\.)+[\w$]+(?:: )?", "", found[-1])
