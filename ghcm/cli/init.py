"""`ghcm init`: write a small program that works, with its data and settings."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json
from ghcm.errors import GhcmError

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write it.")]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The program's name; by default the folder's.")
]


def init(folder: Folder = Path(), name: Name = None, json: Json = False) -> None:
    """Write a first program that works."""
    name = name or re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_")
    _check_name(name)
    files = {f"{name}.istream": _PROGRAM.replace("NAME", name), "ghcm.toml": _SETTINGS, "visits.jsonl": _visits()}
    for path in files:
        if (folder / path).exists():
            message, hint = f'"{folder / path}" is there already', "choose another folder or name."
            raise GhcmError(message, code="GHCM-604", detail="Nothing was written.", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    written = [str(folder / path) for path in files]
    terminal.answer({"program": name, "files": written}, "\n".join(written), json=json)
    if not json:
        enter = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
        terminal.note(f"next: {enter}ghcm run {name}.istream")


def _check_name(name: str) -> None:
    from ghcm.language.literals import RESERVED

    if name in RESERVED:
        detail = f'"{name}" is a reserved word of the language.'
    elif not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        detail = "A name has the letters a to z, digits and underscores and does not begin with a digit."
    else:
        return
    hint = "give another: ghcm init --name visits"
    raise GhcmError(f'"{name}" cannot be the name of a program', code="GHCM-603", detail=detail, hint=hint)


def _visits() -> str:
    pages = ("/", "/docs", "/", "/prices", "/docs", "/", "/docs/install")
    lines = (
        f'{{"at": "2026-01-05T09:00:{second:02d}Z", "page": "{pages[second * 3 // 2 % len(pages)]}"}}'
        for second in range(0, 60, 2)
    )
    return "\n".join(lines) + "\n"


_PROGRAM = """\
program NAME

record Visit { at: timestamp, page: string }

sink per_window = files("out/per_window", format = json, mode = append)

# Runs for ever on what comes in, and ends by itself when its input is bounded, as here.
stream watch {
  visits = files("visits.jsonl", format = json).as(Visit).event_time(v => v.at, disorder = 5s)

  visits.map_to_pair(v => (v.page, 1))
        .window(tumbling(10s))
        .reduce_by_key((a, b) => a + b)
        .to(per_window)

  totals = visits.map_to_pair(v => (v.page, 1)).reduce_by_key((a, b) => a + b)
}

# Answers from the state of the stream: ghcm call NAME.most_visited n=3 --wait
responsive stream most_visited(n: int = 3) {
  watch.totals.read().top(n, by = p => p.value).reply()
}
"""

_SETTINGS = """\
# Settings of the runs in this folder. GHCM_* variables and arguments go before them.

# "embedded" starts a private Redis; a URL such as "redis://localhost:6379/0" takes yours.
redis = "embedded"

[http]
port = 8000
"""
