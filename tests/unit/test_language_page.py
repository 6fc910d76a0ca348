"""The pages about the language and Kafka: their programs are programs, and what one says of sinks is in the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ghcm.driver import check
from ghcm.lowering.types import BUILT_IN
from ghcm.spg.sinks import SINKS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "language.md").read_text(encoding="utf-8")
KAFKA = (DOCS / "kafka.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```istream\n(.*?)```", PAGE + KAFKA, re.DOTALL)


@pytest.mark.parametrize("text", PROGRAMS, ids=lambda text: text.split()[1])
def test_a_program_of_the_page_is_right(text: str, tmp_path: Path) -> None:
    written = tmp_path / "shown.istream"
    written.write_text(text, encoding="utf-8")
    assert check(written).name == text.split()[1]


def test_the_page_names_every_type_and_every_sink_that_runs() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    named = {word for row in rows for word in re.findall(r"\w+", row)}
    assert set(BUILT_IN) <= named
    assert set(SINKS) <= named
