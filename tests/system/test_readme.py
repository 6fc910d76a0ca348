"""The README's program does what the README says."""

import re
from pathlib import Path

import pytest

from tests.system.running import ghcm

README = Path(__file__).resolve().parent.parent.parent / "README.md"


def blocks(kind: str) -> list[str]:
    """The code blocks of a kind."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    return [text for word, text in found if word == kind]


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_first_program_prints_what_is_shown(tmp_path: Path) -> None:
    assert ghcm("init", "--name", "visits", cwd=tmp_path).returncode == 0
    [program] = blocks("")
    (tmp_path / "visits.istream").write_text(program)
    assert ghcm("fmt", "--check", "visits.istream", cwd=tmp_path).returncode == 0
    command, *shown = blocks("console")[0].splitlines()
    done = ghcm(*command.removeprefix("$ ghcm ").split(), cwd=tmp_path)
    said = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith(("state:", "http:"))]
    assert done.returncode == 0, done.stderr
    assert sorted(said) == sorted(shown)  # two streams, and rows of Spark come in any order
