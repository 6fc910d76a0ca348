"""Reads log files: the last lines, and what is added while one looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

_BLOCK = 64 * 1024
_LOOK_SECONDS = 0.3


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a file; none if there is no such file."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            data = b""
            while end > 0 and data.count(b"\n") <= lines:
                start = max(0, end - _BLOCK)
                file.seek(start)
                data = file.read(end - start) + data
                end = start
    except FileNotFoundError:
        return []
    return data.decode("utf-8", "replace").splitlines()[-lines:] if lines else []


def last_words(path: Path) -> str:
    """The last line of a log as the end of a sentence; empty if it says nothing."""
    last = next((line for line in reversed(tail(path, 20)) if line.strip()), "")
    return f". Its log ends with: {last[:300]}" if last else ""


async def follow(path: Path) -> AsyncIterator[str]:
    """The lines that are added to a file from now on, without end. A file that was replaced is read from its start."""
    position = path.stat().st_size if path.exists() else 0
    rest = b""
    while True:
        size = path.stat().st_size if path.exists() else 0
        position = 0 if size < position else position
        if size > position:
            with path.open("rb") as file:
                file.seek(position)
                data = rest + file.read(size - position)
            position = size
            *whole, rest = data.split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
        # Files do not tell when they grow; who looks at a log sees a third of a second as now.
        await asyncio.sleep(_LOOK_SECONDS)
