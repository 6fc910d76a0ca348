"""Writes the reference pages from the manual, which is made of the tables of operators, aggregates and functions: the
pages cannot say anything else than the checker does, and their examples are executed by tests.

Run `python docs/build_reference.py` after changing a table or an example; a test compares the pages with the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ghcm.manual import Area, Entry, Kind, Shown, areas

__all__ = ["DOCS", "pages"]

DOCS = Path(__file__).parent

_MADE = "Made from the tables by `docs/build_reference.py`; do not edit."
_HEAD = f"""# Reference

{_MADE} Every example in it is executed by a test, on the reference interpreter and in both forms of the native engine.

On the command line: `ghcm explain --operator filter`, `ghcm explain --function split`.
[The tutorial](tutorial.md) takes them in order;
[the language on one page](language.md) has types, records, units and sinks.

Kinds of argument: *lambda1* and *lambda2* are `x => ...` and `(a, b) => ...`, or an expression over
the names of fields ([how](language.md#names-of-fields)); *duration* is `500ms`, `10s`, `5m`,
`2h`, `1d`. An argument in brackets may be left out; one with `=` is given by name.

Engines: *reference* is the slow interpreter that says what is right; *native* is the engine of stream units, which has
a row form and a columnar form of each task and takes the row form where there is no columnar one; *spark* runs batch
units.

A record that fails becomes a dead letter with the reason; the others go on.
"""
_KINDS = {
    Kind.OPERATOR: "Operators",
    Kind.AGGREGATE: "Aggregates",
    Kind.FORM: "Forms of expressions",
    Kind.FUNCTION: "Functions of expressions",
}
_INTRODUCTIONS = {
    Kind.OPERATOR: "",
    Kind.AGGREGATE: "Of `aggregate_by_key` and of the arguments of a published call. Every engine has each of them.\n",
    Kind.FORM: "What is written with words of the language or with functions of items, in text and in Python.\n",
    Kind.FUNCTION: "Every engine has every function; the native engine runs one without a columnar form by rows.\n",
}


def pages() -> dict[str, str]:
    """The text of each page by its path below `docs/`."""
    made = {_path(area): _page(area) for area in areas()}
    return {"reference.md": _entry_page(), **made}


def _path(area: Area) -> str:
    words = area.name.replace(" ", "-")
    return f"reference/functions-{words}.md" if area.kind is Kind.FUNCTION else f"reference/{words}.md"


def _entry_page() -> str:
    parts = [_HEAD]
    for kind, title in _KINDS.items():
        parts.append(f"## {title}\n")
        for area in areas():
            if area.kind is kind:
                links = ", ".join(f"[{_label(each)}]({_path(area)}#{_anchor(each)})" for each in area.entries)
                parts.append(f"* [{area.name.capitalize()}]({_path(area)}): {links}")
        parts.append("")
    return "\n".join(parts)


def _page(area: Area) -> str:
    title = f"Functions: {area.name}" if area.kind is Kind.FUNCTION else area.name.capitalize()
    contents = " · ".join(f"[{_label(each)}](#{_anchor(each)})" for each in area.entries)
    head = [f"# {title}\n", f"{_MADE} [All of the reference](../reference.md).\n", _INTRODUCTIONS[area.kind], contents]
    return "\n".join(part for part in (*head, *map(_section, area.entries)) if part) + "\n"


def _label(entry: Entry) -> str:
    return f"`{entry.names[0]}`"


def _anchor(entry: Entry) -> str:
    return entry.name


def _section(entry: Entry) -> str:
    lines = [f'\n<a id="{entry.name}"></a>\n', f"## `{entry.names[0]}`\n", f"`{entry.signature}`\n"]
    lines.append(f"{entry.meaning[0].upper()}{entry.meaning[1:]}.\n")
    lines += [f"* {fact.label}: {fact.text}" for fact in entry.facts]
    for shown in entry.examples:
        lines += ["", *_example(shown)]
    return "\n".join(lines)


def _example(shown: Shown) -> Iterator[str]:
    yield "```"
    if shown.given:
        yield from (f"# {line}" for line in shown.given.splitlines())
    yield shown.text
    yield from (f"--> {line}" for line in shown.gives)
    yield "```"


if __name__ == "__main__":
    made = pages()
    for path in (DOCS / "reference").glob("*.md"):
        if f"reference/{path.name}" not in made:
            path.unlink()
    for name, text in made.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8")
