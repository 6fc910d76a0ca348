"""Wrong programs and what is said about them: one golden file for each kind of mistake, in both front ends."""

import re
from pathlib import Path

import pytest

from ghcm.codes import Code
from ghcm.errors import ProgramError
from ghcm.language.loading import load
from ghcm.lowering import lower
from tests.conftest import Golden

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "errors"
PROGRAMS = [*sorted(FOLDER.glob("*.istream")), *sorted(FOLDER.glob("*.python"))]


def refusal(path: Path, folder: Path) -> ProgramError:
    """What a program is refused with. It is read from another folder, where a Python program has its own suffix."""
    copy = folder / path.name.replace(".python", ".py")
    copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ProgramError) as refused:
        lower(load(copy))
    return refused.value


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_wrong_program_is_explained(path: Path, tmp_path: Path, golden: Golden) -> None:
    golden(path.with_suffix(".txt"), f"{refusal(path, tmp_path)}\n".replace(f"{tmp_path}/", ""))


def test_every_kind_of_mistake_has_a_program() -> None:
    shown = {code for path in FOLDER.glob("*.txt") for code in re.findall(r"error\[(GHCM-\d+)\]", path.read_text())}
    assert [code.name for code in Code if code.value not in shown] == []


def test_every_mistake_of_a_program_is_told_at_once(tmp_path: Path) -> None:
    assert len(refusal(FOLDER / "ten_mistakes.istream", tmp_path).diagnostics) == 10


def test_a_mistake_in_a_python_lambda_points_at_its_line(tmp_path: Path) -> None:
    (found,) = refusal(FOLDER / "python_api_field_unknown.python", tmp_path).diagnostics
    assert found.span is not None
    assert found.span.source.text[found.span.start : found.span.end] == "byte"
