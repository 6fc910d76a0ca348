"""Bundles as the runtime opens them: zip or directory, edited, damaged, with Python modules."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle

from ghcm.codegen.backend import zipped
from ghcm.codegen.bundle import write
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle, job_library
from tests.unit.runtime.small_operators import word_count

CODE = "ANSWER = 1\nTASKS: dict[str, object] = {}\n"


def make(path: Path, *, answer: int = 1, python: dict[str, str] | None = None) -> Path:
    program = word_count("*.txt")
    write(
        program,
        program,
        {"native/main.py": CODE.replace("1", str(answer), 1)},
        {"a.istream": "text"},
        python or {},
        path,
    )
    return path


def test_a_bundle_is_opened_from_zip_and_from_a_directory(tmp_path: Path) -> None:
    zipped = make(tmp_path / "small.ghcm")
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(tmp_path / "folder")
    for bundle in (Bundle.open(zipped, cache=tmp_path / "cache"), Bundle.open(tmp_path / "folder")):
        assert bundle.program == bundle.plan == word_count("*.txt")
        assert bundle.edited == ()
        assert bundle.unit_module("main").ANSWER == 1


def test_edited_code_is_used_and_named(tmp_path: Path) -> None:
    zipped = make(tmp_path / "small.ghcm")
    folder = tmp_path / "folder"
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(folder)
    assert Bundle.open(folder).unit_module("main").ANSWER == 1
    (folder / "native" / "main.py").write_text(CODE.replace("1", "2", 1))
    assert Bundle.open(folder).unit_module("main").ANSWER == 2
    assert Bundle.open(folder).edited == ("native/main.py",)


def test_jobs_with_libraries_of_different_versions_live_side_by_side(tmp_path: Path) -> None:
    modules: list[ModuleType] = []
    for number in (1, 2, 1):
        folder = tmp_path / f"{len(modules)}"
        folder.mkdir()
        text = f"def total() -> int:\n    return {number}\n"
        library = zipped({"ghcm_spark/__init__.py": b"", "ghcm_spark/sums.py": text.encode()})
        (folder / "ghcm_spark.zip").write_bytes(library)
        with job_library(folder):
            modules.append(importlib.import_module("ghcm_spark.sums"))
        assert not [name for name in sys.modules if name.startswith("ghcm_spark")]
    assert [module.total() for module in modules] == [1, 2, 1]
    assert modules[0] is modules[2]
    copies: list[Any] = [cloudpickle.loads(cloudpickle.dumps(each.total)) for each in modules]  # type: ignore[no-untyped-call]
    assert [copy() for copy in copies] == [1, 2, 1]


def test_a_library_whose_first_zip_is_gone_finds_all_its_modules_in_the_next(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        with zipfile.ZipFile(tmp_path / name / "ghcm_spark.zip", "w") as archive:
            for module in ("__init__", "below/__init__", "below/one", "below/two"):
                archive.writestr(zipfile.ZipInfo(f"ghcm_spark/{module}.py"), f"NAME = {module!r}\n")
    with job_library(tmp_path / "first"):
        importlib.import_module("ghcm_spark.below.one")
    (tmp_path / "first" / "ghcm_spark.zip").unlink()
    with job_library(tmp_path / "second"):
        assert importlib.import_module("ghcm_spark.below.two").NAME == "below/two"


def test_two_bundles_with_modules_of_the_same_name_live_side_by_side(tmp_path: Path) -> None:
    bundles = [
        Bundle.open(make(tmp_path / f"{n}.ghcm", answer=n, python={"mine.py": f"WHO = {n}"}), cache=tmp_path / "cache")
        for n in (1, 2)
    ]
    assert [bundle.unit_module("main").ANSWER for bundle in bundles] == [1, 2]
    assert [bundle.load("mine").WHO for bundle in (*bundles, bundles[0])] == [1, 2, 1]


@pytest.mark.parametrize(
    ("content", "said"), [(b"nothing of the kind", "no zip file"), (b"PK\x05\x06" + b"\0" * 18, "no manifest")]
)
def test_what_is_no_bundle_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "wrong.ghcm"
    path.write_bytes(content)
    with pytest.raises(GhcmError, match=said):
        Bundle.open(path, cache=tmp_path / "cache")
    with pytest.raises(GhcmError, match="no such file"):
        Bundle.open(tmp_path / "missing.ghcm")


def test_a_bundle_that_would_write_outside_its_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.ghcm"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../evil.txt", "")
    with pytest.raises(GhcmError, match=r"evil\.txt"):
        Bundle.open(path, cache=tmp_path / "cache")


def test_broken_code_and_missing_modules_are_said(tmp_path: Path) -> None:
    zipped = make(tmp_path / "small.ghcm")
    folder = tmp_path / "folder"
    with zipfile.ZipFile(zipped) as archive:
        archive.extractall(folder)
    (folder / "native" / "main.py").write_text("def (")
    with pytest.raises(GhcmError, match="cannot be loaded"):
        Bundle.open(folder).unit_module("main")
    with pytest.raises(GhcmError, match="cannot import"):
        Bundle.open(folder).load("no_such_module_anywhere")
    with pytest.raises(GhcmError, match='no unit "man"'):
        Bundle.open(folder).unit_module("man")


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GhcmError, match="XDG_CACHE_HOME"):
        Bundle.open(make(tmp_path / "small.ghcm"), cache=tmp_path / "file" / "cache")
