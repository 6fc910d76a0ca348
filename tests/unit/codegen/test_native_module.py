"""Generated native modules as a user reads them: golden text, free of lint, the same whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ghcm import driver
from tests.conftest import ROOT, Golden

GOLDEN = ROOT / "tests" / "golden" / "native"
PROGRAM = GOLDEN / "traffic.istream"


@pytest.fixture(scope="module")
def code() -> dict[str, str]:
    return dict(driver.compile(PROGRAM).code)


@pytest.mark.parametrize("unit", ["monitor", "talkers"])
def test_golden(unit: str, code: dict[str, str], golden: Golden) -> None:
    golden(GOLDEN / f"traffic.{unit}.py.txt", code[f"native/{unit}.py"])


@pytest.mark.parametrize("unit", ["monitor", "talkers"])
def test_a_linter_has_nothing_to_say(unit: str, code: dict[str, str]) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,W", "-"]
    found = subprocess.run(command, input=code[f"native/{unit}.py"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_the_same_text_under_another_hash_seed() -> None:
    program = (
        f"import pathlib, ghcm.driver as d; print(d.compile(pathlib.Path({str(PROGRAM)!r})).code['native/monitor.py'])"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
