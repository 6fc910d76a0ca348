"""Generated native modules as a user reads them: golden text, free of lint, the same whatever the hash seed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ghcm import driver
from ghcm.codegen.native.module import generate
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
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


_FIELDS = [
    "f0: x.f0 + y.f0",
    "f1: {a: x.f1.a + y.f1.a, b: x.f1.b + y.f1.b}",
    *(f"f{n}: x.f{n} + y.f{n}" for n in range(2, 12)),
]
_VALUE = ", ".join("f1: {a: r.a, b: r.b}" if n == 1 else f"f{n}: r.a" for n in range(12))


@pytest.mark.parametrize(
    "pipeline",
    [
        "aggregate(by = a, speed = fold({p: a, q: b}, {p: 0, q: 0}, (s, r) => {p: s.p + r.p, q: s.q + r.q},"
        " merge = (x, y) => {p: x.p + y.p, q: x.q + y.q}), speed0 = count(), speed1 = sum(b))",
        f"map_to_pair(r => (r.a, {{ {_VALUE} }})).reduce_by_key((x, y) => {{ {', '.join(_FIELDS)} }})",
    ],
    ids=["a fold beside others", "a record in a record"],
)
def test_each_column_of_a_group_has_a_name_of_its_own(pipeline: str) -> None:
    given = f"memory([{{a: 1, b: 2}}]).as(R).{pipeline}"
    text = f"program p\nrecord R {{ a: int, b: int }}\nresponsive batch u {{ {given}.reply() }}"
    program = lower(parse(Source("p.istream", text)))
    code = generate(program, program.unit("u"))
    columns = next(each.args[1:] for each in _calls(ast.parse(code), "by_key"))
    names = [ast.unparse(each.args[0]) for column in columns for each in list(_calls(column, "alias"))[:1]]
    assert len(names) > 3
    assert len(names) == len(set(names))


def _calls(node: ast.AST, method: str) -> Iterator[ast.Call]:
    """The calls of a method in a text, wholes first."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == method:
            yield each
