"""`ghcm explain`: what became of a program, before and after the optimiser, and why; or what a name means."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.driver import Compiled
    from ghcm.manual import Entry, Kind, Shown
    from ghcm.optimizer import Optimised


Explained = Annotated[
    Path | None, typer.Argument(metavar="PROGRAM", help="A program: an .istream or a .py file.", show_default=False)
]
Operator = Annotated[
    str | None, typer.Option("--operator", metavar="NAME", help="Say what an operator does instead, with an example.")
]
Function = Annotated[
    str | None, typer.Option("--function", metavar="NAME", help="The same of a function or aggregate.")
]
Error = Annotated[
    str | None, typer.Option("--error", metavar="CODE", help="Say what the code of a message stands for: GHCM-207.")
]
Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Draw the graph before and after as a picture too.")
]
Code = Annotated[bool, typer.Option("--code", help="Print the generated code too.")]
Engines = Annotated[
    bool, typer.Option("--engines", help="Say instead which engines can run each unit, and what keeps the others.")
]


def explain(
    program: Explained = None,
    operator: Operator = None,
    function: Function = None,
    error: Error = None,
    svg: Svg = None,
    code: Code = False,
    engines: Engines = False,
    json: Json = False,
) -> None:
    """Show what becomes of a program, or what a name means."""
    from ghcm.manual import Kind

    for name, kind in ((operator, Kind.OPERATOR), (function, Kind.FUNCTION)):
        if name is not None:
            _about(name, kind, json=json)
    if error is not None:
        _about_error(error, json=json)
    if program is not None and engines:
        _engines(program, json=json)
    elif program is not None:
        _program(program, svg, code, json)
    elif svg is not None or code or engines:
        hint = "ghcm explain visits.istream --svg visits.svg --code"
        message = "--svg, --code and --engines are of a program, and none is named"
        raise GhcmError(message, code="GHCM-605", hint=hint)
    elif operator is None and function is None and error is None:
        hint = "ghcm explain visits.istream, or with --operator filter, --function split or --error GHCM-207"
        raise GhcmError("there is nothing to explain", code="GHCM-605", hint=hint)


def _program(program: Path, svg: Path | None, code: bool, json: bool) -> None:
    from ghcm import driver
    from ghcm.spg.json import to_json
    from ghcm.spg.text import print_program

    compiled = driver.compile(program)
    if svg is not None:
        _draw(compiled, svg)
    if json:
        optimised = compiled.optimised
        document: dict[str, object] = {
            "before": to_json(compiled.program),
            "after": to_json(optimised.program),
            "passes": [{"name": step.optimiser_pass, "changed": step.changed} for step in optimised.steps],
            "remarks": [str(remark) for remark in optimised.remarks],
            "units": [
                {"name": each.unit, "calls_before": each.calls_before, "calls_after": each.calls_after}
                for each in optimised.summaries
            ],
        }
        terminal.json_line(document | ({"code": dict(compiled.code)} if code else {}))
        return
    _heading("as written")
    terminal.say(print_program(compiled.program).rstrip())
    _heading("as optimised")
    terminal.say(print_program(compiled.optimised.program).rstrip())
    _explain(compiled.optimised)
    if code:
        for path, text in compiled.code.items():
            _heading(path)
            terminal.say(text.rstrip())
    if svg is not None:
        terminal.note(f"{svg}: drawn")


def _engines(program: Path, *, json: bool) -> None:
    from ghcm import driver

    found = driver.engines(program)
    if json:
        for each in found:
            refused = [error.document() for error in each.refusals]
            terminal.json_line({"unit": each.unit.name, "engine": each.engine, "refusals": refused})
        return
    names = list(dict.fromkeys(each.engine for each in found))
    runs = {(each.unit.name, each.engine): not each.refusals for each in found}
    units = {each.unit.name: each.unit for each in found}
    rows = [
        (name, unit.kind, unit.engine, *("yes" if runs[name, engine] else "no" for engine in names))
        for name, unit in units.items()
    ]
    terminal.table(("unit", "kind", "asks for", *names), rows, "no units")
    for each in (each for each in found if each.refusals and each.unit.kind == "batch"):
        _heading(f"what keeps {each.unit.name} from {each.engine}")
        for error in each.refusals:
            terminal.say(str(error))


def _explain(optimised: Optimised) -> None:
    _heading("what the optimiser did")
    for step in optimised.steps:
        if not step.changed and not step.remarks:
            terminal.say(f"{step.optimiser_pass}: nothing to do")
        for remark in step.remarks:
            terminal.say(str(remark))
    _heading("operator calls")
    rows = [
        (each.unit, str(each.calls_before), str(each.calls_after), f"{each.ratio:.0%}") for each in optimised.summaries
    ]
    terminal.table(("unit", "as written", "as run", "left"), rows, "no units")


def _draw(compiled: Compiled, path: Path) -> None:
    """One picture: the graph as written above the graph as optimised."""
    from ghcm.spg.svg import draw

    before = draw(compiled.program, f"{compiled.program.name}, as written")
    after = draw(compiled.optimised.program, f"{compiled.program.name}, as optimised")
    (width, height), (other, below) = _size(before), _size(after)
    size = f'width="{max(width, other):g}" height="{height + below:g}"'
    inner = after.replace("<svg ", f'<svg y="{height:g}" ', 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{before}{inner}</svg>\n', encoding="utf-8")


def _size(svg: str) -> tuple[float, float]:
    found = [re.search(rf'<svg [^>]*\b{name}="([\d.]+)"', svg) for name in ("width", "height")]
    width, height = (float(each[1]) if each else 0.0 for each in found)
    return width, height


def _heading(text: str) -> None:
    if terminal.is_terminal():
        terminal.console().rule(text, align="left")
    else:
        terminal.say(f"\n--- {text} ---")


def _about(name: str, first: Kind, *, json: bool) -> None:
    """Print everything of that name, what is of the kind `first` before the rest; GhcmError where there is nothing."""
    from ghcm.manual import Kind, find

    found = find(name, first)
    if not found:
        article = "an" if first is Kind.OPERATOR else "a"
        hint = _advice(name, first) or "docs/reference.md lists all of them."
        raise GhcmError(f'"{name}" is no name of {article} {first.value}', code="GHCM-623", hint=hint)
    entries = [asdict(entry) | {"kind": entry.kind.value} for entry in found]
    terminal.answer({"entries": entries}, "\n\n".join(map(_entry_text, found)), json=json)


def _advice(name: str, kind: Kind) -> str:
    """What other systems mean by the name, else what is spelt nearly so, of the kind that was asked for first."""
    from ghcm.lowering import foreign_idioms
    from ghcm.manual import Kind, find, unknown

    words = (foreign_idioms.OPERATORS, foreign_idioms.FUNCTIONS)
    for known in words if kind is Kind.OPERATOR else reversed(words):
        if name in known:
            return known[name]
    if find(name.lower()):
        return f'did you mean "{name.lower()}"?'
    return unknown(name, kind) or unknown(name)


def _entry_text(entry: Entry) -> str:
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


_OF_PROGRAMS = "Do what the hint of the message says; docs/errors.md has an example."


def _about_error(code: str, *, json: bool) -> None:
    """Print what a code stands for, given as `GHCM-207` or `207`; GhcmError if no message has it."""
    from ghcm import codes

    kinds = {kind.code: kind for kind in codes.KINDS}
    kinds |= {each.value: codes.Kind(each.value, each.meaning, _OF_PROGRAMS) for each in codes.Code}
    wanted = code.upper() if code.upper().startswith("GHCM-") else f"GHCM-{code}"
    found = kinds.get(wanted)
    if found is None:
        hint = "docs/errors.md lists all of them."
        raise GhcmError(f'"{code}" is no code of an error', code="GHCM-623", hint=hint)
    document = {"code": found.code, "meaning": found.meaning, "remedy": found.remedy}
    terminal.answer(document, f"{found.code}: {found.meaning}\n\n  {found.remedy}", json=json)
