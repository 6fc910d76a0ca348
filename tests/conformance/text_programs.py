"""Programs in the language, run as they are written: reference, both native forms, and Spark have to agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.source import Source as Text
from ghcm.spg.graph import Program
from ghcm.spg.ops import ReadSink, Source
from ghcm.spg.reference import Result, run
from ghcm.spg.verify import verify
from ghcm.values import encode
from ghcm.verification.compare import differences
from tests.unit.runtime.operators.harness import Refusal, run_unit

__all__ = ["FORMS", "agrees_natively", "program_of"]

FORMS: tuple[Form, ...] = ("rows", "columns")
PROGRAMS = Path(__file__).parent / "programs"


def program_of(name: str, *, streaming: bool = False) -> Program:
    """The checked program of that file in `programs/`; `streaming`: with its unit as a stream unit, in which records
    may be late.
    """
    path = PROGRAMS / f"{name}.istream"
    text = path.read_text(encoding="utf-8")
    if streaming:
        text = text.replace("\nbatch u", "\nstream u").replace("mode = replace", "mode = append")
    program = lower(parse(Text(path.name, text)))
    assert verify(program) == []
    return program


def agrees_natively(
    program: Program, parameters: Mapping[str, object] | None = None, given: Mapping[str, Sequence[Row]] | None = None
) -> Result:
    """Assert that both native forms, optimised or not, leave what the reference leaves, which is given. `given`: the
    records that come in at a socket, or that lie in a sink, by the id of the task that reads them.
    """
    readers = {id: (program.unit("u").task(id), rows) for id, rows in (given or {}).items()}
    sinks = {task.op.sink: rows for task, rows in readers.values() if isinstance(task.op, ReadSink)}
    raw = {
        id: {"": "\n".join(encode(row, task.schema) for row in rows).encode()}
        for id, (task, rows) in readers.items()
        if isinstance(task.op, Source)
    }
    expected = run(program, "u", parameters=parameters, inputs=raw, sinks=sinks)
    inputs = {
        id: [Batch.from_rows(task.schema, rows[at : at + 3], partition=id) for at in range(0, len(rows), 3)]
        for id, (task, rows) in readers.items()
    }
    for each in (program, optimise(program).program):
        for form in FORMS:
            for refusal, restores in ((Refusal.NEVER, False), (Refusal.ONE_SLOT, True)):
                found = run_unit(
                    each, each.unit("u"), form, refusal=refusal, restores=restores, parameters=parameters, inputs=inputs
                )
                dead = [(letter.task, letter.reason.value, letter.input) for letter in found.letters]
                assert differences(program, expected, sinks=found.sinks, dead=dead) == [], (form, refusal)
    return expected
