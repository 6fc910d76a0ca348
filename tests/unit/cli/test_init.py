"""`ghcm init` takes the names that the language takes."""

from pathlib import Path

import pytest

from ghcm.cli.init import init
from ghcm.driver import check
from ghcm.errors import GhcmError
from ghcm.language.literals import RESERVED


@pytest.mark.parametrize("name", [*RESERVED, "größe", "a-b", "9lives", "", "a b", "naïve"])
def test_what_is_no_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(GhcmError, match="GHCM-603"):
        init(tmp_path, name=name or "-")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["visits", "Visits", "_v2", "program", "stream", "on"])
def test_every_name_that_is_taken_gives_a_program_that_checks(tmp_path: Path, name: str) -> None:
    init(tmp_path, name=name)
    assert check(tmp_path / f"{name}.istream").name == name
