"""The folder that a demo of the traffic monitor runs in: the program beside what it reads."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import formats

from ghcm.runtime.daemon.protocol import Control
from ghcm.runtime.daemon.state import StateDirectory

HERE = Path(__file__).resolve().parent
ADDRESS = "127.0.0.1:4747"
"""Where the program reads from a socket; the demo has it read from a port that is free."""


def free_folder() -> Path:
    """An empty folder for this run alone: that of the last run, unless its daemon still serves."""
    number = 1
    while True:
        folder = Path.cwd() / ".ghcm" / ("demo" if number == 1 else f"demo-{number}")
        if not Control(StateDirectory(folder / "state").control).listening():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            return folder
        number += 1


def lay_out(folder: Path, port: int, rewrite: Mapping[str, str] | None = None) -> Path:
    """The program, which reads from that port, beside empty files of each kind, with other words for some of its own;
    its path.
    """
    shutil.copytree(HERE / "in", folder / "in")
    for name in ("servers.csv", "traffic.watch.toml"):
        shutil.copy(HERE / name, folder)
    program = folder / "traffic.istream"
    text = (HERE / "traffic.istream").read_text(encoding="utf-8")
    for old, new in {ADDRESS: f"127.0.0.1:{port}", **(rewrite or {})}.items():
        assert old in text, old
        text = text.replace(old, new)
    program.write_text(text, encoding="utf-8")
    return program


def put(data: Path, known: formats.Recognised, folder: Path) -> None:
    """The file in place of the empty one of its kind. It is not copied: it may be large."""
    into = folder / "in" / known.source
    shutil.rmtree(into)
    into.mkdir()
    (into / known.name).symlink_to(data.resolve())
