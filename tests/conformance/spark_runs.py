"""Runs a batch unit on Spark and in the reference, and compares what a user would see: rows, dead letters, calls."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.sql import SparkSession

from ghcm.codegen.engines import emit
from ghcm.codegen.spark import SPARK
from ghcm.codegen.spark.packing import PACKAGE, library_zip
from ghcm.runtime.bundle import job_library
from ghcm.spg import reference
from ghcm.spg.graph import Program
from ghcm.spg.ops import Reply
from ghcm.types import Type
from ghcm.values import from_json, to_json
from ghcm.verification.compare import compare_rows

__all__ = ["Outcome", "agree", "instructions", "load_job", "reply_element", "run_on_spark", "start_spark"]


def start_spark() -> SparkSession:
    """A session as the driver has it."""
    options = {
        "spark.driver.memory": "4g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.sql.ui.retainedExecutions": "5",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.host": "localhost",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": "/tmp/ghcm-spark-warehouse",
        "spark.sql.parser.manageParserCaches": "true",
        "spark.sql.parser.parserDfaCacheFlushRatio": "10",
        "spark.buffer.pageSize": "2m",
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("conformance")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: reply and instructions as JSON data, dead letters as (task, reason, input)."""

    reply: list[object]
    dead: list[tuple[str, str, str]]
    calls: list[tuple[str, str, str]]
    result: Mapping[str, Any]


def load_job(text: str, folder: Path) -> ModuleType:
    """The generated job as a module in `<folder>/spark/`."""
    path = folder / "spark" / "job.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (path.parent / f"{PACKAGE}.zip").write_bytes(library_zip())
    module = ModuleType(f"job_{uuid.uuid4().hex}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    with job_library(path.parent):  # no import: what is kept of one is told from the next by its second and its size
        exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def run_on_spark(
    spark: SparkSession,
    program: Program,
    unit: str,
    folder: Path,
    parameters: Mapping[str, object] | None = None,
    **context: object,
) -> Outcome:
    """Generate the job, run it in the session, and read its dead letters back."""
    module = load_job(emit(SPARK, program, program.unit(unit)).module, folder)
    dead = folder / f"dead-{uuid.uuid4().hex}"
    given = {"call": uuid.uuid4().hex, "base": str(folder), "dead": str(dead), **context}
    types = {each.name: each.type for each in program.unit(unit).parameters}
    data = {name: to_json(value, types[name]) for name, value in (parameters or {}).items()}
    result = module.run(spark, data, given)
    lines = [line for path in dead.glob("part-*") for line in path.read_text(encoding="utf-8").split("\n") if line]
    letters = [json.loads(line) for line in lines]
    assert result["dead"] == len(letters)
    calls = [(each["task"], each["unit"], _text(each["parameters"])) for each in result["calls"]]
    return Outcome(
        result["reply"] or [], sorted((each["task"], each["reason"], each["input"]) for each in letters), calls, result
    )


def run_in_reference(
    program: Program, unit: str, folder: Path, parameters: Mapping[str, object] | None, **outside: Any
) -> Outcome:
    """The same of the reference."""
    done = reference.run(program, unit, parameters=parameters, base=folder, **outside)
    dead = sorted((each.task, each.reason.value, each.input) for each in done.dead)
    return Outcome(
        list(done.reply or []),
        dead,
        instructions(program, done),
        {"sinks": done.sinks, "magnitude": done.magnitude, "inexact": done.inexact},
    )


def instructions(program: Program, done: reference.Result) -> list[tuple[str, str, str]]:
    """The instructions of the reference as (task, unit, JSON of the parameters)."""
    calls: list[tuple[str, str, str]] = []
    for each in done.instructions:
        types = {parameter.name: parameter.type for parameter in program.unit(each.unit).parameters}
        data = {name: to_json(value, types[name]) for name, value in each.arguments.items()}
        calls.append((each.task, each.unit, _text(data)))
    return calls


def agree(
    spark: SparkSession,
    program: Program,
    unit: str,
    folder: Path,
    parameters: Mapping[str, object] | None = None,
    *,
    ordered: bool = False,
    sinks: Mapping[str, Sequence[object]] | None = None,
    **context: object,
) -> Outcome:
    """Assert that Spark and the reference give the same; the outcome on Spark."""
    element = reply_element(program, unit)
    there = run_on_spark(spark, program, unit, folder, parameters, **context)
    here = run_in_reference(program, unit, folder, parameters, sinks=sinks)
    surplus = [each for each in there.dead if each not in here.dead][:20]
    missing = [each for each in here.dead if each not in there.dead][:20]
    assert there.dead == here.dead, f"dead letters: surplus {surplus}, missing {missing}"
    assert there.calls == here.calls
    if element is not None:
        reply = [from_json(each, element) for each in there.reply]
        differ = compare_rows(
            here.reply, reply, element, here.result["magnitude"], ordered=ordered, inexact=here.result["inexact"]
        )
        assert not differ, "\n".join([f"{len(differ)} rows differ", *differ[:30]])
    return there


def reply_element(program: Program, unit: str) -> Type | None:
    """The type of the records that the unit replies with."""
    for task in program.unit(unit).tasks:
        if isinstance(task.op, Reply):
            return program.unit(unit).task(task.inputs[0].producer).collection.element
    return None


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True)
