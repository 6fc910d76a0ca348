"""What `ghcm explain --operator NAME` and `--function NAME` say: the entries of the manual under a name."""

from __future__ import annotations

from dataclasses import asdict

from ghcm.cli import terminal
from ghcm.errors import GhcmError
from ghcm.lowering import foreign_idioms
from ghcm.manual import Entry, Kind, Shown, find, unknown


def about(name: str, first: Kind, *, json: bool) -> None:
    """Print everything of that name, what is of the kind `first` before the rest; GhcmError where there is nothing."""
    found = find(name, first)
    if not found:
        article = "an" if first is Kind.OPERATOR else "a"
        hint = _advice(name, first) or "docs/reference.md lists all of them."
        raise GhcmError(f'"{name}" is no name of {article} {first.value}', code="GHCM-623", hint=hint)
    if json:
        terminal.json_line({"entries": [asdict(entry) | {"kind": entry.kind.value} for entry in found]})
    else:
        terminal.say("\n\n".join(map(entry_text, found)))


def _advice(name: str, kind: Kind) -> str:
    """What other systems mean by the name, else what is spelt nearly so, of the kind that was asked for first."""
    words = (foreign_idioms.OPERATORS, foreign_idioms.FUNCTIONS)
    for known in words if kind is Kind.OPERATOR else reversed(words):
        if name in known:
            return known[name]
    if find(name.lower()):
        return f'did you mean "{name.lower()}"?'
    return unknown(name, kind) or unknown(name)


def entry_text(entry: Entry) -> str:
    """An entry for people: what it is, how it is written, what it means, what holds for it, and its examples."""
    width = max(len(fact.label) for fact in entry.facts)
    facts = [f"  {fact.label + ':':<{width + 1}} {fact.text}" for fact in entry.facts]
    area = "" if entry.area == f"{entry.kind.value}s" else f" ({entry.area})"
    head = [f"{entry.kind.value} {entry.names[0]}{area}", "", f"  {entry.signature}", "", f"  {entry.meaning}", ""]
    return "\n".join([*head, *facts, *(_example(shown) for shown in entry.examples)])


def _example(shown: Shown) -> str:
    given = [f"# {line}" for line in shown.given.splitlines()]
    lines = [*given, *shown.text.splitlines(), *(f"--> {line}" for line in shown.gives)]
    return "\n" + "\n".join(f"    {line}".rstrip() for line in lines)
