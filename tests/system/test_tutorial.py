"""The tutorial does what it says: its files are written, its commands run, and what they print is compared."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.system.running import clean_environment

TUTORIAL = ROOT / "docs" / "tutorial.md"
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: the words behind its fence, and its text."""

    words: str
    text: str

    def steps(self) -> Iterator[tuple[str, list[str]]]:
        """Of a console: each command, here-documents and all, with the lines that it shows."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *rest = part.splitlines()
            if here := re.search(r"<<'(\w+)'", command):
                end = rest.index(here[1]) + 1
                command, rest = "\n".join([command, *rest[:end]]), rest[end:]
            yield command, rest


def blocks() -> list[Block]:
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [Block(words, text) for words, text in found]


def pattern(shown: list[str]) -> str:
    """What is shown as a pattern: `…` is any text of a line, and alone on a line any number of lines."""
    lines = [r"(?:[^\n]*\n)*?" if line == "…" else re.escape(line).replace("…", "[^\n]*") + r" *\n" for line in shown]
    return "".join(lines)


@contextmanager
def second_terminal(folder: Path, environment: dict[str, str], command: str, shown: list[str]) -> Iterator[None]:
    """What runs on until the end of the tutorial and is then interrupted; it has printed what is shown."""
    running = subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert running.stdout is not None
        said = ""
        for line in running.stdout:
            said += line
            if re.fullmatch(pattern(shown), said):
                break
        if not re.fullmatch(pattern(shown), said):
            pytest.fail("\n".join([f"$ {command}", said, "but shown is:", *shown]), pytrace=False)
        yield
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A shell with `ghcm` on its path."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "ghcm"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ghcm.cli "$@"\n')
    command.chmod(0o755)
    return clean_environment(PATH=f"{command.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tutorial(tmp_path: Path, environment: dict[str, str]) -> None:
    folder, port = tmp_path / "visits", str(free_port())
    folder.mkdir()
    terminals: list[tuple[str, list[str]]] = []

    def follow(rest: list[Block]) -> None:
        for number, block in enumerate(rest):
            kind, _, name = block.words.partition(" ")
            match kind:
                case "console" if name:
                    [(command, shown)] = Block("", block.text.replace("8000", port)).steps()
                    with second_terminal(folder, environment, command, shown):
                        follow(rest[number + 1 :])
                    terminals.append((command, shown))
                    return
                case "console":
                    for command, shown in Block("", block.text.replace("8000", port)).steps():
                        run(command, shown, folder, environment)
                case "istream" | "python":
                    (folder / name).write_text(block.text, encoding="utf-8")
                case _:
                    assert kind == "sh"

    follow(blocks())
    assert len(terminals) == 1


def run(command: str, shown: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    said = done.stdout if not done.stdout or done.stdout.endswith("\n") else f"{done.stdout}\n"
    if not re.fullmatch(pattern(shown), said):
        pytest.fail("\n".join([f"$ {command}", said, "but shown is:", *shown]), pytrace=False)


def test_what_the_tutorial_installs_with_is_there() -> None:
    [block] = [each for each in blocks() if each.words == "sh"]
    make, activate = block.text.splitlines()
    assert subprocess.run([*make.split(), "--dry-run"], cwd=ROOT, capture_output=True, check=False).returncode == 0
    assert activate == ". .venv/bin/activate"
    assert "BIN   := .venv/bin" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_program_of_the_tutorial_is_in_canonical_text(tmp_path: Path, environment: dict[str, str]) -> None:
    for number, block in enumerate(each for each in blocks() if each.words.startswith("istream ")):
        (tmp_path / f"p{number}.istream").write_text(block.text, encoding="utf-8")
    run("ghcm fmt --check *.istream", [], tmp_path, environment)
