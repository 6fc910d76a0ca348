"""Spark jobs as a user reads and keeps them: golden text, short, and nothing for linters and type checkers to say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ghcm import driver
from ghcm.codegen.spark.packing import PACKAGE, library_modules
from tests.conftest import ROOT, Golden

GOLDEN = ROOT / "tests" / "golden" / "spark"
TOPICS = ROOT / "tests" / "conformance" / "programs" / "topics_bounded.istream"
MOST = {"favourite_words": 150, "rebuild": 500, "scenarios_of": 100, "topics": 250}
"""The lines that each job may have."""
RULES = "E,F,W,I,UP,B,SIM,C4"


@pytest.fixture(scope="module")
def jobs() -> dict[str, str]:
    examples = [ROOT / "examples" / name / f"{name}.istream" for name in ("wordcount", "traffic")]
    code = [driver.compile(path).code for path in (*examples, TOPICS)]
    made = {Path(path).stem: text for each in code for path, text in each.items() if path.startswith("spark/")}
    return {"topics" if unit == "u" else unit: text for unit, text in made.items()}


@pytest.fixture(scope="module")
def folder(jobs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jobs beside their library, as they stand in a bundle that somebody has unpacked."""
    folder = tmp_path_factory.mktemp("jobs")
    for name, text in library_modules().items():
        path = folder / PACKAGE / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, text in jobs.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("unit", MOST)
def test_golden(unit: str, jobs: dict[str, str], golden: Golden) -> None:
    golden(GOLDEN / f"{unit}.py.txt", jobs[unit])
    assert jobs[unit].count("\n") <= MOST[unit]


def test_a_linter_has_nothing_to_say_of_jobs_and_library(folder: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", RULES, "."]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.slow
def test_a_type_checker_has_nothing_to_say_of_jobs_and_library(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file", os.devnull, "."]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_the_same_text_under_another_hash_seed(jobs: dict[str, str]) -> None:
    path = ROOT / "examples" / "traffic" / "traffic.istream"
    program = (
        f"import pathlib, ghcm.driver as d; print(d.compile(pathlib.Path({str(path)!r})).code['spark/rebuild.py'])"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program]
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
        assert made == jobs["rebuild"] + "\n"
