"""Diagnostics: what is wrong with a program, where, and what to do about it.

Every check of every stage reports through `Diagnostics`, so that all errors of a program come at once.
Codes are stable: 1xx syntax, 2xx names and types, 3xx units, calls and sinks, 4xx operators and boundedness, 5xx
engines
("not yet"), 6xx files, bundles and settings, 7xx running.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import ParamSpec, TypeVar, cast
from urllib.parse import urlsplit

from ghcm.source import Origin, SourceLine, Span

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_NEAR = 200
"""Characters that are shown of a line before its mistake, of it, and after it, where nobody says how wide it may be."""


@dataclass
class _Shown:
    """How many columns the excerpts of messages may have; None: as in files. No context variable, which could not go to
    Spark's Python workers, as errors do with all that they name.
    """

    columns: int | None = None


_SHOWN = _Shown()

_LEAST = 8
"""Columns of each of the three parts on the narrowest terminal."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls, and marks that change the direction of text: a terminal would obey them."""

_PROGRAMS = (".istream", ".py", ".ghcm", ".toml")

_WORD = re.compile(r"\w+")


class GhcmError(Exception):
    """An error that a user can act on; its text says what, where in the program (`place`, if it has one there), why and
    what to do. The command line prints it without a traceback."""

    def __init__(
        self, message: str, *, code: str = "GHCM-700", detail: str = "", hint: str = "", place: SourceLine | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail
        self.hint = hint
        self.place = place

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        margin = "  = "
        if self.place is not None:
            margin = f" {' ' * len(str(self.place.origin.line))} = "
            lines += _shown(self.place)
        lines += [f"{margin}detail: {self.detail}"] if self.detail else []
        lines += [f"{margin}hint: {self.hint}"] if self.hint else []
        return "\n".join(lines)

    def document(self) -> dict[str, object]:
        """The error as JSON; `of` reads it."""
        place = None
        if self.place is not None:
            origin = self.place.origin
            place = {"file": origin.file, "line": origin.line, "column": origin.column, "text": self.place.text}
        return {"code": self.code, "message": self.message, "detail": self.detail, "hint": self.hint, "place": place}

    @classmethod
    def of(cls, document: Mapping[str, object]) -> GhcmError:
        """The error in such a document; what it lacks is empty.

        >>> str(GhcmError.of({"code": "GHCM-735", "message": "no such file"}))
        'error[GHCM-735]: no such file'
        """
        code, message, detail, hint = (str(document.get(name) or "") for name in ("code", "message", "detail", "hint"))
        found, place = document.get("place"), None
        if isinstance(found, Mapping):
            at = cast("Mapping[str, str]", found)
            origin = Origin(str(at.get("file", "")), int(at.get("line", 1)), int(at.get("column", 1)))
            place = SourceLine(origin, str(at.get("text", "")))
        return GhcmError(message, code=code or "GHCM-700", detail=detail, hint=hint, place=place)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: code (`GHCM-207`), message (lower case, no full stop), span, and detail and hint as sentences."""

    code: str
    message: str
    span: Span | None
    detail: str = ""
    hint: str = ""


class ProgramError(GhcmError):
    """A program that cannot be compiled; carries every diagnostic that was found, in source order."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(diagnostics, key=_place))
        count = len(self.diagnostics)
        super().__init__(f"the program has {count} error{'s' if count != 1 else ''}", code="GHCM-200")

    def __str__(self) -> str:
        return "\n\n".join(render(diagnostic) for diagnostic in self.diagnostics)


class Reported(Exception):
    """A mistake has been noted and leaves nothing to go on with; raised to where other parts can still be checked."""


@dataclass
class Diagnostics:
    """Collects what is wrong while a stage goes on; `check()` ends the stage."""

    found: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def error(self, code: str, message: str, span: Span | None, *, detail: str = "", hint: str = "") -> Reported:
        """Note one mistake, each once. Gives what a check raises that cannot go on."""
        diagnostic = Diagnostic(code, message, span, detail, hint)
        if diagnostic not in self.found:
            self.found.append(diagnostic)
        return Reported()

    def check(self) -> None:
        """Raise `ProgramError` if anything was found."""
        if self.found:
            raise ProgramError(self.found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.found)


def attempt(make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What is made, or None where a mistake in it was reported."""
    try:
        return make(*args, **kwargs)
    except Reported:
        return None


def sound(made: T | None) -> T:
    """What was made; Reported where it is None, because of a mistake that was reported."""
    if made is None:
        raise Reported
    return made


def both(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """What the two make; Reported where one of them is wrong, once the other has been checked, too."""
    made, other = attempt(first), second()
    return sound(made), other


def every(make: Callable[[S], T], parts: Iterable[S]) -> tuple[T, ...]:
    """What is made of each part; Reported where one is wrong, once the others have been checked, too."""
    made: list[T] = []
    wrong: Reported | None = None
    for part in parts:
        try:
            made.append(make(part))
        except Reported as reported:
            wrong = reported
    if wrong is not None:
        raise wrong
    return tuple(made)


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them, in quotes."""
    return ", ".join(f'"{name}"' for name in names) or "none"


def sentence(said: object) -> str:
    """What a library or a server says, as a sentence in one line."""
    text = " ".join(str(said).split())
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def without_password(url: str) -> str:
    """A URL as it may be said and kept.

    >>> without_password("redis://me:secret@db.example:6379/0")
    'redis://db.example:6379/0'
    """
    try:
        parts = urlsplit(url)
        if parts.scheme == "unix":
            return f"unix://{parts.path}"
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "the given URL"


def suggest(name: str, candidates: Iterable[str]) -> str:
    """The hint for a misspelt name, or an empty string when nothing comes close.

    >>> suggest("wrod", ["word", "count"])
    'did you mean "word"?'
    """
    close = get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else ""


def suggest_file(name: str, files: Iterable[str]) -> str:
    """The file whose name is the most like this one; empty when none comes close. What all files of a kind share, their
    ending, makes none alike; a program is no file of data.

    >>> suggest_file("vist.jsonl", ["visits.jsonl", "notes.txt"])
    'visits.jsonl'
    >>> suggest_file("fo.istream", ["wc.istream"])
    ''
    """
    stem, ending = os.path.splitext(name)
    kind = name.endswith(_PROGRAMS)
    alike_last = sorted(
        (each for each in files if each.endswith(_PROGRAMS) == kind), key=lambda each: (each.endswith(ending), each)
    )
    stems = {os.path.splitext(each)[0]: each for each in alike_last}
    close = get_close_matches(stem, stems, n=1, cutoff=0.6)
    return stems[close[0]] if close else ""


def printable(text: str) -> str:
    r"""The text as a terminal may show it: line ends and tabs stay, what else would steer the terminal is replaced.

    >>> printable("a\x1b[2J\n")
    'a\ufffd[2J\n'
    """
    return _UNPRINTABLE.sub(lambda found: found[0] if found[0] in "\n\t" else "\ufffd", text)


@contextmanager
def fitting(columns: int) -> Generator[None]:
    """Within, messages are rendered for a terminal of so many columns."""
    before, _SHOWN.columns = _SHOWN.columns, columns
    try:
        yield
    finally:
        _SHOWN.columns = before


def render(diagnostic: Diagnostic) -> str:
    """The message as a person reads it: headline, source position, source line with carets, detail, hint."""
    lines = [f"error[{diagnostic.code}]: {diagnostic.message}"]
    span = diagnostic.span
    if span is not None:
        line, column = span.source.line_column(span.start)
        end_line, end_column = span.source.line_column(max(span.end, span.start + 1))
        text = span.source.line(line)
        before, marked = text[: column - 1], text[column - 1 : end_column - 1 if end_line == line else None]
        margin = " " * len(str(line))
        lines += [
            f" {margin}--> {span.source.name}:{line}:{column}",
            f" {margin} |",
            *_pointed(before, marked, text[len(before) + len(marked) :], f" {line} | ", f" {margin} | "),
        ]
        margin_end = f" {margin} = "
    else:
        margin_end = "   = "
    lines += [f"{margin_end}detail: {diagnostic.detail}"] if diagnostic.detail else []
    lines += [f"{margin_end}hint: {diagnostic.hint}"] if diagnostic.hint else []
    return "\n".join(lines)


def _shown(place: SourceLine) -> list[str]:
    """Where a thing of the program stands, with carets under its name if its line is known."""
    line, column = place.origin.line, place.origin.column
    margin = " " * len(str(line))
    head = f" {margin}--> {place.origin}"
    if not place.text:
        return [head]
    before, rest = place.text[: column - 1], place.text[column - 1 :]
    found = _WORD.match(rest)
    marked = found[0] if found else rest[:1]
    pointed = _pointed(before, marked, rest[len(marked) :], f" {line} | ", f" {margin} | ")
    return [head, f" {margin} |", *pointed]


def _pointed(before: str, marked: str, after: str, head: str, head_below: str) -> tuple[str, str]:
    """A source line and the carets below it, which stand where a terminal shows the characters: a character may be two
    columns wide or none. Of a long line only what is near; what is no character for a screen is replaced.
    """
    from rich.cells import cell_len

    before, marked, after = (_UNPRINTABLE.sub("\ufffd", part.replace("\t", " ")) for part in (before, marked, after))
    wide = _SHOWN.columns
    room = 3 * _NEAR if wide is None else max(3 * _LEAST, wide - cell_len(head))
    marked = _cut(marked, _NEAR if wide is None else room - 2 * _LEAST)
    before = _cut(before[::-1], _NEAR if wide is None else (room - cell_len(marked)) * 2 // 3)[::-1]
    after = _cut(after, _NEAR if wide is None else room - cell_len(marked) - cell_len(before))
    return f"{head}{before}{marked}{after}", f"{head_below}{' ' * cell_len(before)}{'^' * max(1, cell_len(marked))}"


def _cut(text: str, columns: int) -> str:
    """The text, cut where a terminal would show it in more columns."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else set_cell_size(text, columns - 1).rstrip(" ") + "…"


def _place(diagnostic: Diagnostic) -> tuple[str, int, str]:
    span = diagnostic.span
    return (span.source.name, span.start, diagnostic.code) if span else ("", -1, diagnostic.code)
