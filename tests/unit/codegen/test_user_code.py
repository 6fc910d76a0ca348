"""What a bundle takes along of the user's Python, what it needs, and that it is refused where that is missing."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle

PROGRAM = """program calls
record Row { a: int }
sink out = files("out")
batch job {
  memory([{a: 1}]).as(Row).python("mine.calls:twice", by = batch) : Row
    .to(out)
}
"""


def built(folder: Path, code: str) -> Path:
    (folder / "mine").mkdir()
    (folder / "mine" / "__init__.py").write_text("")
    (folder / "mine" / "other.py").write_text("import json\n")
    (folder / "mine" / "calls.py").write_text(code)
    (folder / "calls.istream").write_text(PROGRAM)
    return build(folder / "calls.istream", folder / "calls.ghcm")


def test_a_bundle_lists_the_packages_that_the_users_modules_import(tmp_path: Path) -> None:
    path = built(tmp_path, "import os, polars as pl\nfrom mine import other\nfrom lark.exceptions import LarkError\n")
    with ZipFile(path) as archive:
        listed = json.loads(archive.read("manifest.json"))["requirements"]
        assert [name for name in archive.namelist() if name.startswith("python/")] == [
            "python/mine/__init__.py",
            "python/mine/calls.py",
            "python/mine/other.py",
        ]
    assert listed[1:] == ["lark", "polars"]
    Bundle.open(path)


def test_a_bundle_is_refused_where_a_package_is_missing(tmp_path: Path) -> None:
    with pytest.raises(GhcmError, match="needs packages that are not installed: not_there_at_all"):
        Bundle.open(built(tmp_path, "import not_there_at_all\n"))
