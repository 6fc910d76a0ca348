"""`ghcm explain`: what became of a program, before and after the optimiser, and why; or what a name means."""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json, Without
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.driver import Compiled
    from ghcm.manual import Entry, Kind, Shown
    from ghcm.optimizer import Step
    from ghcm.spg.graph import Program as SpgProgram


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
Pass = Annotated[
    str | None, typer.Option("--pass", metavar="NAME", help="Show only what this pass of the optimiser did.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="NAME", help="Stop behind this pass of the optimiser.")]
Engines = Annotated[
    bool, typer.Option("--engines", help="Say instead which engines can run each unit, and what keeps the others.")
]


def explain(  # noqa: PLR0913, PLR0917 - the options of the command, by name
    program: Explained = None,
    operator: Operator = None,
    function: Function = None,
    error: Error = None,
    svg: Svg = None,
    code: Code = False,
    engines: Engines = False,
    pass_: Pass = None,
    until: Until = None,
    without: Without = None,
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
        if svg is not None or code or pass_ or until or without:
            message = "--engines stands alone: --svg, --code, --pass, --until and --without do not go with it"
            raise GhcmError(message, code="GHCM-605", hint="ask for one after the other.")
        _engines(program, json=json)
    elif program is not None:
        _program(program, svg, code, json, _Asked(pass_, until, tuple(without or ())))
    elif svg is not None or code or engines or pass_ or until or without:
        hint = "ghcm explain visits.istream --svg visits.svg --code"
        message = "--svg, --code, --engines, --pass, --until and --without are of a program, and none is named"
        raise GhcmError(message, code="GHCM-605", hint=hint)
    elif operator is None and function is None and error is None:
        hint = "ghcm explain visits.istream, or with --operator filter, --function split or --error GHCM-207"
        raise GhcmError("there is nothing to explain", code="GHCM-605", hint=hint)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which passes of the optimiser are run, and shown."""

    shown: str | None
    until: str | None
    without: tuple[str, ...]


def _program(program: Path, svg: Path | None, code: bool, json: bool, asked: _Asked) -> None:
    from ghcm import driver
    from ghcm.optimizer import chosen
    from ghcm.spg.text import print_program

    chosen(until=asked.shown)  # says which names there are
    if asked.shown is not None and code:
        hint = "leave out --pass, or --code."
        raise GhcmError("--pass shows one pass alone, and no code", code="GHCM-605", hint=hint)
    if asked.shown is not None and asked.shown not in {each.name for each in chosen(asked.without, asked.until)}:
        message = f"--pass {asked.shown} shows a pass that --until or --without leaves out"
        raise GhcmError(message, code="GHCM-605", hint="leave one of them out.")
    compiled = driver.compile(program, without=asked.without, until=asked.until)
    if svg is not None:
        _draw(compiled, svg)
    if json:
        terminal.json_line(_document(compiled, asked.shown) | ({"code": dict(compiled.code)} if code else {}))
        return
    if asked.shown is not None:
        _pass(compiled, asked.shown)
        return
    _heading("as written")
    terminal.say(print_program(compiled.program).rstrip())
    _heading("as optimised")
    terminal.say(print_program(compiled.optimised.program).rstrip())
    _explain(compiled)
    if code:
        for path, text in compiled.code.items():
            _heading(path)
            terminal.say(text.rstrip())
    if svg is not None:
        terminal.note(f"{svg}: drawn")


def _document(compiled: Compiled, shown: str | None) -> dict[str, object]:
    from ghcm.spg.json import to_json

    optimised = compiled.optimised
    return {
        "before": to_json(compiled.program),
        "after": to_json(optimised.program),
        "passes": [
            {
                "name": step.optimiser_pass,
                "changed": step.changed,
                "lines": _changes(before, step.program),
                "remarks": [
                    {
                        "verdict": each.verdict.value,
                        "unit": each.unit,
                        "task": each.task,
                        "law": each.law,
                        "reason": each.reason,
                        "place": str(each.origin),
                    }
                    for each in step.remarks
                ],
            }
            for before, step in _steps(compiled)
            if shown in (None, step.optimiser_pass)
        ],
        "remarks": [str(remark) for remark in optimised.remarks],
        "units": [
            {"name": each.unit, "calls_before": each.calls_before, "calls_after": each.calls_after}
            for each in optimised.summaries
        ],
    }


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


def _steps(compiled: Compiled) -> list[tuple[SpgProgram, Step]]:
    """The passes that ran, each with the program that it was given."""
    before = [compiled.optimised.before, *(step.program for step in compiled.optimised.steps)]
    return list(zip(before, compiled.optimised.steps, strict=False))


def _changes(before: SpgProgram, after: SpgProgram) -> list[str]:
    """The lines of a program that are not as before, those that go before those that come."""
    from ghcm.spg.text import print_program

    old, new = (print_program(each).splitlines() for each in (before, after))
    lines = difflib.unified_diff(old, new, n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def _explain(compiled: Compiled) -> None:
    for before, step in _steps(compiled):
        _heading(f"what {step.optimiser_pass} did")
        _step(before, step)
    _heading("operator calls")
    rows = [
        (each.unit, str(each.calls_before), str(each.calls_after), f"{each.ratio:.0%}")
        for each in compiled.optimised.summaries
    ]
    terminal.table(("unit", "as written", "as run", "left"), rows, "no units")


def _step(before: SpgProgram, step: Step) -> None:
    if not step.changed and not step.remarks:
        terminal.say("nothing to do")
    for line in _changes(before, step.program) if step.changed else ():
        terminal.say(line)
    for remark in step.remarks:
        terminal.say(str(remark))


def _pass(compiled: Compiled, name: str) -> None:
    """One pass by itself: the graph before it and behind it, and what it says."""
    from ghcm.spg.text import print_program

    for before, step in _steps(compiled):
        if step.optimiser_pass == name:
            _heading(f"before {name}")
            terminal.say(print_program(before).rstrip())
            _heading(f"behind {name}")
            terminal.say(print_program(step.program).rstrip())
            _heading(f"what {name} did")
            _step(before, step)


def _draw(compiled: Compiled, path: Path) -> None:
    """One picture: the graph as written beside the graph as optimised."""
    from ghcm.spg.svg import draw

    before = draw(compiled.program, f"{compiled.program.name}, as written")
    after = draw(compiled.optimised.program, f"{compiled.program.name}, as optimised")
    (width, height), (beside, other) = _size(before), _size(after)
    size = f'width="{width + beside:g}" height="{max(height, other):g}"'
    inner = after.replace("<svg ", f'<svg x="{width:g}" ', 1)
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
