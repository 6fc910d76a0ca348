"""Cuts the text form of the SPG into tokens and walks over them.

Knows nothing of what the tokens mean. Line ends count only where the reader of programs asks for them.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<comment>\#[^\n]*)
      | (?P<newline>\n)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*(?:~\d+)?)
      | (?P<sign>=>|<-|::|//|\?\?|==|!=|<=|>=|[-()\[\]{}<>,:=.?@$+*/%|])
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass(frozen=True, slots=True)
class Token:
    """One token: what it is, its text, and where it starts (line and column from 1)."""

    kind: str
    text: str
    line: int
    column: int


def quoted(text: str) -> str:
    """A string as a token."""
    return json.dumps(text, ensure_ascii=False)


def is_word(text: str) -> bool:
    """Whether the text is a word by itself."""
    return _WORD.fullmatch(text) is not None


def word_or_quoted(text: str) -> str:
    """A name: bare where it is a word, else quoted."""
    return text if is_word(text) else quoted(text)


@dataclass(slots=True)
class Tokens:
    """The tokens of a text with an offset in them. Every `ValueError` it raises says line and column."""

    text: str
    _all: list[Token] = field(init=False)
    _next: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._all = list(_cut(self.text))

    @property
    def peek(self) -> Token:
        """The next token; at the end one of kind `end`."""
        return self._all[self._next]

    def ahead(self, count: int) -> Token:
        """The token `count` after the next one."""
        return self._all[min(self._next + count, len(self._all) - 1)]

    def take(self) -> Token:
        """The next token, gone past."""
        token = self._all[self._next]
        self._next = min(self._next + 1, len(self._all) - 1)
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these words or signs."""
        token = self.peek
        return token.kind in ("word", "sign") and token.text in texts

    def accept(self, text: str) -> bool:
        """Go past that word or sign if it is next."""
        found = self.at(text)
        if found:
            self.take()
        return found

    def expect(self, text: str) -> None:
        """Go past that word or sign."""
        if not self.accept(text):
            self.refuse(f'"{text}"')

    def take_kind(self, kind: str, expected: str) -> str:
        """The text of the next token, which is of that kind."""
        if self.peek.kind != kind:
            self.refuse(expected)
        return self.take().text

    def name(self) -> str:
        """A bare or quoted name."""
        if self.peek.kind == "string":
            return self.string()
        return self.take_kind("word", "a name")

    def string(self) -> str:
        """A quoted string's value."""
        value: object = json.loads(self.take_kind("string", "a string"))
        return str(value)

    def integer(self) -> int:
        """A whole number."""
        negative = self.accept("-")
        if not self.peek.text.isdecimal():
            self.refuse("a whole number")
        return -int(self.take().text) if negative else int(self.take().text)

    def many(self, end: str, read: Callable[[], T]) -> list[T]:
        """What stands up to that sign, with commas between."""
        found: list[T] = []
        while not self.accept(end):
            found.append(read())
            if not self.at(end):
                self.expect(",")
        return found

    def named(self, sign: str) -> str:
        """A name and the sign behind it."""
        name = self.name()
        self.expect(sign)
        return name

    def skip_lines(self) -> None:
        """Go past line ends and comments."""
        while self.peek.kind in ("newline", "comment"):
            self.take()

    def refuse(self, expected: str) -> None:
        """Raise the error for the next token."""
        token = self.peek
        found = {"end": "the end", "newline": "the end of the line"}.get(token.kind, f'"{token.text}"')
        raise ValueError(f"line {token.line}, column {token.column}: expected {expected}, found {found}")


def _cut(text: str) -> Iterator[Token]:
    line, start, offset = 1, 0, 0
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        if found is None:
            raise ValueError(f"line {line}, column {offset - start + 1}: unexpected character {text[offset]!r}")
        kind = found.lastgroup or ""
        if kind != "space":
            yield Token(kind, found[0], line, offset - start + 1)
        offset = found.end()
        if kind == "newline":
            line, start = line + 1, offset
    yield Token("end", "", line, offset - start + 1)
