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


def any_port(text: str) -> str:
    """The text without the port where a run listens, which is any free one."""
    return re.sub(r"(?<=127\.0\.0\.1:)\d+", "…", text)


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
    assert done.returncode == 0, done.stderr
    said = any_port(done.stderr + done.stdout).splitlines()
    assert sorted(said) == sorted(shown)  # two streams, and rows of a batch unit come in any order
