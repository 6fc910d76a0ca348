"""What the optimiser makes of programs, and what it says about it: each `.spg` beside its `.out`."""

from pathlib import Path

import pytest

from ghcm.optimizer import optimise
from ghcm.spg.text import parse_program, print_program
from tests.conftest import Golden

CASES = sorted((Path(__file__).parent / "optimiser").glob("*.spg"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_optimiser(path: Path, golden: Golden) -> None:
    result = optimise(parse_program(path.read_text(encoding="utf-8")))
    calls = [f"# {each.unit}: {each.calls_before} calls, {each.calls_after} tasks" for each in result.summaries]
    golden(path.with_suffix(".out"), "\n".join([print_program(result.program), *map(str, result.remarks), *calls, ""]))
