"""The check of whole programs, in a process of its own: what an editor asks meanwhile does not wait for it.

The server writes requests to the checker's standard input and reads what is wrong from its output, one frame each: a
length of four bytes, then JSON. The checker ends with the server, for its input ends then.
"""

import asyncio
import gc
import json
import struct
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import count
from typing import Any, BinaryIO, cast

from ghcm.editor.document import Document
from ghcm.errors import Diagnostic, ProgramError
from ghcm.lowering import lower

_LENGTH = struct.Struct(">I")

_KEPT = 16
"""So many documents stay parsed."""

_FULL_EVERY = 50
"""Checks from one search of all objects for garbage to the next."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: from where to where it stands in the text, in characters; its code, and what to say."""

    start: int
    end: int
    code: str
    words: str


class Checker:
    """The other process as the server sees it. One check runs at a time; a process that has died is started again."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def start(self) -> Process:
        """The running process."""
        if self._process is None or self._process.returncode is not None:
            command = (sys.executable, "-m", "ghcm.editor.checking")
            self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        return self._process

    async def check(self, name: str, text: str) -> list[Mistake]:
        """What is wrong with the program of that name. Raises ConnectionError where the process dies of it."""
        async with self._turn:
            try:
                found = await self._asked(name, text)
            except ConnectionError:
                # It may have died of something else, and before.
                found = await self._asked(name, text)
        return [Mistake(**each) for each in found]

    async def _asked(self, name: str, text: str) -> list[dict[str, Any]]:
        process = await self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(_frame([name, text]))
            await process.stdin.drain()
            (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
            return cast("list[dict[str, Any]]", json.loads(await process.stdout.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await process.wait()
            raise ConnectionError(f"the checker ended with {code}") from error

    async def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


def mistakes(document: Document) -> list[Mistake]:
    """What is wrong with the form of a document; where nothing is, with its meaning."""
    return [_mistake(document, each) for each in (*document.mistakes(),) or _meaning(document)]


def _meaning(document: Document) -> tuple[Diagnostic, ...]:
    try:
        lower(document.program)
    except ProgramError as error:
        return error.diagnostics
    return ()


def _mistake(document: Document, found: Diagnostic) -> Mistake:
    start, end = (None if found.span is None else document.range_of(found.span)) or (0, 0)
    words = (found.message, found.detail, found.hint and f"hint: {found.hint}")
    return Mistake(start, end, found.code, "\n".join(each for each in words if each))


# --- the other process -----------------------------------------------------------------------------------------------


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Check what comes in until there is no more."""
    gc.disable()
    document_of = lru_cache(maxsize=_KEPT)(Document)
    for number in count(1):
        if not (head := requests.read(_LENGTH.size)):
            return
        name, text = json.loads(requests.read(_LENGTH.unpack(head)[0]))
        document = document_of(name)
        document.change(text)
        answers.write(_frame([asdict(each) for each in mistakes(document)]))
        answers.flush()
        gc.collect(2 if number % _FULL_EVERY == 0 else 1)


def _frame(message: object) -> bytes:
    data = json.dumps(message).encode()
    return _LENGTH.pack(len(data)) + data


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
