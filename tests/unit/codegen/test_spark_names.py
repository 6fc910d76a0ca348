"""The library of Spark jobs: ordinary modules that need nothing of ours, and names that a job finds in one of them."""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest

from ghcm.codegen.spark import library
from ghcm.codegen.spark.packing import PACKAGE, library_modules, library_names, library_zip

OUTSIDE = {"deltalake", "hdfs_native", "pyspark", "pyarrow", "redis", "sqlalchemy"}
HOME = Path(library.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))


def test_no_two_functions_of_spark_jobs_share_a_name() -> None:
    bodies = [ast.parse(path.read_text(encoding="utf-8")).body for path in MODULES]
    names = [node.name for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(names) > 100
    public = [name for name in names if not name.startswith("_")]
    assert [name for name, count in Counter(public).items() if count > 1] == []
    assert set(public) <= library_names().keys()


@pytest.mark.parametrize("name", library_modules())
def test_what_jobs_carry_needs_nothing_of_ours_but_itself(name: str) -> None:
    found: set[str] = set()
    for node in ast.walk(ast.parse(library_modules()[name])):
        match node:
            case ast.Import(names=names):
                found |= {each.name for each in names}
            case ast.ImportFrom(module=str(module)):
                found.add(module)
            case _:
                pass
    own = {each for each in found if each.partition(".")[0] == PACKAGE}
    paths = {each.removeprefix(PACKAGE).strip(".").replace(".", "/") for each in own}
    assert {path for path in paths if not {path, f"{path}/__init__"} & library_modules().keys()} <= {"vendored"}
    roots = {each.partition(".")[0] for each in found - own}
    screens = {"rich"} if name == "vendored/errors" else set[str]()  # mistakes in programs, which no job shows
    assert roots <= OUTSIDE | screens | sys.stdlib_module_names
    assert name != "sql" or not roots & OUTSIDE


def test_the_zip_holds_the_modules_under_their_own_package() -> None:
    library_zip.cache_clear()
    first = library_zip()
    library_zip.cache_clear()
    assert library_zip() == first
    with zipfile.ZipFile(BytesIO(first)) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert texts.keys() >= {f"{PACKAGE}/{path.relative_to(HOME)}" for path in MODULES}
    assert texts.keys() == {f"{PACKAGE}/{name}.py" for name in library_modules()}
    assert texts[f"{PACKAGE}/__init__.py"] == library_modules()["__init__"]
    assert not [name for name, text in texts.items() if re.search(r"(from|import) ghcm\b", text)]
