"""What users' functions give that no value of the type is: a dead letter of that record, on every engine."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from tests.conformance.live_runs import Compiled
from tests.conformance.spark_sinks import differences_on_spark
from tests.conformance.text_programs import PROGRAMS, agrees_natively, program_of
from tests.redis_server import connected


def test_the_native_forms_refuse_them() -> None:
    expected = agrees_natively(program_of("wrong_results"))
    found = Counter((letter.task.split("/")[0], letter.reason.value) for letter in expected.dead)
    wrong = {"cents": 4, "took": 4, "names": 3, "shares": 2, "many": 4}
    assert found == {**{(name, "wrong_result"): count for name, count in wrong.items()}, ("raised", "python"): 3}


def test_the_native_engine_writes_what_was_raised(tmp_path: Path) -> None:
    text = (PROGRAMS / "wrong_results.istream").read_text(encoding="utf-8").replace("batch u", "stream u")
    program = lower(parse(Source("wrong_results.istream", text)))
    Engine(Compiled(program), connections=connected(tmp_path), state=tmp_path / "state").run()
    letters = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("state/**/*.json"))
    assert letters.count(r"ValueError: caf\\udce9") == 3


@pytest.mark.slow
def test_spark_refuses_them(spark: SparkSession) -> None:
    assert differences_on_spark(spark, program_of("wrong_results")) == []
