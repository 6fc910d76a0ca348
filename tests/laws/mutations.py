"""Damaged programs: each is explained or gives a sound graph; nothing is raised, hangs or keeps memory.

    python -m tests.laws.mutations --count 1000000
    python -m tests.laws.mutations --seed 17                      one mutation again, with its text

The programs are the examples, the golden files and generated ones; damaged are characters, tokens, and parts of trees.
"""

from __future__ import annotations

import argparse
import gc
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, cast, get_args

import psutil

from ghcm.errors import GhcmError, ProgramError
from ghcm.language import ast
from ghcm.language.parser import parse
from ghcm.language.printing.printer import print_program
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.verify import verify
from tests.laws.programs_ast import programs
from tests.laws.seeds import example

__all__ = ["Report", "mutate", "mutated"]

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("examples", "tests/golden/errors", "tests/golden/lowering", "tests/golden/syntax", "tests/conformance")
LONGEST = 3_000
"""Characters of a program that is damaged: what long ones would find, short ones find sooner."""
SHORT = 150
"""Characters: programs up to here are damaged equally often."""
GENERATED = 40
LIMIT = 10.0
"""Seconds of processor time for one program."""
_CHARACTERS = "abcxyzAZ_09 \n\t\"'#(){}[]<>=+-*/%.,:;?!@\\|&é😀\x00\u2028\ufeff"


class _Hangs(BaseException):
    """The time of a program is over; no handler of the compiler may take it for an error of its own."""


@dataclass(slots=True)
class Report:
    """What happened to so many programs. Memory in bytes, behind the first tenth and at the end."""

    count: int = 0
    sound: int = 0
    failures: list[tuple[int, str]] | None = None
    seconds: float = 0.0
    memory: tuple[int, int] = (0, 0)
    slowest: float = 0.0

    def lines(self) -> Iterator[str]:
        """For people."""
        rate = self.count / max(self.seconds, 1e-9)
        yield f"{self.count:,} damaged programs in {self.seconds:,.0f} s ({rate:,.0f} a second), {self.sound:,} sound"
        yield f"memory: {self.memory[0] / 1e6:,.0f} MB at the beginning, {self.memory[1] / 1e6:,.0f} MB at the end"
        yield f"the slowest took {self.slowest:.2f} s; {len(self.failures or ())} failed"


@cache
def _texts() -> tuple[str, ...]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.istream"))]
    written = [text for path in paths if len(text := path.read_text(encoding="utf-8")) <= LONGEST]
    return (*written, *(print_program(example(programs, seed).value) for seed in range(GENERATED)))


@cache
def _shares() -> tuple[float, ...]:
    """How far each program reaches where all get about the same time: a short one is damaged more often."""
    return tuple(accumulate(1 / max(len(text), SHORT) for text in _texts()))


def _picked(random: Random) -> int:
    return random.choices(range(len(_texts())), cum_weights=_shares())[0]


@cache
def _tokens() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(re.findall(r"\w+|\"[^\"]*\"|\s+|=>|[^\w\s]", text)) for text in _texts())


@cache
def _words() -> tuple[str, ...]:
    return tuple(sorted({token for tokens in _tokens() for token in tokens if not token.isspace()}))


@cache
def _tree_of(number: int) -> ast.Program | None:
    """The tree of the program of that number; None where it has none."""
    try:
        return parse(Source("damaged.istream", _texts()[number]))
    except ProgramError:
        return None


def _whole(random: Random) -> ast.Program:
    """The tree of some program."""
    while True:
        if (tree := _tree_of(_picked(random))) is not None:
            return tree


def mutated(seed: int) -> str | ast.Program:
    """The damaged program of that number: a text, or a tree."""
    random = Random(seed)
    match seed % 3:
        case 0:
            return _characters(random)
        case 1:
            return _of_tokens(random)
        case _:
            return _tree(random)


def _characters(random: Random) -> str:
    text = list(_texts()[_picked(random)])
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        match random.randrange(4):
            case 0:
                del text[at : at + random.randint(1, 3)]
            case 1:
                text.insert(at, random.choice(_CHARACTERS))
            case 2:
                text[at : at + 1] = [random.choice(_CHARACTERS)]
            case _:
                piece = text[at : at + random.randint(1, 20)]
                text[at:at] = piece * random.choice([1, 1, 2, 30])
    return "".join(text)


def _of_tokens(random: Random) -> str:
    tokens = list(_tokens()[_picked(random)]) or [" "]
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(tokens))
        match random.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at] = random.choice(_words())
            case 3:
                tokens[at] = random.choice(tokens)
            case _:
                tokens[at : at + 1] = [tokens[at], " ", random.choice(_words())]
        tokens = tokens or [" "]
    return "".join(tokens)


# --- trees -----------------------------------------------------------------------------------------------------------

_KINDS: tuple[tuple[type, ...], ...] = (
    get_args(ast.Expr), get_args(ast.TypeExpr), (ast.Name,), get_args(ast.Statement), get_args(ast.Declaration),
)  # fmt: skip
_REPLACED = tuple(each for kind in _KINDS for each in kind)


def _tree(random: Random) -> ast.Program:
    """Parts replaced by parts of the same kind of this or of another program."""
    tree = whole = _whole(random)
    for _ in range(random.randint(1, 3)):
        places = _places_of(tree) if tree is whole else _places(tree)
        others = _places_of(_whole(random)) if random.random() < 0.5 else places
        path, part = random.choice(places)
        kind = next(each for each in _KINDS if isinstance(part, each))
        fitting = [other for _, other in others if isinstance(other, kind)]
        if fitting and path:
            tree = cast("ast.Program", _with_part(tree, path, random.choice(fitting)))
    return tree


_Path = tuple[str | int, ...]
_Places = list[tuple[_Path, object]]
_FOUND: dict[int, _Places] = {}


def _places_of(tree: ast.Program) -> _Places:
    """The places of a tree that stays: looked for once."""
    if id(tree) not in _FOUND:
        _FOUND[id(tree)] = _places(tree)
    return _FOUND[id(tree)]


def _places(tree: object) -> _Places:
    """The parts of a tree that others may stand for, with the way to them."""
    found: _Places = []
    waiting: _Places = [((), tree)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, tuple):
            waiting += [((*path, place), each) for place, each in enumerate(cast("tuple[object, ...]", part))]
        elif isinstance(part, ast.Node):
            if isinstance(part, _REPLACED):
                found.append((path, part))
            parts = [each.name for each in fields(part) if each.compare and each.type != "Literal | None"]
            waiting += [((*path, name), getattr(part, name)) for name in parts]  # a count is nothing but a literal
    return found or [((), tree)]


def _with_part(whole: Any, path: _Path, part: object) -> object:
    if not path:
        return part
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return (*whole[:first], _with_part(whole[first], rest, part), *whole[first + 1 :])
    return replace(whole, **{first: _with_part(getattr(whole, first), rest, part)})


# --- running ---------------------------------------------------------------------------------------------------------


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Hangs


def _checked(program: str | ast.Program) -> bool:
    """Whether it is sound; an explanation is made into text, as a user would see it."""
    try:
        tree = parse(Source("damaged.istream", program)) if isinstance(program, str) else program
        lowered = lower(tree)
    except GhcmError as error:
        assert str(error)
        if isinstance(error, ProgramError) and isinstance(program, str):
            assert all(found.span is not None for found in error.diagnostics), "a mistake without a place"
        return False
    broken = verify(lowered)
    assert broken == [], broken
    return True


def mutate(count: int, start: int = 0, limit: float = LIMIT) -> Report:
    """Damage so many programs and check them."""
    report, began = Report(failures=[]), time.monotonic()
    failures = report.failures
    assert failures is not None
    before = signal.signal(signal.SIGVTALRM, _stop)
    first = 0
    try:
        for seed in range(start, start + count):
            if seed == start + count // 10:
                first = _memory()
            program, started = mutated(seed), time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, limit)
            try:
                report.sound += _checked(program)
            except _Hangs:
                failures.append((seed, f"takes more than {limit} s"))
            except Exception as error:
                trace = traceback.extract_tb(error.__traceback__)[-1]
                failures.append((seed, f"{type(error).__name__}: {error} ({trace.filename}:{trace.lineno})"[:600]))
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            report.count += 1
            report.slowest = max(report.slowest, time.process_time() - started)
            if report.count % 50_000 == 0:
                report.seconds, report.memory = time.monotonic() - began, (first, _memory())
                print("\n".join(report.lines()), flush=True)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    report.seconds, report.memory = time.monotonic() - began, (first, _memory())
    return report


def _memory() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 where something is raised or hangs."""
    parser = argparse.ArgumentParser(description="damage programs and check that each is explained or sound")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seed", type=int, help="one mutation by itself")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        program = mutated(given.seed)
        print(program if isinstance(program, str) else print_program(program), flush=True)
        print("sound" if _checked(program) else "explained")
        return 0
    report = mutate(given.count, given.start)
    print("\n".join(report.lines()))
    for seed, said in (report.failures or [])[:40]:
        print(f"seed {seed}: {said}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
