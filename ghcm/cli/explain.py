"""`ghcm explain`: what became of a program, before and after the optimiser, and why; or what a name means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.options import Json
from ghcm.errors import GhcmError

if TYPE_CHECKING:
    from ghcm.driver import Compiled
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


def command(
    program: Explained = None,
    operator: Operator = None,
    function: Function = None,
    error: Error = None,
    svg: Svg = None,
    code: Code = False,
    json: Json = False,
) -> None:
    """Show what becomes of a program, or what a name means."""
    from ghcm.cli.about import about
    from ghcm.cli.about_error import about_error
    from ghcm.manual import Kind

    for name, kind in ((operator, Kind.OPERATOR), (function, Kind.FUNCTION)):
        if name is not None:
            about(name, kind, json=json)
    if error is not None:
        about_error(error, json=json)
    if program is not None:
        _program(program, svg, code, json)
    elif svg is not None or code:
        hint = "ghcm explain visits.istream --svg visits.svg --code"
        raise GhcmError("--svg and --code are of a program, and none is named", code="GHCM-605", hint=hint)
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
