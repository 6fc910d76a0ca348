"""What the optimiser makes of programs, and what it says about it: each `.spg` beside its `.out`."""

from pathlib import Path

import pytest

from ghcm.optimizer import Pass, broken_claims, optimise
from ghcm.spg.graph import Program
from ghcm.spg.text import parse_program, print_program
from tests.conftest import Golden

CASES = sorted((Path(__file__).parent / "optimiser").glob("*.spg"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_optimiser(path: Path, golden: Golden) -> None:
    def sound(behind: Pass, program: Program) -> None:
        assert list(broken_claims(behind, program)) == [], f"behind {behind.name}"

    result = optimise(parse_program(path.read_text(encoding="utf-8")), after_pass=sound)
    calls = [f"# {each.unit}: {each.calls_before} calls, {each.calls_after} tasks" for each in result.summaries]
    golden(path.with_suffix(".out"), "\n".join([print_program(result.program), *map(str, result.remarks), *calls, ""]))
