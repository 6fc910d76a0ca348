"""Bundles as the compiler writes them: the same bytes wherever, however and under whatever hash seed they are built."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "wordcount"
BUILD = "import sys, pathlib, ghcm.driver; ghcm.driver.build(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))"


def built(folder: Path, front_end: str, *, cwd: Path, seed: str) -> bytes:
    """The bundle of the example in `folder`, built by a process of its own that stands in `cwd`."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in EXAMPLE.glob("wordcount.*"):
        shutil.copy(path, folder)
    program, output = folder / f"wordcount.{front_end}", folder / "out.ghcm"
    given = program.relative_to(cwd) if program.is_relative_to(cwd) else program
    command = [sys.executable, "-c", BUILD, str(given), str(output)]
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=cwd, env=environment, check=True, timeout=120)
    return output.read_bytes()


@pytest.mark.parametrize("front_end", ["istream", "py"])
def test_two_builds_give_the_same_bytes(front_end: str, tmp_path: Path) -> None:
    first = built(tmp_path / "one", front_end, cwd=tmp_path, seed="1")
    second = built(tmp_path / "another" / "deeper", front_end, cwd=ROOT, seed="2")
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        texts = {name: archive.read(name).decode(errors="replace") for name in archive.namelist()}
    assert {name for name in texts if name.startswith(("native/", "spark/"))} == {
        "native/count_words.py",
        "native/favourite_words.py",
        "native/how_often.py",
        "spark/favourite_words.py",
        "spark/ghcm_spark.zip",
    }
    assert not [name for name, text in texts.items() if str(tmp_path) in text or str(ROOT) in text]
    assert f"wordcount.{front_end}:" in texts["spark/favourite_words.py"]


def test_another_program_gives_another_bundle(tmp_path: Path) -> None:
    first = built(tmp_path, "istream", cwd=tmp_path, seed="1")
    program = tmp_path / "wordcount.istream"
    program.write_text(program.read_text().replace("tumbling(1m)", "tumbling(2m)"))
    command = [sys.executable, "-c", BUILD, str(program), str(tmp_path / "other.ghcm")]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=120)
    assert (tmp_path / "other.ghcm").read_bytes() != first
