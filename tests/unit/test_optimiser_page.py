"""The page of the optimiser has the calls of the five programs as they are now, and all of these have fewer."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "count_calls.py"


def test_the_page_is_current_and_all_programs_shrink() -> None:
    spec = importlib.util.spec_from_file_location("count_calls", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    counts = module.counted()
    assert all(each.calls_after < each.calls_before for each in counts.values())
    assert (min(each.calls_before for each in counts.values()), len(counts)) == (4, 5)
    for name, text in module.pages().items():
        assert (module.DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run: python docs/count_calls.py"
