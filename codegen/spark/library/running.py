"""The run of a unit: its parameters, its steps, its dead letters, and what came of it."""

import argparse
import json
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ghcm.codegen.spark.library.hadoop import share_connection
from ghcm.codegen.spark.library.job import Failures, Job, Refused, Step, refusal
from ghcm.codegen.spark.library.servers.redis_sinks import redis_client, redis_url
from ghcm.codegen.spark.library.servers.topics import unreadable_topic
from ghcm.codegen.spark.library.sql import constant, name_anew, text
from ghcm.codegen.spark.library.tables.writing import staged, table_at
from ghcm.codegen.spark.library.tallies import Tally
from ghcm.codegen.spark.library.types import ddl, plain_type, type_of, unplain
from ghcm.fence import hold
from ghcm.formats.files import UNREADABLE, open_lines, packed, unreadable
from ghcm.places import place
from ghcm.tables.versions import DataFile
from ghcm.values import compact, encoder, from_json

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variant.allowDuplicateKeys": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.files.maxPartitionBytes": "134217728",
    "spark.sql.files.openCostInBytes": "134217728",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.redaction.options.regex": "(?i)url|sasl|ssl",
    "spark.sql.variable.substitute": "false",
}
"""What steps count on: failing expressions give null, every file is read in pieces that are known, no plan shows
passwords and keys of writers, and names with `${` stay as they are.
"""


@dataclass(frozen=True)
class Unit:
    """A unit of a program: its parameters, its steps, and the file of its job."""

    program: str
    name: str
    parameters: StructType
    steps: Callable[[Job], None]
    file: str

    def run(self, spark: SparkSession, parameters: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        """Run the unit once. `context`: `call` (id of the run), `base` (folder of relative paths), `redis` (URL),
        `sql` (URLs of databases by name), `kafka` (its brokers and how they are spoken to, as in `[kafka]`), `patience`
        (seconds for which these are waited for), `dead` (folder for failing records), `versions` (of sinks to read),
        `progress` (told a share of 1 and what is done), `fence` (asked before anything is written). Refused (a
        ValueError) where parameters or files do not fit. Gives sinks with version and rows, rows in all, dead letters,
        reply, calls to send.
        """
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        share_connection(spark)
        name_anew()
        job = Job(spark, self.name, self.file, {"call": uuid.uuid4().hex, "base": ".", **context})
        job.given = read_parameters(self, parameters)
        try:
            self.steps(job)
            keep_reply(job)
            return end(job)
        except Exception as error:
            raise refused(job, error) from error
        finally:
            release(job)

    def main(self) -> None:
        """Run the unit as its own program, under spark-submit or plain Python."""
        told = f'The Spark job of the unit "{self.name}" of the program "{self.program}".'
        options = argparse.ArgumentParser(description=told)
        options.add_argument("--parameters", type=json.loads, default={}, help="the parameters as a JSON object")
        options.add_argument("--base", default=".", help="the folder that relative paths start from")
        told = "the URL of Redis, where the job needs one; one with a password belongs into GHCM_REDIS"
        options.add_argument("--redis", default=os.environ.get("GHCM_REDIS"), help=told)
        repeated = "the id of this run; a repeated id writes nothing twice"
        options.add_argument("--call", default=uuid.uuid4().hex, help=repeated)
        options.add_argument("--dead", help="the folder for records that fail; without it they are printed")
        given = vars(options.parse_args())
        given["sql"] = of_environment("GHCM_SQL_")
        given["kafka"] = of_environment("GHCM_KAFKA_") | {"bootstrap": os.environ.get("GHCM_KAFKA", "")}
        parameters = given.pop("parameters")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        spark = SparkSession.builder.appName(f"{self.program}.{self.name}").getOrCreate()
        spark.sparkContext.setLogLevel("WARN")
        try:
            print(json.dumps(self.run(spark, parameters, given), ensure_ascii=False))
        except Refused as error:
            sys.exit(error_text(error.parts))
        finally:
            spark.stop()


def of_environment(prefix: str) -> dict[str, str]:
    """What variables say whose names begin like this, by the rest of their names."""
    return {name.removeprefix(prefix).lower(): value for name, value in os.environ.items() if name.startswith(prefix)}


def write_letters(job: Job) -> int:
    """Write the dead letters of this run, if there are any, as one version of their table; how many."""
    folder, version = job.context.get("dead"), job.context["call"]
    table = None if folder is None else table_at(folder, "json")
    done = None if table is None else table.committed(version)
    if done is not None:
        return done.rows
    failed = steps_with_failures(job)
    if not failed:
        return 0
    job.progress(0.95, "writing dead letters")
    lines = (line for each in failed for line in letter_lines(job, each))
    if folder is None or table is None:
        return sum(1 for line in lines if print(line, file=sys.stderr) is None)
    with staged(folder, version) as staging:
        count = 0
        with open(os.path.join(str(staging), "part-0.json"), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        if count:
            table.publish(version, "append", staging, [DataFile("part-0.json", count)], job.unit)
    return count


def steps_with_failures(job: Job) -> list[Failures]:
    """The steps in which records failed, or may have: where the count does not come, the letters themselves tell."""
    return [each for each in job.failures if may_have_failed(job, each)]


def may_have_failed(job: Job, failures: Failures) -> bool:
    """Whether records failed in a step, or may have: where Spark did not make its rows, as an earlier attempt has
    written them, as none were asked for, as a join found nothing on the other side, or as Catalyst has left out what
    stands ahead of a filter that is false for all.
    """
    counted = failures.counted
    if isinstance(counted, Tally) and counted.count is None:
        return failures.unmade or job.repeated or not any(map(counted.is_asked_by, job.asked))
    return counted is None or counted.count != 0


def letter_lines(job: Job, failed: Failures) -> Iterator[str]:
    """Dead letters as lines of JSON; the record in them is JSON text, or the raw text that could not be read. It may be
    one for a null where none may be.
    """
    if failed.steps:
        yield from step_letter_lines(job, failed)
        return
    encode = None if failed.input is None else encoder(type_of(failed.input, nullable=True, loose=True))
    for row in failed.letters().toLocalIterator():
        letter = row.asDict(recursive=False)
        yield compact(letter if encode is None else letter | {"input": encode(letter["input"])})


def step_letter_lines(job: Job, failed: Failures) -> Iterator[str]:
    """Dead letters of steps that run as one: those that came with their count, where these are all."""
    encoders = [encoder(type_of(each.input, nullable=True, loose=True)) for each in failed.steps]
    found = collected_letters(failed)
    for row in failed.letters().toLocalIterator() if found is None else found:
        at, error = row["error"].split(" ", 1) if len(failed.steps) > 1 else (0, row["error"])
        reason, _, detail = error.partition(": ")
        step, encode = failed.steps[int(at)], encoders[int(at)]
        letter = {"unit": job.unit, "task": step.task, "reason": reason, "detail": detail[:4000]}
        yield compact(letter | {"input": encode(row[f"input_{at}"]), "origin": step.origin})


def collected_letters(failed: Failures) -> list[Any] | None:
    """The failing records that came with their count; None where there are more, or may be behind a join that left rows
    unmade. What a task that ran again has sent again counts once.
    """
    rows = None if failed.unmade else collected_rows(failed)
    return None if rows is None else list({each["row"]: each for each in reversed(rows.collect())}.values())


def collected_rows(failed: Failures) -> DataFrame | None:
    """The failing records that came with their count, some of them perhaps twice; None where there are more."""
    tally = failed.counted
    if not isinstance(tally, Tally) or not tally.count or failed.collected is None:
        return None
    return tally.collected(failed.collected)


def read_parameters(unit: Unit, given: dict[str, Any]) -> dict[str, str]:
    """The parameters as constants in SQL; Refused says what is wrong with them."""
    unknown = [name for name in given if name not in unit.parameters.fieldNames()]
    if unknown:
        raise cannot_call(unit, f'it has no parameter "{unknown[0]}"')
    values: dict[str, str] = {}
    for part in unit.parameters.fields:
        if part.name not in given and "default" not in part.metadata:
            raise cannot_call(unit, f'parameter "{part.name}" is missing')
        data = given.get(part.name, part.metadata.get("default"))
        try:
            value = plain_literal(from_json(data, type_of(part.dataType, nullable=part.nullable)), part.dataType)
            values[part.name] = unplain(f"cast({value} AS {ddl(plain_type(part.dataType))})", part.dataType)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise cannot_call(unit, f'parameter "{part.name}": {error}') from None
    return values


def cannot_call(unit: Unit, what: str) -> Refused:
    """What is wrong with the parameters of a call."""
    known = ", ".join(f'"{name}"' for name in unit.parameters.fieldNames())
    return Refused(
        "GHCM-320",
        f'cannot call unit "{unit.name}": {what}',
        f"Its parameters are {known}." if known else "It has none.",
    )


def plain_literal(value: Any, type_: DataType) -> str:
    """A plain value as a constant."""
    if value is None:
        return "NULL"
    match type_:
        case ArrayType():
            return f"array({', '.join(plain_literal(each, type_.elementType) for each in value)})"
        case MapType():
            pairs = ((plain_literal(k, type_.keyType), plain_literal(v, type_.valueType)) for k, v in value.items())
            return f"map({', '.join(each for pair in pairs for each in pair)})"
        case StructType():
            parts = zip(type_.fields, value, strict=True)
            return (
                f"named_struct({', '.join(f'{text(p.name)}, {plain_literal(each, p.dataType)}' for p, each in parts)})"
            )
        case _:
            return constant(value)


def end(job: Job) -> dict[str, Any]:
    """Write what failed, do what was left to the end, give back what was held, and say what was done."""
    try:
        dead = write_letters(job)
        for do in job.later:
            do()
    finally:
        release(job)
    rows = sum(sink["rows"] for sink in job.sinks.values()) + len(job.replied or ())
    reply = None if job.replied is None else [json.loads(line) for line in job.replied]
    counts = {"rows": rows, "dead": dead, "rounds": job.rounds}
    return {"sinks": job.sinks, "reply": reply, "calls": job.calls, **counts}


def release(job: Job) -> None:
    """Give back the rows that were held."""
    for rows in job.kept:
        rows.unpersist()
    for give_back in job.left:
        give_back()
    job.kept.clear()
    job.left.clear()


def error_text(parts: dict[str, str]) -> str:
    """An error as people read it."""
    lines = [f"error[{parts['code']}]: {parts['message']}"]
    lines += [f" --> {parts['origin']}"] if parts.get("origin") else []
    return "\n".join([*lines, *(f"  = {name}: {parts[name]}" for name in ("detail", "hint") if parts[name])])


def keep_reply(job: Job) -> None:
    """Put the reply where the caller looks for it, in records."""
    if job.replied is not None and job.context.get("redis"):
        rows = ",".join(f'{{"value":{each}}}' if job.alone else each for each in job.replied)
        kept = round(job.context.get("kept", 600) * 1000)
        hold(job.fence)
        redis_client(redis_url(job)).set(f"ghcm:reply:{job.context['call']}", f"[{rows}]", px=kept)


def refused(job: Job, error: Exception) -> Exception:
    """The error as one that says where in the program it is and what to do, if that is known."""
    found = re.search(r'(?m)^[{]"code": "GHCM-.*[}]$', str(error))
    parts: dict[str, str] | None
    if isinstance(error, Refused):
        parts = error.parts
    elif found:
        parts = json.loads(found[0])
    else:
        parts = refused_by_redis(job, error) or unreadable_topic(job, error) or first_unreadable(job)
    if parts is None:
        return error
    at, _ = job.reading.get(parts.get("file", ""), (job.at, ""))
    where = {"task": at.task, "origin": at.origin} if isinstance(at, Step) else {"sink": at.sink} if at else {}
    return Refused(**{**where, **parts})


def first_unreadable(job: Job) -> dict[str, str] | None:
    """What is wrong with the first file of the run that cannot be read, if one cannot."""
    for file, (_, compression) in job.reading.items():
        path = place(Path(), job.where(file))
        try:
            with open_lines(path, compression) as lines:
                while lines.read(1 << 20) and packed(path.suffix, compression) != "none":
                    pass
        except UNREADABLE as error:
            return refusal(unreadable(file, error), file=file).parts
    return None


_OF_REDIS = re.compile(r"redis\.exceptions\.(\w+): ([^\n]*)")
_PASSING = {"BusyLoadingError", "ReadOnlyError", "TryAgainError", "ClusterDownError", "MasterDownError"}


def refused_by_redis(job: Job, error: Exception) -> dict[str, str] | None:
    """What Redis has against it, if that is why: here or in a Python worker of Spark, whose error is a text."""
    kind, said = type(error).__name__, str(error)
    if not type(error).__module__.startswith("redis."):
        found = _OF_REDIS.search(said)
        if found is None:
            return None
        kind, said = found.groups()
    server = f"Redis at {str(job.context.get('redis')).rpartition('@')[2]}"
    if kind == "AuthenticationError":
        hint = "put user and password into GHCM_REDIS: redis://user:password@host:port/0"
        return Refused("GHCM-720", f"{server} refuses the password", "", hint).parts
    if kind in ("ConnectionError", "TimeoutError"):
        hint = 'start it, correct GHCM_REDIS, or set redis = "embedded" for a private server.'
        return Refused("GHCM-720", f"{server} cannot be reached", f"{said}.", hint).parts
    if kind in _PASSING or re.search(r"(?:^|: )-?(?:BUSY|NOREPLICAS) ", said):
        return Refused("GHCM-720", f"{server} takes nothing now", f"{said}.", "its log has the reason.").parts
    if kind == "OutOfMemoryError" or "OOM" in said:
        hint = "raise maxmemory of the Redis server, or let sinks hold less."
        return Refused("GHCM-731", f"{server} is out of memory", f"{said}.", hint).parts
    if "MISCONF" in said:
        hint = "free some room on the disk of the Redis server, or see its log."
        return Refused("GHCM-731", f"{server} cannot write to its disk", f"{said}.", hint).parts
    return Refused("GHCM-721", f"{server} refused a command", f"{said}.").parts
