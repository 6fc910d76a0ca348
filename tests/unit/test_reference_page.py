"""The reference pages say what the tables say, and their links lead somewhere."""

import importlib.util
import re
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "build_reference.py"


def made() -> tuple[Path, dict[str, str]]:
    spec = importlib.util.spec_from_file_location("build_reference", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DOCS, module.pages()


def test_the_reference_pages_are_current() -> None:
    docs, pages = made()
    there = {path.relative_to(docs).as_posix() for path in (docs / "reference").glob("*.md")}
    assert {"reference.md", *there} == pages.keys(), "run: python docs/build_reference.py"
    for name, text in pages.items():
        assert (docs / name).read_text(encoding="utf-8") == text, f"{name}: run: python docs/build_reference.py"


def test_every_link_of_the_entry_page_leads_to_an_entry() -> None:
    _, pages = made()
    links = re.findall(r"\]\((reference/[^#)]+)#([^)]+)\)", pages["reference.md"])
    assert len(links) > 100
    assert [link for link in links if f'<a id="{link[1]}"></a>' not in pages[link[0]]] == []
