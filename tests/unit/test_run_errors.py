"""Errors of a time when the program is no more at hand: they show its line, and keep all they say on their way."""

import errno
import json

import pytest

from ghcm.cli.failure import exit_code, failed_job
from ghcm.errors import GhcmError, suggest_file
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.runtime.pubsub.envelope import decode_feedback, encode, failure
from ghcm.runtime.spark.failure import spark_failure
from ghcm.source import Origin, SourceLine
from ghcm.spg.connectors import Files, Format
from ghcm.spg.graph import Forward, Input, Task, Unit
from ghcm.spg.ops import Source, To
from ghcm.types import Collection, Field, Int, Shape, Struct

ROWS = Collection(Shape.STREAM, Struct((Field("n", Int()),)), bounded=True)
LINE = '  rows = files("a.json").as(N)'
UNIT = Unit(
    "u",
    "stream",
    False,
    (),
    None,
    (
        Task("rows", Source(Files("a.json", Format("json"))), (), ROWS, Origin("p.istream", 12, 10)),
        Task("out.to", To("out"), (Input("rows", Forward()),), ROWS, Origin("p.istream", 13, 8)),
    ),
    Origin("p.istream", 11, 8),
)


def line(origin: Origin) -> str:
    return LINE if origin.line == 12 else ""


def test_the_line_of_the_program_is_shown() -> None:
    error = unit_failure(UNIT, "rows", GhcmError("no", code="GHCM-735", detail="D.", hint="h."), line)
    assert str(error).splitlines() == [
        'error[GHCM-735]: unit "u" has failed in "rows": no',
        "   --> p.istream:12:10",
        "    |",
        f" 12 | {LINE}",
        "    |          ^^^^^",
        "    = detail: D.",
        "    = hint: h.",
    ]


def test_a_line_that_is_not_known_leaves_the_place() -> None:
    error = unit_failure(UNIT, "out.to", GhcmError("no", code="GHCM-730"), line)
    assert str(error).splitlines() == ['error[GHCM-730]: unit "u" has failed in "out.to": no', "   --> p.istream:13:8"]
    assert unit_failure(UNIT, "dead", GhcmError("no")).place == SourceLine(UNIT.origin)


@pytest.mark.parametrize(
    ("number", "code", "hint"),
    [(errno.ENOSPC, "GHCM-731", "free some room"), (errno.EACCES, "GHCM-790", "let the user of this process")],
)
def test_what_the_system_refuses_is_named(number: int, code: str, hint: str) -> None:
    error = unit_failure(UNIT, "out.to", OSError(number, "refused so", "/data/x"))
    assert error.code == code
    assert '"/data/x": refused so' in error.message
    assert hint in error.hint


def test_an_error_is_the_same_behind_every_wire() -> None:
    error = unit_failure(UNIT, "rows", GhcmError("no é", code="GHCM-735", detail="D.", hint="h."), line)
    assert str(GhcmError.of(json.loads(json.dumps(error.document())))) == str(error)
    told = decode_feedback(encode(failure("c1", error))).error
    assert told is not None
    assert str(told.error) == str(error)


def test_a_job_that_failed_ends_with_1_whatever_its_code() -> None:
    error = GhcmError("no module", code="GHCM-612")
    assert exit_code(failed_job({"id": "j", "reason": "no module", "error": error.document()}, "")) == 1
    died = failed_job({"id": "j", "reason": "it died", "error": None}, "see the log.")
    assert (died.code, died.detail, died.hint) == ("GHCM-701", "It died.", "see the log.")


def test_what_spark_says_that_is_no_refusal_names_the_unit() -> None:
    error = spark_failure(UNIT, RuntimeError("\n[INTERNAL] x\n at y"), line)
    assert (error.code, error.message) == ("GHCM-751", 'unit "u" has failed on Spark: RuntimeError: [INTERNAL] x')
    assert error.place == SourceLine(UNIT.origin)


def test_files_that_share_only_their_ending_are_not_alike() -> None:
    assert suggest_file("fo.istream", ["wc.istream", "bo.istream.bak"]) == ""
    assert suggest_file("hostz.csv", ["hosts.parquet", "hosts.csv", "hosts.txt"]) == "hosts.csv"
