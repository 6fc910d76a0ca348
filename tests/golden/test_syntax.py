"""Wrong programs of both front ends, one kind of mistake each, and what their authors are told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ghcm.errors import ProgramError
from ghcm.language import load
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source

CASES = Path(__file__).parent / "syntax"


@pytest.mark.parametrize("case", sorted(CASES.glob("text/*.istream")), ids=lambda path: path.stem)
def test_text(case: Path, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(Source(case.name, case.read_text(encoding="utf-8")))
    golden(case.with_suffix(".txt"), f"{caught.value}\n")


@pytest.mark.parametrize("case", sorted(CASES.glob("python/*.program")), ids=lambda path: path.stem)
def test_python(
    case: Path, golden: Callable[[Path, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.py").write_text(case.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(ProgramError) as caught:
        lower(load(Path("wrong.py")))
    golden(case.with_suffix(".txt"), f"{caught.value}\n")
