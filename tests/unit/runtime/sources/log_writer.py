"""An application that logs lines `{n, pad}`, numbered from 1, and what is done to its log."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TextIO

__all__ = ["LogWriter"]


class LogWriter:
    """An application that logs, and what is done to its log. `moment` is called between steps of that, instead of a
    short rest.
    """

    def __init__(self, folder: Path, chance: random.Random, moment: Callable[[], None] | None = None) -> None:
        self.log = folder / "app.log"
        self.written = 0
        self._chance = chance
        self._moment = moment or self._rest
        self._file: TextIO = self.log.open("a")
        self._rotated = 0

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def act(self) -> None:
        """Write some lines, the last of them in two halves now and then; rarely give the log another name, or copy and
        cut it."""
        for _ in range(self._chance.choice([1, 1, 5, 400])):
            text = self._line()
            half = self._chance.randrange(len(text))
            self._write(self._file, text[:half])
            self._write(self._file, text[half:])
        match self._chance.randrange(25):
            case 0:
                old, self._file = self._file, self._renamed()
                self._write(old, self._line())
                old.close()
            case 1:
                self._copy_and_cut()
            case _:
                pass

    def _line(self) -> str:
        self.written += 1
        return json.dumps({"n": self.written, "pad": "é" * self._chance.randrange(60)}, ensure_ascii=False) + "\n"

    def _write(self, file: TextIO, text: str) -> None:
        file.write(text)
        file.flush()
        if self._chance.randrange(50) == 0:
            self._moment()

    def _rest(self) -> None:
        Event().wait(self._chance.uniform(0, 0.02))

    def _renamed(self) -> TextIO:
        self._rotated += 1
        self.log.rename(self.log.with_name(f"app.log.{self._rotated}"))
        self._moment()
        return self.log.open("a")

    def _copy_and_cut(self) -> None:
        self._rotated += 1
        held = self.log.read_bytes()
        with self.log.with_name(f"app.log.{self._rotated}").open("wb", buffering=0) as copy:
            for part in (held[: len(held) // 2], held[len(held) // 2 :]):
                self._moment()
                copy.write(part)
        self._moment()
        os.truncate(self.log, 0)
