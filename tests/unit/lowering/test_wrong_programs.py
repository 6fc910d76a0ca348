"""Wrong programs and what is said about them: one golden file for each kind of mistake, in both front ends."""

import re
from pathlib import Path

import pytest

from ghcm.errors import ProgramError
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.lowering.codes import Code
from ghcm.source import Source
from tests.conftest import Golden

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "errors"
PROGRAMS = sorted(FOLDER.glob("*.istream"))


def said_about(path: Path) -> str:
    source = Source(path.name, path.read_text(encoding="utf-8"))
    with pytest.raises(ProgramError) as refused:
        lower(parse(source))
    return f"{refused.value}\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_wrong_program_is_explained(path: Path, golden: Golden) -> None:
    golden(path.with_suffix(".txt"), said_about(path))


def test_every_kind_of_mistake_has_a_program() -> None:
    shown = {code for path in FOLDER.glob("*.txt") for code in re.findall(r"error\[(GHCM-\d+)\]", path.read_text())}
    assert [code.name for code in Code if code.value not in shown] == []


def test_every_mistake_of_a_program_is_told_at_once() -> None:
    program = parse(Source("ten.istream", (FOLDER / "ten_mistakes.istream").read_text()))
    with pytest.raises(ProgramError) as refused:
        lower(program)
    assert len(refused.value.diagnostics) == 10
