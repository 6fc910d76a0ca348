"""One code stands for one kind of mistake, and the tables hold the codes that the source raises, all and no others."""

import ast
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ghcm.codes import KINDS, Code

ROOT = Path(__file__).parents[2]
PARTS = ("ghcm", "codegen", "optimizer", "runtime", "supervisor")
TABLE = ROOT / "ghcm" / "codes.py"


def raised() -> Iterator[str]:
    """The codes that stand in the source as texts of their own, outside of the tables."""
    for part in PARTS:
        for path in (ROOT / part).rglob("*.py"):  # links, of `ghcm` to the other parts, are not followed
            if path != TABLE:
                nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
                yield from (text for text in texts if re.fullmatch(r"GHCM-\d{3}", text))


def test_each_code_stands_for_one_kind() -> None:
    counts = Counter([*(kind.code for kind in KINDS), *(code.value for code in Code)])
    assert [code for code, count in counts.items() if count > 1] == []


def test_the_tables_hold_what_is_raised() -> None:
    found, known = set(raised()), {kind.code for kind in KINDS}
    assert found - known - {code.value for code in Code} == set()
    assert known - found == set()


def test_the_tables_are_in_order_and_say_what_to_do() -> None:
    assert [kind.code for kind in KINDS] == sorted(kind.code for kind in KINDS)
    assert [kind for kind in KINDS if kind.meaning.endswith(".") or not kind.remedy.endswith(".")] == []


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_errors", ROOT / "docs" / "build_errors.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run: python docs/build_errors.py"
