"""The rules of the house that a machine can check. Each test names the file that breaks its rule."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("codegen", "optimizer", "runtime", "supervisor")
HEAVY = {"pyspark", "py4j", "fastapi", "starlette", "polars", "pyarrow", "pandas", "numpy", "redis", "kafka"}
HEAVY |= {"confluent_kafka"}
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
LONGEST_FILE = 400


def files(*folders: str) -> Iterator[Path]:
    """Every file of these top folders, links not followed, caches left out."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def modules() -> Iterator[Path]:
    return (path for path in files("ghcm", *PARTS) if path.suffix == ".py")


def package_of(folder: Path) -> str:
    """The import name of a folder: codegen/templates is ghcm.codegen.templates."""
    names = folder.relative_to(ROOT).parts
    return ".".join(names if names[0] == "ghcm" else ("ghcm", *names))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def show(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def setuptools() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    return table


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter in the root of the checkout."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


# ---------------------------------------------------------------- packaging


def test_the_list_of_packages_equals_the_tree() -> None:
    assert sorted(setuptools()["packages"]) == sorted({package_of(path.parent) for path in modules()})


def test_every_package_has_an_init() -> None:
    assert [show(path) for path in {m.parent for m in modules()} if not (path / "__init__.py").exists()] == []


def test_every_data_file_is_packaged() -> None:
    packaged = {
        path
        for package, patterns in setuptools()["package-data"].items()
        for pattern in patterns
        for path in (ROOT / "ghcm").joinpath(*package.split(".")[1:]).resolve().glob(pattern)
    }
    data = [path for path in files("ghcm", *PARTS) if path.suffix != ".py"]
    assert [show(path) for path in data if not any(path == p or p in path.parents for p in packaged)] == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_reached_by_a_relative_link(part: str) -> None:
    assert os.readlink(ROOT / "ghcm" / part) == f"../{part}"
    assert setuptools()["package-dir"][f"ghcm.{part}"] == part


@pytest.mark.parametrize("part", PARTS)
def test_a_part_refuses_another_name(part: str) -> None:
    refused = python("-c", f"import {part}")
    assert refused.returncode != 0
    assert f'write "ghcm.{part}"' in refused.stderr
    assert python("-c", f"import ghcm.{part}").returncode == 0


# ---------------------------------------------------------------- imports


def test_layers() -> None:
    linter = python("-c", "from importlinter.cli import lint_imports_command as run; run(['--no-cache', '--no-logo'])")
    assert linter.returncode == 0, linter.stdout + linter.stderr


def test_importing_ghcm_is_light() -> None:
    fresh = python("-c", "import sys, ghcm; print(*sys.modules)")
    assert fresh.returncode == 0, fresh.stderr
    assert HEAVY & set(fresh.stdout.split()) == set()


def test_settings_are_read_without_clients_of_servers() -> None:
    fresh = python("-c", "import sys, ghcm.runtime.settings; print(*sys.modules)")
    assert fresh.returncode == 0, fresh.stderr
    assert {"asyncio", *HEAVY} & set(fresh.stdout.split()) == set()


def test_the_daemon_looks_after_letters_and_jobs_without_columns() -> None:
    modules = "ghcm.runtime.daemon.daemon, ghcm.runtime.daemon.housekeeping, ghcm.runtime.sinks.old_letters"
    fresh = python("-c", f"import sys, {modules}; print(*sys.modules)")
    assert fresh.returncode == 0, fresh.stderr
    assert {"polars", "pyarrow", "numpy"} & set(fresh.stdout.split()) == set()


def test_imports_are_absolute_and_name_ghcm() -> None:
    found: list[str] = []
    for path in modules():
        for node in ast.walk(parse(path)):
            match node:
                case ast.ImportFrom(level=level, module=name):
                    names = [name or ""]
                case ast.Import(names=aliases):
                    level, names = 0, [alias.name for alias in aliases]
                case _:
                    continue
            if level or any(name.split(".")[0] in PARTS for name in names):
                found.append(f"{show(path)}:{node.lineno}")
    assert found == []


# ---------------------------------------------------------------- choices


def closed_vocabularies() -> set[str]:
    """The names of operations, types and expressions."""
    from ghcm.expr import Expr
    from ghcm.spg.ops import Op
    from ghcm.types import Type

    return {each.__name__ for vocabulary in (Op, Type, Expr) for each in get_args(vocabulary)}


def wildcards(module: ast.Module, names: set[str]) -> Iterator[ast.match_case]:
    """The cases that take anything, in choices by the classes of that name."""
    for choice in ast.walk(module):
        if not isinstance(choice, ast.Match):
            continue
        patterns = [
            part for case in choice.cases for part in ast.walk(case.pattern) if isinstance(part, ast.MatchClass)
        ]
        if names & {ast.unparse(part.cls).rpartition(".")[2] for part in patterns}:
            for case in choice.cases:
                if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None:
                    yield case


def test_every_choice_over_operations_types_and_expressions_is_total_or_says_why_not() -> None:
    names, found = closed_vocabularies(), list[str]()
    for path in modules():
        lines = path.read_text(encoding="utf-8").splitlines()
        for case in wildcards(parse(path), names):
            at = case.pattern.lineno
            total = any("assert_never" in ast.unparse(statement) for statement in case.body)
            if not total and "#" not in lines[at - 1] and not lines[at - 2].lstrip().startswith("#"):
                found.append(f"{show(path)}:{at}")
    assert found == []


# ---------------------------------------------------------------- files and names


def test_every_public_module_says_what_it_is() -> None:
    public = (path for path in modules() if path.name == "__init__.py" or not path.stem.startswith("_"))
    assert [show(path) for path in public if not ast.get_docstring(parse(path))] == []


def test_every_init_and_no_other_module_declares_what_is_public() -> None:
    def declares(module: ast.Module) -> bool:
        targets = (t for n in module.body if isinstance(n, ast.Assign | ast.AnnAssign) for t in assigned(n))
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)

    def assigned(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
        return node.targets if isinstance(node, ast.Assign) else [node.target]

    assert [show(path) for path in modules() if declares(parse(path)) != (path.name == "__init__.py")] == []


def test_no_file_is_too_long() -> None:
    python_files = (path for path in files("ghcm", *PARTS, "tests", "bench", "examples") if path.suffix == ".py")
    lengths = {show(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_the_page_about_the_architecture_names_what_is_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+(?:/|\.py))`", page)) | set(re.findall(r"\]\(([\w/.]+)\)", page))
    there = [f"/{show(path)}" for path in files("ghcm", *PARTS, "docs")] + ["/pyproject.toml"]
    there += [f"/{show(path.parent)}/" for path in modules()]
    assert sorted(each for each in named if not any(path.endswith(f"/{each}") for path in there)) == []


def test_no_shell_is_started() -> None:
    words = re.compile(r"shell\s*=\s*True|os\.(system|popen)\(|create_subprocess_shell|getoutput\(")
    assert [show(path) for path in modules() if words.search(path.read_text(encoding="utf-8"))] == []


def test_no_name_is_empty_of_meaning() -> None:
    named = {path.with_suffix("") for path in modules()} | {path.parent for path in modules()}
    assert [show(path) for path in named if path.name in EMPTY_NAMES] == []
