"""Runs the program of a case on one engine and says in which rows it differs from what the source expects.

The text in the repository is a batch unit. The native engine runs it as a stream unit: the same text with the other
kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from ghcm.driver import build
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.contract import Form
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg import reference
from ghcm.spg.graph import Program
from ghcm.values import to_json
from tests.conformance.foreign.cases import Case
from tests.conformance.foreign.rows import cells, differences, line
from tests.conformance.spark_runs import run_on_spark
from tests.conformance.spark_sinks import read_sink
from tests.redis_server import connected
from tests.unit.runtime.small_operators import dead_letters

__all__ = ["compiled", "differs_natively", "differs_on_spark", "differs_on_the_reference", "streaming"]


def streaming(text: str) -> str:
    """The same program with its batch unit as a stream unit."""
    return re.sub(r"^batch ", "stream ", text, flags=re.MULTILINE)


def compiled(path: Path) -> Program:
    """The checked program of a file."""
    return lower(parse(Source(path.name, path.read_text(encoding="utf-8"))))


def differs_on_the_reference(path: Path, case: Case, folder: Path) -> list[str]:
    """What the reference gives otherwise."""
    _lay_out(case, folder)
    program = compiled(path)
    done = reference.run(program, program.units[0].name, base=folder)
    dead = [f"dead letter {letter.reason.value}: {letter.input}" for letter in done.dead]
    return (dead if len(dead) != case.dead else []) + _differences(program, case, done.sinks.get("result", []))


def differs_natively(path: Path, case: Case, folder: Path, form: Form) -> list[str]:
    """What the native engine gives otherwise in one of its forms."""
    _lay_out(case, folder)
    text = folder / path.name
    text.write_text(streaming(path.read_text(encoding="utf-8")), encoding="utf-8")
    bundle = Bundle.open(build(text, folder / "case.ghcm"), cache=folder / "bundles")
    Engine(bundle, connections=connected(folder), state=folder / "state", form=form).run()
    letters = dead_letters(folder, bundle.plan, bundle.plan.units[0].name)
    dead = [f"dead letter {letter.reason.value}: {letter.input}" for letter in letters]
    found = _differences(bundle.plan, case, read_sink(folder, bundle.plan.sink("result")))
    return (dead if len(dead) != case.dead else []) + found


def differs_on_spark(spark: SparkSession, path: Path, case: Case, folder: Path) -> list[str]:
    """What the generated Spark job gives otherwise."""
    _lay_out(case, folder)
    program = compiled(path)
    done = run_on_spark(spark, program, program.units[0].name, folder)
    dead = [f"dead letter {reason}: {input_}" for _task, reason, input_ in done.dead]
    found = _differences(program, case, read_sink(folder, program.sink("result")))
    return (dead if len(dead) != case.dead else []) + found


def _lay_out(case: Case, folder: Path) -> None:
    """Put the inputs where the program looks for them."""
    for name, content in case.inputs.items():
        place = folder / name
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.symlink_to(content)


def _differences(program: Program, case: Case, found: Sequence[object]) -> list[str]:
    element = program.sink("result").element
    kinds = {type(row) for row in case.expected}
    if kinds == {dict}:
        return differences(case.expected, [to_json(row, element) for row in found])
    rows = [cells(row, element) for row in found]
    return differences(case.expected, map(line, rows) if kinds == {str} else rows, loose=case.loose)
