"""Spark as the compiler sees it: what no batch job can read or write, and the job of a unit.

What an expression cannot do inside of a function of items is found where it is written out (GHCM-525).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from ghcm.codegen.backend import Artifact
from ghcm.codegen.spark.job import generate
from ghcm.codegen.spark.packing import PACKAGE, library_zip
from ghcm.spg.connectors import (
    Connector,
    Files,
    Generate,
    Kafka,
    Memory,
    Socket,
    SourceConnector,
    SqlQuery,
    Table,
    unreadable,
)
from ghcm.spg.graph import Program, Sink, Task, Unit
from ghcm.spg.ops import ArrivalTime, Lookup, ReadSink, ReadTable, Source, To
from ghcm.spg.sinks import SINKS, modes_of
from ghcm.support import YES, Engine, Never, NotYet, Support


@dataclass(frozen=True, slots=True)
class Spark:
    """Runs batch units, as jobs that plain `spark-submit` takes."""

    name: str = "spark"
    requirements: tuple[str, ...] = ("pyspark[sql]>=4.3,<5",)

    @property
    def shared(self) -> Mapping[str, bytes]:
        """The library that jobs import."""
        return {f"{self.name}/{PACKAGE}.zip": library_zip()}

    def supports(self, program: Program, unit: Unit, task: Task) -> Support:
        """Any row or group operation; not every way in and out."""
        match task.op:
            case Source(connector=connector):
                why, hint = _endless(connector), 'make it a "stream" unit.'
                return Never(f'"{task.id}" {why}: no batch unit can', code="GHCM-521", hint=hint) if why else YES
            case ReadTable(task=table):
                reason = f'"{task.id}" reads the table "{table}" in a batch unit, which Spark cannot yet'
                return NotYet(reason, code="GHCM-520", hint="write the table to a sink and read that.")
            case ArrivalTime():
                return Never(f'"{task.id}" goes by the clock, and a batch job has none', code="GHCM-520")
            case Lookup():
                reason = f'"{task.id}" asks a service for each record, which Spark would ask again for each attempt'
                hint = "engine = native runs it; or read what the service has as a source, and join it."
                return Never(reason, code="GHCM-520", hint=hint)
            case ReadSink(sink=name):
                return _reads(program.sink(name))
            case To(sink=name):
                return _writes(program.sink(name))
            case _:  # it has all that stays inside of a unit
                return YES

    def emit(self, program: Program, unit: Unit) -> Artifact:
        """The job."""
        return Artifact(generate(program, unit))


def _endless(connector: Connector) -> str:
    """Why a job cannot read from there; empty where it can."""
    if not isinstance(connector, SourceConnector):
        return f"cannot read from {connector.word} as a source"
    match connector:
        case Files(tail=True):
            return "reads files as they grow"
        case Files(follow=True):
            return "waits for files that come"
        case Table(follow=True):
            return "waits for commits that come"
        case Generate(rows=None):
            return "generates records without end"
        case Kafka(ends=False):
            return "waits for messages that come"
        case Files() | Table() | Memory() | Generate() | SqlQuery() | Kafka():
            return ""
        case Socket():
            return "reads from socket"
        case _:
            assert_never(connector)


def _reads(sink: Sink) -> Support:
    if why := unreadable(sink.connector):
        return Never(f'sink "{sink.name}" cannot be read: {why}', code="GHCM-522")
    return YES if _known(sink) else NotYet(f'Spark cannot read the sink "{sink.name}"', code="GHCM-522")


def _writes(sink: Sink) -> Support:
    kind, _ = sink.connector.address
    if not _known(sink):
        reason = f'Spark cannot write the sink "{sink.name}" yet'
        return NotYet(reason, code="GHCM-523", hint="engine = native runs it.")
    if sink.mode in SINKS[sink.connector.word].keyed and sink.key is None:
        return Never(f'the sink "{sink.name}" on {kind.capitalize()} needs a key', code="GHCM-524")
    if sink.mode not in modes_of(sink.connector):
        return Never(f'the sink "{sink.name}" holds files, which cannot be upserted', code="GHCM-524")
    if isinstance(sink.connector, Kafka) and sink.connector.delivery == "exactly_once":
        hint = "say delivery = at_least_once; or engine = native writes it so."
        reason = f'Spark cannot write each record once to the topic of the sink "{sink.name}"'
        return Never(reason, code="GHCM-523", hint=hint)
    return YES


def _known(sink: Sink) -> bool:
    facts = SINKS.get(sink.connector.word)
    return facts is not None and Engine.SPARK in facts.engines


SPARK = Spark()
