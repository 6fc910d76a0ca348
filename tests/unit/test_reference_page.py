"""The reference page says what the tables say."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "build_reference.py"


def test_the_reference_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("build_reference", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.reference(), "run: python docs/build_reference.py"
