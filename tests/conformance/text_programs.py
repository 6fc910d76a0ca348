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
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import Result, run
from ghcm.spg.verify import verify
from ghcm.values import encode
from tests.conformance.compare import differences
from tests.unit.runtime.operators.harness import Refusal, run_unit

__all__ = ["FORMS", "agrees_natively", "program_of"]

FORMS: tuple[Form, ...] = ("rows", "columns")
PROGRAMS = Path(__file__).parent / "programs"


def program_of(name: str) -> Program:
    """The checked program of that file in `programs/`."""
    path = PROGRAMS / f"{name}.istream"
    program = lower(parse(Source(path.name, path.read_text(encoding="utf-8"))))
    assert verify(program) == []
    return program


def agrees_natively(
    program: Program, parameters: Mapping[str, object] | None = None, sockets: Mapping[str, Sequence[Row]] | None = None
) -> Result:
    """Assert that both native forms, optimised or not, leave what the reference leaves, which is given. `sockets`: the
    records that come in at a source by its id.
    """
    given = {id: (program.unit("u").task(id).schema, rows) for id, rows in (sockets or {}).items()}
    raw = {id: {"": "\n".join(encode(row, schema) for row in rows).encode()} for id, (schema, rows) in given.items()}
    expected = run(program, "u", parameters=parameters, inputs=raw)
    inputs = {
        id: [Batch.from_rows(schema, rows[start : start + 3]) for start in range(0, len(rows), 3)]
        for id, (schema, rows) in given.items()
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
