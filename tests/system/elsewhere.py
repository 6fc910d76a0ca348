"""Another Python environment for bundles: one without `ghcm`, or with only those parts of it that run bundles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

COMPILER = ("language", "lowering", "optimizer", "codegen")
"""The parts of `ghcm` that only building needs."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A virtual environment: its interpreter, the folder of its packages, and the variables its processes run under."""

    python: Path
    packages: Path
    environment: Mapping[str, str]

    def run(self, *words: str | Path, cwd: Path, timeout: float = 240, **more: str) -> subprocess.CompletedProcess[str]:
        """A command in this environment, to its end."""
        return subprocess.run(
            list(map(str, words)),
            cwd=cwd,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def cannot_import(self, module: str) -> bool:
        """Whether a process of this environment finds no such module."""
        done = self.run(self.python, "-c", f"import {module}", cwd=self.python.parent)
        return done.returncode == 1 and f"No module named '{module}'" in done.stderr


def make_elsewhere(folder: Path) -> Elsewhere:
    """An environment in `folder` with the packages of this one, but no `ghcm`: neither installed nor a checkout."""
    venv.EnvBuilder(symlinks=True).create(folder / "venv")
    packages = folder / "packages"
    packages.mkdir()
    for name in ("purelib", "platlib"):
        for entry in Path(sysconfig.get_path(name)).iterdir():
            ours = entry.name.split("-")[0].lower() in ("ghcm", "__editable__.ghcm") or "editable" in entry.name
            if not ours and not (packages / entry.name).is_symlink():
                (packages / entry.name).symlink_to(entry)
    python = folder / "venv" / "bin" / "python"
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("GHCM_", "PYTHON", "VIRTUAL_ENV"))
    }
    variables = {**kept, "PYTHONPATH": str(packages), "PYSPARK_PYTHON": str(python), "COLUMNS": "120"}
    return Elsewhere(python, packages, variables)


def add_ghcm(elsewhere: Elsewhere, *, without: Collection[str] = ()) -> None:
    """Put a copy of `ghcm` into the environment, without these parts."""
    copy = elsewhere.packages / "ghcm"
    absent = [str(ROOT / "ghcm" / part) for part in without]

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if os.path.join(folder, name) in absent or name == "__pycache__"]

    shutil.copytree(ROOT / "ghcm", copy, ignore=ignored)
